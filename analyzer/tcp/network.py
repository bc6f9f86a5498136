"""Network figures of connections, from their packets, as columns.

Theory. A capture point divides a connection's round trip: what passes there comes back from the server after one part
of it, and from the client after the other. The handshake measures both: SYN to SYN/ACK is the server's part, SYN/ACK to
ACK the client's. Where it was not captured, the least time from bytes to their acknowledgement takes its place.

Times of streams are figures of half-streams (the bytes that one side sends, and what the other side acknowledges); the
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
"""A time that there is none of."""

UNMEASURED = np.iinfo(np.int64).max
"""A length of time that was not measured."""

UNKNOWN = -1
"""A sequence number that is not known."""

MOST_EVENTS = 1 << 20
"""Events that are kept one by one; later ones are counted only."""


class HalfStreamTable(ColumnTable):
    """Holds one row for each side of a stream, 2 * stream + side.

    `top` is the sequence number behind what the side sent, `top_time` when it rose; `acked`, `acked_time` the same of
    what the other side acknowledged; `flight` when unacknowledged bytes began to be under way; `resent` the time of the
    last retransmission; `shut` since when the side's window is 0. `opened` is the time of its SYN, `answered` the time
    from the other side's SYN to its answer, `ack_rtt` the least time from its bytes to their acknowledgement.
    `retransmissions` and `zero_windows` count, with what they cost (`..._time`); `resets` counts RST. Times are in ns.
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
    """Says what an event is."""

    RETRANSMISSION = 0
    ZERO_WINDOW = 1
    RESET = 2


class NetworkEventTable(ColumnTable):
    """Holds what cost time: `side` resent bytes, closed its window, or sent RST, in `packet` at `time`.

    `cost`: ns that the connection stood still until then. A closed window ends at `time`, with the packet that opened
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
    """Network figures of n streams, each an array of n (times in ns, UNMEASURED where there is none).

    rtt: client_rtt and server_rtt together, which are the round trips from the capture point to the two sides.
    ack_rtt: the least time from bytes to their acknowledgement, of both sides together. resetter: FROM_CLIENT or
    FROM_SERVER, who sent the first RST; UNKNOWN_SIDE where nobody did. refused: the server answered the SYN with RST.
    unanswered: nothing came back to the SYN.
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
    """Returns the figures of some streams (int64, n) as far as packets were read."""
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
    """Returns sums; where only one part was measured, that part."""
    known = np.where(first == UNMEASURED, 0, first) + np.where(second == UNMEASURED, 0, second)
    found: Ints = np.where((first == UNMEASURED) & (second == UNMEASURED), UNMEASURED, known)
    return found
