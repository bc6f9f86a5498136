"""How much was said when: messages and bytes over the time of a capture, as charts and as a table of intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence

from analyzer.insight.figures import SECOND
from analyzer.insight.statistics import Statistics, Study
from analyzer.render.amounts import counted, rate, size
from analyzer.render.durations import duration
from analyzer.render.lines import Line
from tui.model.charts import Chart, draw_axis
from tui.model.figures import format_clocks, make_metric_columns, make_name_column
from tui.model.leads import FilterLead, Lead, write_time_range
from tui.model.table import SortableTable, TableColumn
from tui.model.views import TableLines, TableView, TextView, ViewHeads, ViewLine, ViewState

SCALES = (60, 240, 960)
"""Intervals at most, as one looks closer."""

TALLEST = 8
"""Lines of the columns of a chart."""


class RateView(TextView):
    """The same messages over intervals of several lengths, the shortest last."""

    def __init__(self, name: str, scales: Sequence[RateScale]) -> None:
        super().__init__(name, "")
        self._scales = scales
        self.zooms = len(scales) - 1

    def _get_scale(self, state: ViewState) -> RateScale:
        return self._scales[min(state.zoom, self.zooms)]

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """See View."""
        return self._get_scale(state).table.make_head(width, state)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """See View."""
        return self._get_scale(state).table.make_lines(width, state)

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """See View: the interval in which a time is."""
        if not isinstance(key, int) or not isinstance(lines, TableLines):
            return None
        return max(bisect_right(lines.view.keys, key, key=_as_number) - 1, 0)

    def make_chart(self, width: int, height: int, state: ViewState, key: Hashable) -> Sequence[Line]:
        """See View: a chart of messages, one of bytes, and the time."""
        return self._get_scale(state).draw_charts(width, height, key)

    def find_key(self, cell: int, width: int, state: ViewState) -> Hashable:
        """See View."""
        return self._get_scale(state).find_interval(cell, width)


class RateScale:
    """Messages over intervals of one length."""

    def __init__(self, found: Statistics) -> None:
        assert found.interval is not None
        self._length = length = found.interval
        groups = found.groups
        self._begins: list[int] = [group.key[0] for group in groups]
        sizes = [group.figures.bytes * SECOND / length for group in groups]
        rates = [group.figures.rate or 0.0 for group in groups]
        digits = next((digits for digits in (0, 3, 6) if length * 10**digits % SECOND == 0), 9)
        self._clocks = format_clocks([*self._begins, self._begins[-1] + length], digits)
        self._charts = (Chart("messages/s", rates, rate), Chart("bytes/s", sizes, _format_speed, "text"))
        figures = make_metric_columns(groups)
        bytes_a_second = TableColumn("bytes/s", sizes, _format_speed, rank=6)
        columns = [make_name_column(self._clocks[:-1], "time (UTC)"), *figures, bytes_a_second]
        self._messages = [group.figures.messages for group in groups]
        table = SortableTable(columns, self._messages)
        said = f"{counted(len(groups), 'interval')} of {duration(length)}; + and - make them shorter and longer"
        self.table = TableView("", table, self._begins, self._lead, said)

    def _lead(self, row: int) -> Lead | None:
        begin = self._begins[row]
        return FilterLead(write_time_range(begin, begin + self._length)) if self._messages[row] else None

    def draw_charts(self, width: int, height: int, key: Hashable) -> list[Line]:
        """As many and as tall as there is room for in half of `height`."""
        selected = self._begins.index(key) if key in self._begins else None
        drawn = self._charts if height >= 20 else self._charts[:1] if height >= 12 else ()
        if not drawn:
            return []
        tall = min((height // 2 - 2) // len(drawn) - 1, TALLEST)
        beside = max(chart.margin for chart in drawn)
        found = [line for chart in drawn for line in chart.draw(width, tall, selected, beside)]
        cells = drawn[0].divide_width(width, beside)
        ends = self._clocks[0], self._clocks[-1]
        said = "" if selected is None else self._clocks[selected]
        return [*found, *draw_axis(cells, beside, ends, selected, said)]

    def find_interval(self, cell: int, width: int) -> int | None:
        """The time for which a cell of the charts stands."""
        beside = max(chart.margin for chart in self._charts)
        cells = self._charts[0].divide_width(width, beside)
        return self._begins[cells.get_intervals(cell - beside)[0]] if 0 <= cell - beside < cells.count else None


def make_rate_view(name: str, study: Study) -> RateView:
    """How much was said when, at all scales that differ."""
    found: list[Statistics] = []
    for most in SCALES:
        scale = study.in_intervals(most)
        if not found or scale.intervals.length < (found[-1].interval or 0):
            found.append(scale.by("time"))
    return RateView(name, [RateScale(each) for each in found])


def _as_number(key: Hashable) -> int:
    assert isinstance(key, int)
    return key


def _format_speed(number: float) -> str:
    return size(round(number))
