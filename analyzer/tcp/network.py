"""Network metrics of connections, computed from their packets, as columns.

Theory. A capture point divides a connection's round trip into two parts: from there to the server and back, and from
there to the client and back. The handshake measures both: SYN to SYN/ACK is the server's part, SYN/ACK to ACK the
client's. If the handshake was not captured, the minimum time from bytes to their acknowledgement replaces it.

Metrics of streams come from half-streams: the bytes that one side sends, and the other side's acknowledgements. The
meter (analyzer.tcp.metering) writes them while packets are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.columns.tables import ColumnTable
from analyzer.tcp.streams import SPARSE, UNKNOWN_SIDE, StreamTable
from dissectors.slotted import make_slotted

NEVER = np.iinfo(np.int64).min
"""The null value of times."""

UNMEASURED = np.iinfo(np.int64).max
"""The null value of durations."""

UNKNOWN = -1
"""The null value of sequence numbers."""

MOST_EVENTS = 1 << 20
"""Maximum number of events that are stored; later ones are only counted."""


class HalfStreamTable(ColumnTable):
    """Holds one row for each side of a stream, 2 * stream + side.

    `top` is the sequence number after the last byte that the side sent, `top_time` the time when it rose. `acked` and
    `acked_time` are the same for the other side's acknowledgements. `flight`: when unacknowledged bytes were first
    sent; `resent`: the time of the last retransmission; `shut`: since when the side's window is 0. `opened`: the time
    of its SYN; `answered`: the time from the other side's SYN to its answer; `ack_rtt`: the minimum time from its bytes
    to their acknowledgement. `retransmissions` and `zero_windows` are counts, with their cost (`..._time`); `resets`
    counts RST. Times are in ns.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "top": np.int64,
        "top_time": np.int64,
        "acked": np.int64,
        "acked_time": np.int64,
        "flight": np.int64,
        "resent": np.int64,
        "shut": np.int64,
        "opened": np.int64,
        "answered": np.int64,
        "ack_rtt": np.int64,
        "retransmissions": np.int32,
        "retransmission_time": np.int64,
        "zero_windows": np.int32,
        "zero_window_time": np.int64,
        "resets": np.int32,
    }
    PAGED: ClassVar[int] = SPARSE
    BEGIN: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(TYPES, 0),
        **dict.fromkeys(("top", "acked"), UNKNOWN),
        **dict.fromkeys(("top_time", "acked_time", "flight", "resent", "shut", "opened"), NEVER),
        **dict.fromkeys(("answered", "ack_rtt"), UNMEASURED),
    }


class NetworkEventKind(IntEnum):
    """The kinds of events."""

    RETRANSMISSION = 0
    ZERO_WINDOW = 1
    RESET = 2


class NetworkEventTable(ColumnTable):
    """Holds events that cost time: `side` retransmitted bytes, closed its window, or sent RST, in `packet` at `time`.

    `cost`: ns that the connection was stalled until then. A closed window ends at `time`, with the packet that opened
    it.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "stream": np.int32,
        "side": np.int8,
        "kind": np.int8,
        "packet": np.int64,
        "time": np.int64,
        "cost": np.int64,
    }
    NARROW: ClassVar[frozenset[str]] = frozenset({"packet"})


@make_slotted
class NetworkMetrics:
    """Network metrics of n streams, each an array of n (times in ns, UNMEASURED if there is none).

    rtt: the sum of client_rtt and server_rtt, which are the round trips from the capture point to the two sides.
    ack_rtt: the minimum time from bytes to their acknowledgement, of both sides together. resetter: the sender of the
    first RST, FROM_CLIENT or FROM_SERVER; UNKNOWN_SIDE if there is none. refused: the server answered the SYN with RST.
    unanswered: the SYN got no answer.
    """

    rtt: Ints
    client_rtt: Ints
    server_rtt: Ints
    ack_rtt: Ints
    retransmissions: Ints
    retransmission_time: Ints
    zero_windows: Ints
    zero_window_time: Ints
    resetter: Ints
    refused: Bools
    unanswered: Bools


def find_metrics(table: StreamTable, halves: HalfStreamTable, streams: Ints) -> NetworkMetrics:
    """Returns the metrics of some streams (int64, n), for the packets read so far."""
    side = np.maximum(table.column("client")[streams].astype(np.int64), 0)
    client, server = 2 * streams + side, 2 * streams + 1 - side

    def take(name: str, half: Ints) -> Ints:
        return halves.column(name)[half].astype(np.int64)

    def both(name: str) -> Ints:
        return take(name, client) + take(name, server)

    to_client, to_server = take("ack_rtt", server), take("ack_rtt", client)
    answered = take("answered", client), take("answered", server)
    client_rtt = np.where(answered[0] == UNMEASURED, to_client, answered[0])
    server_rtt = np.where(answered[1] == UNMEASURED, to_server, answered[1])
    shut = [
        np.where(begun == NEVER, 0, table.column("end")[streams] - begun)
        for begun in (take("shut", client), take("shut", server))
    ]
    by_client, by_server = (take("resets", half) > 0 for half in (client, server))
    resetter = np.where(by_client & ~(by_server & _has_closed(table, streams, 1 - side)), 0, 1)
    was_opened = take("opened", client) != NEVER
    return NetworkMetrics(
        _add(client_rtt, server_rtt),
        client_rtt,
        server_rtt,
        _add(to_client, to_server),
        both("retransmissions"),
        both("retransmission_time"),
        both("zero_windows"),
        both("zero_window_time") + shut[0] + shut[1],
        np.where(by_client | by_server, resetter, UNKNOWN_SIDE),
        was_opened & (take("opened", server) == NEVER) & by_server,
        was_opened & (table.column("sides")[streams] == 1 << side) & (take("acked", server) == UNKNOWN),
    )


def _has_closed(table: StreamTable, streams: Ints, side: Ints) -> Bools:
    found: Bools = table.column("closer")[streams] == side
    return found


def _add(first: Array, second: Array) -> Ints:
    """Returns sums; if only one part was measured, that part."""
    known = np.where(first == UNMEASURED, 0, first) + np.where(second == UNMEASURED, 0, second)
    found: Ints = np.where((first == UNMEASURED) & (second == UNMEASURED), UNMEASURED, known)
    return found
