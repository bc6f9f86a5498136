"""Two views of statistics: latencies of operations with their distribution, and messages and bytes over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence

from analyzer.insight.metrics import SECOND
from analyzer.insight.percentiles import ROUND
from analyzer.insight.statistics import Statistics, Study
from analyzer.render.amounts import format_count, format_counted, format_rate, format_share, format_size
from analyzer.render.durations import format_duration
from analyzer.render.lines import Line
from tui.model.drawing import Chart, draw_axis, draw_bar
from tui.model.leads import FilterLead, Lead, make_label_filters, write_latency_range, write_time_range
from tui.model.table import GAP, LEAST_BAR, MOST_BAR, SortableTable, TableColumn
from tui.model.time_axis import count_digits
from tui.model.views import (
    NOTHING,
    TableLines,
    TableView,
    TextView,
    ViewHeads,
    ViewLine,
    ViewState,
    format_clocks,
    make_metric_columns,
    make_name_column,
)

OPEN_MARK, FOLDED_MARK, INDENT = "▾ ", "▸ ", "  "
BOUNDS_WIDTH, METRIC_WIDTH = 18, 10
"""The cells of the bounds of a bucket, and of a number of it."""

PERCENTILES = (("p50", 500), ("p95", 950), ("p99", 990))


class LatencyView(TableView):
    """Operations with answers; beneath unfolded ones, the buckets of their latencies."""

    def __init__(
        self, name: str, table: SortableTable, conditions: Sequence[str], counts: Sequence[Sequence[int]]
    ) -> None:
        super().__init__(name, table, conditions, lambda row: FilterLead(conditions[row]))
        self._conditions, self._counts = conditions, counts
        self.foldable, self.opened = conditions, frozenset(conditions[:1])
        self.text = "" if conditions else "no answer has a request here, so none has a latency"

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns the titles of the table, indented by the fold mark."""
        return [(INDENT, ""), *super().make_head(width - len(INDENT), state)] if self._conditions else ()

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns the lines of operations, and the buckets of unfolded ones."""
        listed = super().make_lines(width - len(INDENT), state)
        if not isinstance(listed, TableLines) or not self._conditions:
            return listed
        opened = state.get_opened(self)
        found: list[ViewLine] = []
        for row, item in zip(listed.rows, listed[: len(listed.rows)], strict=True):
            is_open = item.key in opened
            found.append(item._replace(line=(("type", OPEN_MARK if is_open else FOLDED_MARK), *item.line), folds=True))
            if is_open:
                found += self._buckets(row, width)
        return [*found, *listed.behind]

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of an operation or bucket by its filter."""
        return next((place for place, item in enumerate(lines) if item.key == key), None)

    def _buckets(self, row: int, width: int) -> list[ViewLine]:
        """Returns the lines of buckets, from the first one that is not empty to the last."""
        counts = self._counts[row]
        there = [bucket for bucket, many in enumerate(counts) if many]
        total, most, sum_of = sum(counts), max(counts), 0
        available = min(width - len(INDENT) - BOUNDS_WIDTH - 3 * METRIC_WIDTH - GAP, MOST_BAR)
        found = []
        for bucket in range(there[0], there[-1] + 1):
            low, high, many = int(ROUND[bucket]), int(ROUND[bucket + 1]), counts[bucket]
            sum_of += many
            cells = [f"{format_count(many):>{METRIC_WIDTH}}", f"{format_share(many / total):>{METRIC_WIDTH}}"]
            upto = f"{format_share(sum_of / total):>{METRIC_WIDTH}}"
            line = (
                ("dim", INDENT * 2 + f"{format_bounds(low, high):<{BOUNDS_WIDTH - len(INDENT)}}"),
                ("value", "".join(cells)),
                ("dim", upto + " " * GAP),
                ("name", draw_bar(many, most, available) if available >= LEAST_BAR else ""),
            )
            condition = f"{self._conditions[row]} and {write_latency_range(low, high)}"
            found.append(ViewLine(line, FilterLead(condition) if many else None, condition))
        return found


def format_bounds(low: int, high: int) -> str:
    """Formats the bounds of a bucket: `1ms to 2ms`, `below 1us`."""
    return f"{_format_bound(low)} to {_format_bound(high)}" if low else f"below {_format_bound(high)}"


def _format_bound(nanoseconds: int) -> str:
    text = format_duration(nanoseconds)
    return text.replace(".00s", "s")


def make_latency_view(name: str, study: Study) -> LatencyView:
    """Makes the view of all operations that were answered, those with most answers first."""
    grouped = study.group_rows(("protocol", "operation"))
    found, counts = study.measure_groups(grouped), study.latencies(grouped, ROUND)
    percentiles = [study.percentile(grouped, thousandths) for _, thousandths in PERCENTILES]
    condition = make_label_filters(grouped.labels)
    timed = sorted((row for row, each in enumerate(found) if each.timed), key=lambda row: -found[row].timed)
    labels = [grouped.labels[row] for row in timed]
    columns = [
        make_name_column([operation or NOTHING for _, operation in labels], "operation"),
        make_name_column([protocol for protocol, _ in labels], "protocol", rank=1),
        TableColumn("answers", [found[row].timed for row in timed], format_count),
        *(
            TableColumn(title, [each[row] for row in timed], format_duration)
            for (title, _), each in zip(PERCENTILES, percentiles, strict=True)
        ),
        TableColumn("max", [found[row].max_ns for row in timed], format_duration),
    ]
    table = SortableTable(columns, [found[row].timed for row in timed])
    return LatencyView(name, table, [condition(label) for label in labels], [counts[row].tolist() for row in timed])


SCALES = (60, 240, 960)
"""The number of intervals at most, for each zoom step."""

TALLEST = 8
"""The lines of a chart's columns at most."""


class RateView(TextView):
    """Messages over intervals, at several scales, the shortest interval last."""

    def __init__(self, name: str, scales: Sequence[RateScale]) -> None:
        super().__init__(name, "")
        self._scales = scales
        self.zooms = len(scales) - 1

    def _get_scale(self, state: ViewState) -> RateScale:
        return self._scales[min(state.zoom, self.zooms)]

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns the titles of the present scale's table."""
        return self._get_scale(state).table.make_head(width, state)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns a line for each interval of the present scale."""
        return self._get_scale(state).table.make_lines(width, state)

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of the interval that a time is in."""
        if not isinstance(key, int) or not isinstance(lines, TableLines):
            return None
        return max(bisect_right(lines.view.keys, key, key=_as_number) - 1, 0)

    def make_chart(self, width: int, height: int, state: ViewState, key: Hashable) -> Sequence[Line]:
        """Returns charts of messages, latencies and bytes, and the time axis."""
        return self._get_scale(state).draw_charts(width, height, key)

    def find_key(self, cell: int, width: int, state: ViewState) -> Hashable:
        """Returns the begin of the interval at a cell of the chart."""
        return self._get_scale(state).find_interval(cell, width)


class RateScale:
    """Messages over intervals of one length."""

    def __init__(self, found: Statistics) -> None:
        assert found.interval is not None
        self._length = length = found.interval
        groups = found.groups
        self._begins: list[int] = [group.key[0] for group in groups]
        sizes = [group.metrics.bytes * SECOND / length for group in groups]
        rates = [group.metrics.rate or 0.0 for group in groups]
        self._clocks = format_clocks([*self._begins, self._begins[-1] + length], count_digits(length))
        slowest = [group.metrics.p99_ns or 0 for group in groups]
        self._charts = (
            Chart("messages/s", rates, format_rate),
            Chart("p99 latency", slowest, lambda nanoseconds: format_duration(round(nanoseconds)), "warning"),
            Chart("bytes/s", sizes, _format_speed, "text"),
        )
        metrics = make_metric_columns(groups)
        bytes_a_second = TableColumn("bytes/s", sizes, _format_speed, rank=6)
        columns = [make_name_column(self._clocks[:-1], "time (UTC)"), *metrics, bytes_a_second]
        self._messages = [group.metrics.messages for group in groups]
        table = SortableTable(columns, self._messages)
        intervals = f"{format_counted(len(groups), 'interval')} of {format_duration(length)}"
        note = f"{intervals}; + and - make them shorter and longer"
        self.table = TableView("", table, self._begins, self._lead, note)

    def _lead(self, row: int) -> Lead | None:
        begin = self._begins[row]
        return FilterLead(write_time_range(begin, begin + self._length)) if self._messages[row] else None

    def draw_charts(self, width: int, height: int, key: Hashable) -> list[Line]:
        """Draws as many charts, and as tall, as fit into half of `height`."""
        selected = self._begins.index(key) if key in self._begins else None
        charts = self._charts[: 3 if height >= 30 else 2 if height >= 20 else 1 if height >= 12 else 0]
        if not charts:
            return []
        tall = min((height // 2 - 2) // len(charts) - 1, TALLEST)
        common_margin = max(chart.margin for chart in charts)
        found = [line for chart in charts for line in chart.draw(width, tall, selected, common_margin)]
        cells = charts[0].divide_width(width, common_margin)
        ends = self._clocks[0], self._clocks[-1]
        note = "" if selected is None else self._clocks[selected]
        return [*found, *draw_axis(cells, common_margin, ends, selected, note)]

    def find_interval(self, cell: int, width: int) -> int | None:
        """Returns the begin of the interval at a cell of the charts."""
        common_margin = max(chart.margin for chart in self._charts)
        cells = self._charts[0].divide_width(width, common_margin)
        return (
            self._begins[cells.get_intervals(cell - common_margin)[0]]
            if 0 <= cell - common_margin < cells.count
            else None
        )


def make_rate_view(name: str, study: Study) -> RateView:
    """Makes the view of messages and bytes over time, at all scales that differ."""
    found: list[Statistics] = []
    for most in SCALES:
        scale = study.in_intervals(most)
        if not found or scale.intervals.length < (found[-1].interval or 0):
            found.append(scale.measure_by("time"))
    return RateView(name, [RateScale(each) for each in found])


def _as_number(key: Hashable) -> int:
    assert isinstance(key, int)
    return key


def _format_speed(number: float) -> str:
    return format_size(round(number))
