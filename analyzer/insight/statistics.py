"""Statistics of messages by any key or field, for `stats --by` and the TUI.

Theory. All queries about one selection of rows share the expensive parts: the reported errors, which need bodies, and
the latencies. So a Study is created once for the rows, and queried as often as needed. It keeps columns, no messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.insight.grouping import TIME, Grouping, Intervals, RowGroups
from analyzer.insight.metrics import Metrics, RowMeasures, latencies, measure_groups
from analyzer.insight.percentiles import EDGES, buckets, nearest_ranks
from analyzer.query.response_errors import ErrorColumn, Looked, find_errors
from dissectors.slotted import make_slotted


@make_slotted
class GroupStatistics:
    """Messages with the same `key`: a value for each name that they are grouped by (None: no value)."""

    key: tuple[Any, ...]
    metrics: Metrics


@make_slotted
class Statistics:
    """Messages in groups. by: the names. groups: most messages first; in order of time if that is a name.

    total: of all messages, each once; a message with several values is in several groups. first, last: the times of the
    first and the last of them (ns, None if there is none). Rates are over the time between them; those of intervals,
    over the `interval` (ns).
    """

    by: tuple[str, ...]
    groups: Sequence[GroupStatistics]
    total: Metrics
    first: int | None
    last: int | None
    interval: int | None = None


class Study:
    """Computes statistics about some rows of a session; reader: a RowReader that is not streaming."""

    def __init__(
        self,
        reader: RowReader,
        rows: Ints | None = None,
        *,
        with_errors: bool = True,
        interval: int | None = None,
        looked: Looked = lambda done, total: None,
    ) -> None:
        session = reader.session
        self.reader = reader
        self.rows: Ints = np.arange(session.rows.first, len(session.rows)) if rows is None else rows
        self.reported: ErrorColumn | None = find_errors(session, self.rows, looked) if with_errors else None
        self.facts = RowMeasures.from_rows(session, self.rows, self.reported)
        time = self.facts.time
        self.first: int | None = int(time.min()) if len(time) else None
        self.last: int | None = int(time.max()) if len(time) else None
        if interval is not None:
            self.intervals = Intervals(interval)
        else:
            self.intervals = Intervals.fitting(self.first or 0, self.last or 0)
        self._grouping = Grouping(reader, self.rows, self.reported, self.intervals, looked)

    def in_intervals(self, most: int) -> Study:
        """Returns the same study over the shortest usual intervals, at most `most` of them."""
        found = copy(self)
        found.intervals = Intervals.fitting(self.first or 0, self.last or 0, most)
        found._grouping = self._grouping.in_intervals(found.intervals)
        return found

    @cached_property
    def total(self) -> Metrics:
        """The metrics of all rows together."""
        (found,) = self.measure_groups(RowGroups(None, np.zeros(len(self.rows), np.int64), [()]))
        return found

    def group_rows(self, by: Sequence[str]) -> RowGroups:
        """Groups the rows by these names. Raises UserError for an unknown name."""
        return self._grouping.group_by(by)

    def measure_groups(self, grouped: RowGroups, by: Sequence[str] = ()) -> list[Metrics]:
        """Returns the metrics of each group, in the order of its labels."""
        span = self.intervals.length if TIME in by else self.facts.span
        return measure_groups(self.facts, grouped, span)

    def measure_by(self, *names: str) -> Statistics:
        """Returns the metrics of groups by these names. Raises UserError for an unknown name."""
        grouped = self.group_rows(names)
        found = self.measure_groups(grouped, names)
        alone = names == (TIME,)
        groups = [
            GroupStatistics(key, each)
            for key, each in zip(grouped.labels, found, strict=True)
            if alone or each.messages
        ]
        if names[0] != TIME:
            groups.sort(key=lambda group: (-group.metrics.messages, [(each is None, str(each)) for each in group.key]))
        interval = self.intervals.length if TIME in names else None
        return Statistics(tuple(names), groups, self.total, self.first, self.last, interval)

    def over_time(self, grouped: RowGroups) -> Ints:
        """Returns the number of messages of each group in each interval, shape (groups, intervals)."""
        numbers, begins = self.intervals.number_times(self.facts.time)
        return _count_numbers(grouped, numbers, len(begins))

    def percentile(self, grouped: RowGroups, thousandths: int) -> list[int | None]:
        """Returns a percentile of the latencies of each group (ns), by nearest rank; None for a group without any."""
        keys, latency = latencies(self.facts, grouped)
        ranks = nearest_ranks(keys, latency, len(grouped.labels), (thousandths,)).tolist()
        return [found if count else None for count, _, found, _ in ranks]

    def latencies(self, grouped: RowGroups, edges: Ints = EDGES) -> Ints:
        """Returns the number of latencies of each group in each bucket, shape (groups, buckets)."""
        timed = self.facts.timed
        numbers = np.zeros(len(self.rows), np.int64)
        numbers[timed] = buckets(self.facts.latency[timed], edges) + 1
        return _count_numbers(grouped, numbers, int(numbers.max(initial=0)) + 1)[:, 1:]


def _count_numbers(grouped: RowGroups, numbers: Ints, width: int) -> Ints:
    """Returns how often each number, less than `width`, occurs in each group."""
    size = len(grouped.labels)
    return np.bincount(grouped.keys * width + grouped.take(numbers), minlength=size * width).reshape(size, width)


def statistics(
    reader: RowReader,
    by: Sequence[str],
    rows: Ints | None = None,
    *,
    with_errors: bool = True,
    interval: int | None = None,
    looked: Looked = lambda done, total: None,
) -> Statistics:
    """Computes metrics of some rows (None: all), for each combination of these names. Raises UserError.

    interval: ns, for the name `time`. looked: see analyzer.query.response_errors.Looked.
    """
    return Study(reader, rows, with_errors=with_errors, interval=interval, looked=looked).measure_by(*by)
