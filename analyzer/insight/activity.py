"""Activity of a capture over time: rate, latency and errors in equal intervals, for lines and charts.

Theory. Each metric is one pass over columns of the index (np.bincount), so a million rows take milliseconds and no body
is decoded. A latency is counted in a bucket of its interval; there are four buckets between each power of two and the
next. A percentile from these counts is the upper bound of its bucket, at most a quarter too large. That is enough for a
colour or a dot. Errors need bodies, so the caller finds their rows first (analyzer.query.response_errors).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Ints
from analyzer.insight.percentiles import EDGES, buckets
from analyzer.messages.index import RowMark
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.fast_path import NULL


class TimeSpan(NamedTuple):
    """A span of time, ns since 1970; `end` is exclusive."""

    first: int
    end: int

    @property
    def length(self) -> int:
        """How long the span lasts, in ns."""
        return self.end - self.first


class Moment(NamedTuple):
    """An event at a time (ns since 1970), with the row that shows it."""

    time: int
    row: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Activity:
    """Metrics of n equal intervals of a span.

    length: of an interval, ns. messages, bytes: shape (n,), of the messages of each interval. latencies: shape (n,
    buckets), number of responses by latency (EDGES).
    """

    span: TimeSpan
    length: int
    messages: Ints
    bytes: Ints
    latencies: Ints

    def percentile(self, thousandths: int) -> Ints:
        """Returns a percentile of the latencies of each interval (ns), as a bucket's upper bound; 0 without any."""
        totals = self.latencies.sum(axis=1)
        wanted = np.maximum((totals * thousandths + 999) // 1000, 1)
        bucket = (np.cumsum(self.latencies, axis=1) < wanted[:, None]).sum(axis=1)
        bounds = EDGES[np.minimum(bucket + 1, len(EDGES) - 1)]
        return np.where(totals > 0, bounds, 0)

    def count_times(self, times: Array) -> Ints:
        """Returns how many times (ns since 1970) are in each interval, shape (n,)."""
        places, _ = self.place_times(times)
        return np.bincount(places, minlength=len(self.messages))

    def place_times(self, times: Array) -> tuple[Ints, Ints]:
        """Returns the interval of each time within the span, and the indexes of these times."""
        inside = np.flatnonzero((times >= self.span.first) & (times < self.span.end))
        places: Ints = (times[inside] - self.span.first) // self.length
        return places, inside


def find_span(session: Analysis, rows: Ints | slice) -> TimeSpan | None:
    """Returns the span from the first message of some rows to the last; None if there are none."""
    times = session.rows.column("time")[rows]
    return TimeSpan(int(times.min()), int(times.max()) + 1) if len(times) else None


def measure_activity(session: Analysis, rows: Ints | slice, span: TimeSpan, most: int) -> Activity:
    """Measures at most `most` equal intervals of a span of time. rows: numbers, or a slice of the index."""
    length = max(-(-span.length // max(most, 1)), 1)
    count = max(-(-span.length // length), 1)
    table = session.rows
    times = table.column("time")[rows]
    empty = Activity(span, length, *(np.zeros(count, np.int64),) * 2, np.zeros((count, len(EDGES)), np.int64))
    keys, inside = empty.place_times(times)
    sizes = np.bincount(keys, table.column("length")[rows][inside], count).astype(np.int64)
    partner = table.column("partner")[rows][inside]
    answered = np.flatnonzero((table.column("role")[rows][inside] == Role.RESPONSE) & (partner != NULL))
    latency = times[inside[answered]] - table.column("time")[partner[answered]]
    both = keys[answered] * len(EDGES) + buckets(latency)
    counted = np.bincount(both, minlength=count * len(EDGES)).reshape(count, len(EDGES))
    return Activity(span, length, np.bincount(keys, minlength=count), sizes, counted)


def list_error_rows(session: Analysis, rows: Ints) -> Ints:
    """Returns those of some rows that report an error, except errors that only say "nothing new"."""
    from analyzer.query.response_errors import find_empty, find_errors  # not needed for counts

    found = find_errors(session, rows)
    return rows[found.places[~find_empty(session, rows, found)]]


def list_gap_rows(session: Analysis, rows: slice) -> Ints:
    """Returns those of consecutive rows before or in which bytes are missing from the capture."""
    marks = session.rows.column("marks")[rows]
    found: Ints = rows.start + np.flatnonzero(marks & RowMark.GAP)
    return found


def list_moments(session: Analysis, looked: Callable[[int], None] = lambda rows: None) -> list[Moment]:
    """Returns the events in reports of a loaded session: rebalances, elections, failovers, stalls; in order of time.

    looked: see build_timeline().
    """
    from analyzer.insight.timeline import build_timeline  # the same

    table = build_timeline(session, looked, problems=())
    return [
        Moment(entry.first, next((row for _, row in entry.rows), None), str(table.report.cells(entry)["what"]))
        for entry in table.entries
    ]
