"""Metrics over time, one series for each value of a field: columns of equal intervals, for graphs.

Theory. A series is a group of messages that is measured in each interval. So all metrics are those of
analyzer.insight.metrics, including exact percentiles. Only the largest groups become series, because a graph of fifty
lines is unreadable. Requests in flight are counted from the starts and ends of exchanges. The value of an interval is
the maximum number at one time, so bursts shorter than the interval are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analyzer.columns.arrays import Floats, Ints
from analyzer.decode.endpoints import number_servers
from analyzer.insight.counts import find_unanswered
from analyzer.insight.grouping import TIME, RowGroups
from analyzer.insight.metrics import SECOND, Metrics
from analyzer.insight.statistics import Study
from dissectors.api import Role
from dissectors.wire.fast_path import NULL

SERVER = "server"
"""The name that groups messages by the server of their connection."""

MOST_SERIES = 12


@dataclass(frozen=True, slots=True)
class SeriesTable:
    """Metrics of some series over n intervals.

    begins: of the intervals, ns since 1970; length: of each, ns. values: by the name of a metric, shape (series, n),
    NaN if there is none. Messages, bytes and errors are per second, latencies in ns.
    """

    begins: Sequence[int]
    length: int
    values: dict[str, Floats]

    @property
    def end(self) -> int:
        """The end of the last interval, ns since 1970."""
        return self.begins[-1] + self.length if self.begins else 0


METRICS = ("messages", "bytes", "errors", "p50_ns", "p90_ns", "p99_ns")
IN_FLIGHT = "in_flight"


@dataclass(frozen=True)
class SeriesGroups:
    """The largest groups by one field; the last group has all messages.

    grouped: the entries of these groups. labels: of the groups except the last. more: the number of smaller groups.
    """

    grouped: RowGroups
    labels: Sequence[Any]
    more: int

    def measure(self, study: Study) -> list[Metrics]:
        """Returns the metrics of each group over all times."""
        return study.measure_groups(self.grouped)

    @cached_property
    def count(self) -> int:
        """The number of groups, including that of all messages."""
        return len(self.labels) + 1


def choose_groups(study: Study, by: str | None, most: int = MOST_SERIES) -> SeriesGroups:
    """Chooses the largest groups by a field or SERVER; None: only all messages. Raises UserError for a wrong field."""
    rows = np.arange(len(study.rows))
    if by is None:
        return SeriesGroups(RowGroups(None, np.zeros(len(rows), np.int64), [()]), (), 0)
    if by == SERVER:
        found = RowGroups(None, *number_servers(study.reader.session, study.rows))
    else:
        grouped = study.group_rows((by,))
        found = grouped._replace(labels=[label for (label,) in grouped.labels])
    places = rows if found.places is None else found.places
    counts = np.bincount(found.keys, minlength=len(found.labels))
    filled = np.flatnonzero(counts)
    chosen = filled[np.lexsort((filled, -counts[filled]))][:most]
    number = np.full(len(found.labels), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    keys = number[found.keys]
    there = keys >= 0
    labels = [found.labels[each] for each in chosen.tolist()]
    both = RowGroups(
        np.concatenate((places[there], rows)),
        np.concatenate((keys[there], np.full(len(rows), len(chosen), np.int64))),
        [*((label,) for label in labels), ()],
    )
    return SeriesGroups(both, labels, len(filled) - len(chosen))


def measure_series(study: Study, groups: SeriesGroups) -> SeriesTable:
    """Measures each group in each interval of the study."""
    grouped, count = groups.grouped, groups.count
    numbers, begins = study.intervals.number_times(study.facts.time)
    wide = len(begins)
    crossed = RowGroups(grouped.places, grouped.keys * wide + grouped.take(numbers), [()] * (count * wide))
    found = study.measure_groups(crossed, (TIME,))
    length = study.intervals.length
    values = {
        name: np.array([getattr(each, name) for each in found], np.float64).reshape(count, wide) for name in METRICS
    }
    for name in ("messages", "bytes", "errors"):
        values[name] *= SECOND / length
    values[IN_FLIGHT] = measure_in_flight(study, grouped, count, wide).astype(np.float64)
    return SeriesTable(begins, length, values)


def measure_in_flight(study: Study, grouped: RowGroups, count: int, wide: int) -> Ints:
    """Returns the maximum number of simultaneously waiting requests by group and interval, shape (count, wide).

    A request without an answer waits until the last packet of its connection.
    """
    keys, requests, ends = _list_exchanges(study, grouped)
    begins = study.reader.session.rows.column("time")[requests]
    first, length = study.first or 0, study.intervals.length
    times = np.concatenate((begins, np.maximum(ends, begins)))
    change = np.repeat(np.array([1, -1]), len(keys))
    interval = np.clip(times // length - first // length, 0, max(wide - 1, 0))
    groups = np.concatenate((keys, keys))
    order = np.lexsort((-change, times, groups))
    level = np.cumsum(change[order])  # each exchange begins and ends, so the next group begins at 0
    cells = (groups * wide + interval)[order]
    peaks = np.zeros(count * wide, np.int64)
    np.maximum.at(peaks, cells, level)
    left = np.cumsum(np.bincount(cells, change[order], count * wide).reshape(count, wide), axis=1).astype(np.int64)
    before = np.zeros((count, wide), np.int64)
    before[:, 1:] = left[:, :-1]
    return np.maximum(peaks.reshape(count, wide), before)


def _list_exchanges(study: Study, grouped: RowGroups) -> tuple[Ints, Ints, Ints]:
    """Returns group, row of the request, and end (ns since 1970) of each exchange with a message in the group."""
    session, rows, facts = study.reader.session, study.rows, study.facts
    table = session.rows
    partner = table.column("partner")[rows].astype(np.int64)
    request, end = np.full(len(rows), -1, np.int64), np.zeros(len(rows), np.int64)
    answered = (facts.role == Role.REQUEST) & (partner != NULL)
    request[answered], end[answered] = rows[answered], table.column("time")[partner[answered]]
    answers = np.zeros(len(rows), bool)
    answers[facts.timed] = True
    request[answers], end[answers] = partner[answers], facts.time[answers]
    lonely = np.isin(rows, find_unanswered(session, rows))
    request[lonely] = rows[lonely]
    end[lonely] = session.engine.streams.column("end")[table.column("stream")[rows[lonely]]]
    keys, mine, ends = grouped.keys, grouped.take(request), grouped.take(end)
    there = np.flatnonzero(mine >= 0)
    size = int(mine.max(initial=0)) + 1
    _, first = np.unique(keys[there] * size + mine[there], return_index=True)
    there = there[first]
    return keys[there], mine[there], ends[there]
