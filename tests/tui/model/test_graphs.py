"""Graphs and the heatmap: the filter of each line and cell keeps exactly what it counts; axes have round numbers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from analyzer.insight.activity import TimeSpan
from analyzer.insight.series import SERVER
from analyzer.render.amounts import format_rate
from analyzer.render.lines import strip_styles
from tests.tui.driving import KAFKA
from tests.tui.model.test_statistics import MIXED, kept, opened, silent
from tui.model.graph_source import HEATMAP, NAMES, GraphSource
from tui.model.graphs import GraphView, format_latency, format_speed
from tui.model.heatmap import HeatmapView
from tui.model.leads import FilterLead
from tui.model.plot import make_axis, make_log_axis
from tui.model.row_sets import PageScope
from tui.model.time_axis import PlotPlace, TimeAxis
from tui.model.views import View, ViewState

WIDTH = 120


@cache
def views(path: Path, by: str | None) -> dict[str, View]:
    session = opened(path)
    source = GraphSource(session)
    source.by = by
    *_, found = source.make_views(PageScope(len(session.rows), len(session.engine.streams), True), silent())
    assert [view.name for view in found] == list(NAMES)
    return {view.name: view for view in found}


def place_of(view: View, state: ViewState) -> PlotPlace:
    assert isinstance(view, (GraphView, HeatmapView))
    place = view.locate(WIDTH, state)
    assert place is not None
    return place


@pytest.mark.parametrize(
    ("path", "by"),
    [*((KAFKA, by) for by in ("operation", "topic", "error", "latency_ns", "from_client")), (MIXED, SERVER)],
    ids=str,
)
def test_the_filter_of_a_series_keeps_what_it_counts(path: Path, by: str) -> None:
    view = views(path, by)["Messages"]
    assert isinstance(view, GraphView)
    counted = next(column.values for column in view.table.columns if column.title == "messages")
    checked = 0
    for item, many in zip(view.make_lines(WIDTH, ViewState()), counted, strict=False):
        if isinstance(item.lead, FilterLead):
            assert kept(path, item.lead.condition) == many, item.lead.condition
            checked += 1
    assert checked == len(counted) - 1 > 0


def test_the_filter_of_an_interval_keeps_what_the_line_shows() -> None:
    found = views(MIXED, SERVER)
    state = ViewState()
    view = found["Messages"]
    assert isinstance(view, GraphView)
    place = place_of(view, state)
    state.times = place.move(place.move(None, 1, extends=False), 1, extends=True)
    seconds = state.times.length / 10**9
    checked = 0
    for item in view.make_lines(WIDTH, state):
        if isinstance(item.lead, FilterLead):
            rate = float(strip_styles(item.line)[2:14].replace(",", ""))
            assert kept(MIXED, item.lead.condition) == pytest.approx(rate * seconds, rel=0.01)
            checked += 1
    assert checked > 2


def test_the_filter_of_a_cell_keeps_the_answers_that_it_counts() -> None:
    view = views(KAFKA, "operation")[HEATMAP]
    assert isinstance(view, HeatmapView)
    state = ViewState(height=20, zoom=-2)
    place, everything, checked = place_of(view, state), 0, 0
    totals = [strip_styles(item.line).split()[-1] for item in view.make_lines(WIDTH, state)]
    for interval in range(len(place.times.begins)):
        state.times = place.times.get_span(interval, interval + 1)
        for line, item in enumerate(view.make_lines(WIDTH, state)):
            if isinstance(item.lead, FilterLead):
                title = strip_styles(view.make_chart(WIDTH, 40, state, item.key)[0])
                (many,) = map(int, re.findall(r" (\d+) answers? ", title))
                everything += many
                if (interval + line) % 9 == 0:
                    assert kept(KAFKA, item.lead.condition) == many > 0, item.lead.condition
                    checked += 1
    assert everything == sum(int(text) for text in totals if text != "-") == kept(KAFKA, "latency")
    assert checked > 5


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (make_axis(37, format_rate, 12), ["0", "10", "20", "30", "40"]),
        (make_axis(0, format_rate, 6), ["0", "0.5", "1"]),
        (make_axis(0.7, format_rate, 6), ["0", "0.5", "1"]),
        (make_axis(18_000, format_speed, 9, 1024), ["0B", "10KiB", "20KiB"]),
        (make_axis(2.4e9, format_latency, 9), ["0ns", "1s", "2s", "3s"]),
        (make_log_axis(3e4, 2e9, format_latency, 20), ["10us", "100us", "1ms", "10ms", "100ms", "1s", "10s"]),
        (make_log_axis(5, 5, format_latency, 1), ["1ns"]),
    ],
)
def test_ticks_are_round_numbers(axis: object, texts: list[str]) -> None:
    assert isinstance(axis, type(make_axis(1, format_rate, 1)))
    assert [axis.show(tick) for tick in axis.ticks] == texts
    heights = axis.find_heights(np.array([*axis.ticks, np.nan, -5.0]), 40).tolist()
    assert heights == [*sorted(heights[: len(texts)]), -1, 0]


def test_cells_and_times_belong_to_each_other() -> None:
    axis = TimeAxis([100, 200, 300], 100)
    for place in (PlotPlace(axis, 5, 8), PlotPlace(axis, 5, 4, 2)):
        assert place.find_times(0, 5) is None
        assert place.find_times(5, 5 + place.cells) == axis.span
        for interval in range(3):
            span = axis.get_span(interval, interval + 1)
            cells = place.find_cells(span)
            assert cells is not None
            again = place.find_times(*cells)
            assert again is not None
            assert again.first <= span.first < span.end <= again.end
    assert place.move(None, 1, extends=False) == TimeSpan(100, 200)
    assert place.move(TimeSpan(100, 200), 1, extends=True) == TimeSpan(100, 300)
    assert place.move(TimeSpan(100, 300), -1, extends=True) == TimeSpan(100, 200)
    assert place.move(TimeSpan(100, 200), -1, extends=False) == TimeSpan(100, 200)


def test_pictures_are_svg_with_all_lines() -> None:
    found = views(KAFKA, "operation")
    state = ViewState(height=20)
    graph, heatmap = found["p99"], found[HEATMAP]
    assert isinstance(graph, GraphView)
    assert isinstance(heatmap, HeatmapView)
    text = graph.write_svg(WIDTH, state)
    assert text.count("<polyline") >= 6
    assert ">Heartbeat</text>" in text
    assert heatmap.write_svg(WIDTH, state).count("<rect") > 50
