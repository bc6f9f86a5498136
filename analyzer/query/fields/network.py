"""Fields about the network below a message's connection.

Theory. Metrics are those of whole connections. When rows are printed as they close, a metric counts only events up to
the last packet of the row, and a round trip is the one known by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from analyzer.columns.arrays import Array, Ints
from analyzer.decode.rows import RowReader
from analyzer.query.fields.dense import ChoiceColumn, ChoiceTable, Dense, NumberColumn
from analyzer.tcp.network import UNMEASURED, NetworkEventKind
from dissectors.wire.fast_path import distinct

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
    found: Ints = total[np.searchsorted(keys, mine + last, "right")] - total[np.searchsorted(keys, mine)]
    return found
