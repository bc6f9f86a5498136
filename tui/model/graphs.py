"""Graphs of metrics over time: a line for each value of a field, and beneath them a table that is their legend.

Theory. analyzer.insight.series measures, at several scales. A view has one metric; the scale follows from the width.
The table is that of statistics, so it can be sorted. A row's mark says whether its line is drawn; the selected row's
line is always drawn. A row leads to its messages, in the selected times if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Floats
from analyzer.insight.grouping import SECRET, field_of
from analyzer.insight.series import IN_FLIGHT, SERVER, SeriesGroups, SeriesTable, measure_series
from analyzer.insight.statistics import GroupStatistics, Study
from analyzer.query.filter.literals import list_comparisons
from analyzer.render.amounts import format_rate, format_size
from analyzer.render.durations import format_duration
from analyzer.render.lines import Line, strip_styles
from tui.model.braille import ACROSS
from tui.model.graph_files import SavedLine, write_graph
from tui.model.leads import FilterLead, combine_filters, write_comparison, write_literal, write_time_range
from tui.model.plot import PlotLine, ValueAxis, draw_plot, make_axis, make_log_axis
from tui.model.table import SortableTable
from tui.model.time_axis import PlotPlace, TimeAxis, choose_scale
from tui.model.views import (
    NOTHING,
    TableView,
    ViewHeads,
    ViewLine,
    ViewState,
    format_key,
    make_metric_columns,
    make_name_column,
)

SCALES = (40, 100, 200, 400)
"""The number of intervals at most, for each scale."""

LINE_STYLES = ("name", "text", "warning", "masked", "note", "title")
ALL_STYLE, REST_STYLE = "value", "type"
"""The styles of the largest series, of all messages, and of other series."""

ALL = "all messages"

DRAWN, HIDDEN = "━ ", "  "
VALUE_WIDTH = 12
"""The cells of the value in the selected times."""

SAVED_HEIGHT = 15
"""The lines of a plot that is saved, from which the number of its ticks follows."""

LEAST_HEIGHT, LEAST_PLOT = 12, 4
"""The lines of a page with a plot, and of a plot, at least."""


class Graph(NamedTuple):
    """What a view shows. metric: its name in a SeriesTable. unit: of the axis. show: formats a value of it."""

    name: str
    metric: str
    unit: str
    show: Callable[[float], str]


def format_speed(value: float) -> str:
    """Formats bytes a second without superfluous zeros: `1.5KiB`, `20KiB`."""
    text = format_size(round(value))
    number = text.rstrip("KMGTiB")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + text[len(number) :]


def format_latency(value: float) -> str:
    """Formats ns without superfluous zeros: `2s`, `2.5ms`."""
    text = format_duration(round(value))
    return text.replace(".00s", "s") if text.endswith(".00s") else text


GRAPHS = (
    Graph("Messages", "messages", "messages/s", format_rate),
    Graph("Bytes", "bytes", "bytes/s", format_speed),
    Graph("Errors", "errors", "errors/s", format_rate),
    Graph("p50", "p50_ns", "p50 latency", format_latency),
    Graph("p90", "p90_ns", "p90 latency", format_latency),
    Graph("p99", "p99_ns", "p99 latency", format_latency),
    Graph("In flight", IN_FLIGHT, "requests in flight", format_rate),
)


class SeriesSource(NamedTuple):
    """The series of a field. tables: at rising numbers of intervals. totals: of each series over all times."""

    by: str | None
    groups: SeriesGroups
    tables: Sequence[SeriesTable]
    totals: Sequence[GroupStatistics]

    @classmethod
    def measure(cls, study: Study, by: str | None, groups: SeriesGroups) -> SeriesSource:
        """Measures the series at all scales that differ."""
        tables: list[SeriesTable] = []
        for most in SCALES:
            scale = study.in_intervals(most)
            if not tables or scale.intervals.length < tables[-1].length:
                tables.append(measure_series(scale, groups))
        keys = [*groups.labels, ALL]
        totals = [GroupStatistics((key,), each) for key, each in zip(keys, groups.measure(study), strict=True)]
        return cls(by, groups, tables, totals)

    def write_condition(self, place: int) -> str | None:
        """Writes the filter of a series; empty for all messages, None if no filter says it."""
        if place == len(self.groups.labels):
            return ""
        return write_condition(self.by or "", self.groups.labels[place])


def write_condition(by: str, label: Any) -> str | None:
    """Writes the filter of the messages that a field gives a label; None if no filter says it."""
    if by == SERVER:
        text = write_literal(label)
        return f"(from_client == true and destination == {text} or from_client == false and source == {text})"
    if label is None or (isinstance(label, str) and label != SECRET):
        return write_comparison(by, label)
    return None if label == SECRET else next(iter(list_comparisons(field_of(by), label)), None)


class GraphView(TableView):
    """A metric of all series: a plot, and a line of a table for each series."""

    def __init__(self, graph: Graph, source: SeriesSource) -> None:
        totals, by = source.totals, source.by
        names = [NOTHING if each.key[0] is None else each.key[0] for each in totals]
        columns = [make_name_column(names, by or "messages"), *make_metric_columns(totals)]
        keys: Sequence[Hashable] = range(len(totals))
        super().__init__(graph.name, SortableTable(columns), keys, lambda row: None)
        self.graph, self._source, self._names = graph, source, names
        self.foldable = keys
        self.opened = frozenset((keys[:-1] or keys)[: len(LINE_STYLES)])
        self.zooms = len(source.tables) - 1
        more = source.groups.more
        self.text = f"and {more:,} more, each with fewer messages; a filter shows them" if more else ""

    def locate(self, width: int, state: ViewState) -> PlotPlace:
        """Returns where the intervals are on a line of `width` cells."""
        table = self._get_table(width, state)
        axis = self._make_axis(table, state, 1)
        return PlotPlace(TimeAxis(table.begins, table.length), axis.margin, max(width - axis.margin, 1), ACROSS)

    def _get_table(self, width: int, state: ViewState) -> SeriesTable:
        """Returns the finest scale whose intervals are a cell wide at least, or another that the user asked for."""
        return choose_scale(self._source.tables, [len(each.begins) for each in self._source.tables], width, state)

    def _list_drawn(self, state: ViewState) -> list[int]:
        drawn = state.get_opened(self)
        return [place for place in range(len(self._names)) if place in drawn]

    def _make_axis(self, table: SeriesTable, state: ViewState, height: int) -> ValueAxis:
        """Makes the axis for the drawn series."""
        drawn = self._list_drawn(state) or list(range(len(self._names)))
        values = table.values[self.graph.metric][drawn]
        there = values[np.isfinite(values)]
        most = float(there.max(initial=0))
        above = there[there > 0]
        if state.is_logarithmic and len(above):
            return make_log_axis(float(above.min()), most, self.graph.show, height)
        unit = 1024.0 ** max(int(np.log2(max(most, 1)) // 10), 0) if self.graph.metric == "bytes" else 1.0
        return make_axis(most, self.graph.show, height, unit)

    def make_chart(self, width: int, height: int, state: ViewState, key: Hashable) -> Sequence[Line]:
        """Returns the plot of the drawn series and of the selected one, with a line that says what it is."""
        legend = min(len(self._names) + bool(self.text), max(height // 3, 3))
        tall = height - legend - 3
        if height < LEAST_HEIGHT or tall < LEAST_PLOT:
            return ()
        place, table = self.locate(width, state), self._get_table(width, state)
        axis = self._make_axis(table, state, tall)
        place = place._replace(left=axis.margin, cells=max(width - axis.margin, 1))
        drawn = self._list_drawn(state)
        if isinstance(key, int) and key not in drawn:
            drawn.append(key)
        lines = [PlotLine(table.values[self.graph.metric][each], self._get_style(each)) for each in drawn]
        selected = drawn.index(key) if isinstance(key, int) else None
        return [self._make_title(table, state), *draw_plot(lines, selected, axis, place, tall)]

    def write_svg(self, width: int, state: ViewState) -> str:
        """Writes the drawn lines as a picture. width: of the page, in cells, from which the scale follows."""
        table, drawn = self._get_table(width, state), self._list_drawn(state)
        axis = self._make_axis(table, state, SAVED_HEIGHT)
        values, rest = table.values[self.graph.metric], len(self._names) - 1
        lines = [SavedLine(format_key(self._names[each]), values[each], each == rest) for each in drawn]
        title = strip_styles(self._make_title(table, state)).strip()
        return write_graph(title, lines, axis, TimeAxis(table.begins, table.length))

    def _make_title(self, table: SeriesTable, state: ViewState) -> Line:
        by = f" by {self._source.by}" if self._source.by else ""
        axis = TimeAxis(table.begins, table.length)
        what = f"  each {format_duration(table.length)}"
        found = [("title", f" {self.graph.unit}{by}"), ("dim", what)]
        if state.times is not None:
            found.append(("partner", f"  {axis.format_span(axis.get_span(*axis.find_intervals(state.times)))}"))
        return tuple(found)

    def _get_style(self, place: int) -> str:
        if place == len(self._names) - 1:
            return ALL_STYLE
        return LINE_STYLES[place] if place < len(LINE_STYLES) else REST_STYLE

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns the titles of the table, behind the mark and the value in the selected times."""
        begin = self._get_indent(state)
        title = "then".rjust(VALUE_WIDTH) + "  " if state.times is not None else ""
        return [(DRAWN.replace("━", " ") + title, ""), *super().make_head(width - begin, state)]

    def _get_indent(self, state: ViewState) -> int:
        return len(DRAWN) + (VALUE_WIDTH + 2 if state.times is not None else 0)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns the rows of the table with their marks, and a note."""
        listed = super().make_lines(width - self._get_indent(state), state)
        drawn = state.get_opened(self)
        return [self._complete(item, width, state, drawn) for item in listed]

    def _complete(self, item: ViewLine, width: int, state: ViewState, drawn: frozenset[Hashable]) -> ViewLine:
        """Adds mark, value and lead to a line of the table."""
        row = item.key
        if not isinstance(row, int):
            return item
        table = self._get_table(width, state)
        mark = (self._get_style(row), DRAWN if row in drawn else HIDDEN)
        then: Line = ()
        if state.times is not None:
            first, end = TimeAxis(table.begins, table.length).find_intervals(state.times)
            text = self._format_values(table.values[self.graph.metric][row, first:end])
            then = (("partner", f"{text:>{VALUE_WIDTH}}  "),)
        return item._replace(line=(mark, *then, *item.line), lead=self._make_lead(row, table, state), folds=True)

    def _format_values(self, values: Floats) -> str:
        """Formats the value of some intervals: the mean of a rate, and the greatest of other metrics."""
        known = values[np.isfinite(values)]
        if not len(known):
            return NOTHING
        is_rate = self.graph.metric in ("messages", "bytes", "errors")
        return self.graph.show(float(known.mean() if is_rate else known.max()))

    def _make_lead(self, row: int, table: SeriesTable, state: ViewState) -> FilterLead | None:
        condition = self._source.write_condition(row)
        if condition is None or state.times is None:
            return FilterLead(condition) if condition else None
        axis = TimeAxis(table.begins, table.length)
        times = axis.get_span(*axis.find_intervals(state.times))
        return FilterLead(combine_filters(condition, write_time_range(*times)))
