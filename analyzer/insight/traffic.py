"""Conversations (connections) and endpoints, with the traffic of each side.

Theory. This is similar to tshark's `-z conv,tcp` and `-z endpoints,tcp`, but counts messages of the protocols and their
bytes, not packets: retransmissions and bare acknowledgements belong to no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analyzer.columns.arrays import Array, Ints
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.rows import RowReader
from analyzer.insight.percentiles import sums
from analyzer.messages.index import FROM_CLIENT
from analyzer.tcp.network import UNMEASURED
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import distinct


@make_slotted
class Conversation:
    """One connection and its counts. protocol: that of its first message; began: time of that message (ns).

    duration_ns: from there to its last message. to_server, to_client: messages, and their bytes. The other fields are
    of the whole connection, see analyzer.tcp.network: rtt_ns is None if it was not measured, reset None if no side
    reset it.
    """

    connection: str
    protocol: str
    messages: int
    bytes: int
    to_server: int
    bytes_to_server: int
    to_client: int
    bytes_to_client: int
    began: int
    duration_ns: int
    rtt_ns: int | None
    retransmissions: int
    retransmission_time_ns: int
    zero_windows: int
    zero_window_time_ns: int
    reset: str | None


@make_slotted
class Endpoint:
    """An address and port, with the messages and bytes that it sent and received."""

    endpoint: str
    connections: int
    messages: int
    bytes: int
    sent: int
    bytes_sent: int
    received: int
    bytes_received: int


def conversations(reader: RowReader, rows: Ints) -> list[Conversation]:
    """Returns the connections of these rows, those with the most messages first."""
    streams, keys = distinct(reader.take_cells("stream", rows))
    size, time = len(streams), reader.take_cells("time", rows)
    up = reader.take_cells("side", rows) == FROM_CLIENT
    first = np.full(size, np.iinfo(np.int64).max)
    last = np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(first, keys, time)
    np.maximum.at(last, keys, time)
    places = np.full(size, len(rows))
    np.minimum.at(places, keys, np.arange(len(rows)))
    columns = [
        *_sides(reader, rows, keys, size, up),
        first.tolist(),
        (last - first).tolist(),
        *_network(reader, streams),
    ]
    names = reader.read_column("stream_id", rows[places]).values()
    protocols = reader.read_column("protocol", rows[places]).values()
    found = [Conversation(*each) for each in zip(names, protocols, *columns, strict=True)]
    return sorted(found, key=lambda each: -each.messages)


def _network(reader: RowReader, streams: Ints) -> Iterator[list[Any]]:
    """Yields the columns of connections with network metrics."""
    found = reader.session.engine.network.find_metrics(streams.astype(np.int64))
    yield [None if time == UNMEASURED else time for time in found.rtt.tolist()]
    yield found.retransmissions.tolist()
    yield found.retransmission_time.tolist()
    yield found.zero_windows.tolist()
    yield found.zero_window_time.tolist()
    yield [None if side == UNKNOWN_SIDE else ("client", "server")[side] for side in found.resetter.tolist()]


def endpoints(reader: RowReader, rows: Ints) -> list[Endpoint]:
    """Returns the endpoints of these rows, most messages first; a message counts for sender and receiver."""
    streams, stream = distinct(reader.take_cells("stream", rows))
    sides = [2 * stream + side for side in (reader.take_cells("side", rows), 1 - reader.take_cells("side", rows))]
    halves = np.arange(2 * len(streams))
    example = np.repeat(streams, 2)
    names = [name_endpoint(reader.session, *each) for each in zip(example.tolist(), (halves % 2).tolist(), strict=True)]
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    number = np.array([known[name] for name in names], np.int64)
    keys, sent = np.concatenate([number[side] for side in sides]), np.repeat([True, False], len(rows))
    connections = np.bincount(number, minlength=len(known)).tolist()
    columns = _sides(reader, np.tile(rows, 2), keys, len(known), sent)
    found = [Endpoint(*each) for each in zip(known, connections, *columns, strict=True)]
    return sorted(found, key=lambda each: -each.messages)


def _sides(reader: RowReader, rows: Ints, keys: Ints, size: int, chosen: Array) -> Sequence[list[Any]]:
    """Returns messages and bytes by key: of all, of chosen ones, of the others."""
    length = reader.take_cells("length", rows).astype(np.int64)
    both = [(keys, length), *((keys[mask], length[mask]) for mask in (chosen, ~chosen))]
    return [
        column
        for mine, bytes_of in both
        for column in (np.bincount(mine, minlength=size).tolist(), sums(mine, bytes_of, size))
    ]
