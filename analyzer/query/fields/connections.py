"""Fields about the connection of a message: its network, its TLS, the processes at its ends.

Theory. Metrics are those of whole connections. When rows are printed as they close, a metric counts only events up to
the last packet of the row, and a round trip is the one known by then.

Theory. The facts of a handshake are the same for all rows of a connection, so they are looked up once for each
connection. When rows are printed as they close, and the connection has no keys, only its rows up to there count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyzer.columns.arrays import Array, Ints, list_distinct
from analyzer.decode.rows import RowReader
from analyzer.messages.index import NO_PROTOCOL
from analyzer.messages.socket_owners import SocketOwner
from analyzer.query.fields.dense import ChoiceColumn, ChoiceTable, Dense, NumberColumn
from analyzer.tcp.network import UNMEASURED, NetworkEventKind
from dissectors.wire.fast_path import distinct

if TYPE_CHECKING:
    from analyzer.tls.facts import TlsFacts


_SIDES = ChoiceTable(("client", "server").__getitem__, "sides")

_EVENTS: Mapping[str, tuple[NetworkEventKind, bool]] = {
    "retransmissions": (NetworkEventKind.RETRANSMISSION, False),
    "retransmission_time": (NetworkEventKind.RETRANSMISSION, True),
    "zero_windows": (NetworkEventKind.ZERO_WINDOW, False),
    "zero_window_time": (NetworkEventKind.ZERO_WINDOW, True),
}
"""The events that a metric counts, or whose cost it sums."""


def read_round_trips(metric: str) -> Callable[[RowReader, Ints], tuple[Dense, ...]]:
    """Returns a reader of a time in NetworkMetrics."""

    def read_column(reader: RowReader, rows: Ints) -> tuple[Dense, ...]:
        times = _take_metrics(reader, rows, metric)
        return (NumberColumn(times, times == UNMEASURED),)

    return read_column


def read_events(metric: str) -> Callable[[RowReader, Ints], tuple[Dense, ...]]:
    """Returns a reader of a count or a sum of NetworkMetrics; rows have no value where it is 0."""

    def read_column(reader: RowReader, rows: Ints) -> tuple[Dense, ...]:
        counts = (
            _add_events(reader, rows, *_EVENTS[metric]) if reader.streaming else _take_metrics(reader, rows, metric)
        )
        return (NumberColumn(counts, counts == 0),)

    return read_column


def read_resetters(reader: RowReader, rows: Ints) -> tuple[Dense, ...]:
    """Returns which side reset the connection."""
    sides = _take_metrics(reader, rows, "resetter")
    if reader.streaming:
        sides = np.where(_add_events(reader, rows, NetworkEventKind.RESET, False) > 0, sides, -1)
    return (ChoiceColumn(_SIDES, sides),)


def _take_metrics(reader: RowReader, rows: Ints, metric: str) -> Array:
    streams, places = distinct(reader.take_cells("stream", rows))
    found: Array = getattr(reader.session.engine.network.find_metrics(streams.astype(np.int64)), metric)
    return found[places]


def _add_events(reader: RowReader, rows: Ints, kind: NetworkEventKind, costs: bool) -> Ints:
    """Counts the events of each row's connection up to its last packet, or sums their cost."""
    events = reader.session.engine.network.events
    chosen = np.flatnonzero(events.column("kind") == kind)
    stream, packet, cost = (events.column(name)[chosen].astype(np.int64) for name in ("stream", "packet", "cost"))
    order = np.lexsort((packet, stream))
    width = int(packet.max(initial=0)) + 1
    keys = (stream * width + packet)[order]
    total = np.concatenate(([0], np.cumsum(cost[order] if costs else np.ones_like(cost))))
    mine = reader.take_cells("stream", rows).astype(np.int64) * width
    last = np.minimum(reader.take_cells("last", rows), width - 1)
    return total[np.searchsorted(keys, mine + last, "right")] - total[np.searchsorted(keys, mine)]


def read_tls(read: Callable[[TlsFacts], str]) -> Callable[[RowReader, Ints], tuple[Dense, ...]]:
    """Returns a reader of one of the facts; rows have no value where it is empty."""

    def read_column(reader: RowReader, rows: Ints) -> tuple[Dense, ...]:
        streams, places = distinct(reader.take_cells("stream", rows).astype(np.int64))
        known = list(map(reader.session.engine.tls.find, streams.tolist()))
        texts = [None if facts is None else read(facts) or None for facts in known]
        numbers = places.astype(np.int64)
        unknown = np.array([facts is None for facts in known], bool)[places]
        raw = np.flatnonzero(unknown & (reader.take_cells("protocol", rows) == NO_PROTOCOL))
        for place, facts in _read_raw(reader, rows, streams[places], raw):
            numbers[place] = len(texts)
            texts.append(read(facts) or None)
        return (ChoiceColumn(ChoiceTable(texts.__getitem__, texts), numbers),)

    return read_column


def _read_raw(reader: RowReader, rows: Ints, streams: Ints, places: Ints) -> Iterator[tuple[int, TlsFacts]]:
    """Yields the facts of raw rows, for connections on which no keys were tried."""
    if not len(places):
        return
    from analyzer.decode.tls_facts import list_raw_rows, read_facts  # lazy: few captures have raw rows of TLS

    session = reader.session
    first_rows = list_raw_rows(session, list_distinct(streams[places]))
    known: dict[tuple[int, ...], TlsFacts | None] = {}
    for place, stream, row in zip(places.tolist(), streams[places].tolist(), rows[places].tolist(), strict=True):
        found = first_rows.get(stream, {})
        if reader.streaming:
            found = {side: first for side, first in found.items() if first <= row}
        key = stream, *found.values()
        if key not in known:
            known[key] = read_facts(session, stream, found)
        if (facts := known[key]) is not None:
            yield place, facts


def read_owner(
    read: Callable[[SocketOwner], str | int], *, of_client: bool
) -> Callable[[RowReader, Ints], Sequence[Dense]]:
    """Returns a reader of one attribute of the client's or the server's process; other rows have no value."""

    def read_column(reader: RowReader, rows: Ints) -> Sequence[Dense]:
        session = reader.session
        streams, places = distinct(reader.take_cells("stream", rows).astype(np.int64))
        values: list[str | int | None] = []
        for stream in streams.tolist():
            client = max(session.engine.streams.cell("client", stream), 0)
            owner = session.engine.owners.find(stream, client if of_client else 1 - client)
            values.append(None if owner is None else read(owner))
        return (ChoiceColumn(ChoiceTable(values.__getitem__, values), places.astype(np.int64)),)

    return read_column
