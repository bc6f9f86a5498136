"""The arithmetic of the time line: intervals, colours, signs, brushes, and spans that zoom and pan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from analyzer.insight.activity import Activity, TimeSpan, find_span, measure_activity
from analyzer.insight.percentiles import EDGES, buckets
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from tests.tui.driving import KAFKA
from tui.model.activity_line import (
    NO_MARKS,
    Marks,
    TimeFilter,
    draw_activity,
    find_cells,
    find_time,
    measure_plot,
    pan_span,
    zoom_span,
)

WHOLE = TimeSpan(1000, 1100)
DAY = 1_795_270_513_000_000_000
MS = 10**6


class Drawing(NamedTuple):
    """Messages and latencies (ms; 0: none) of four intervals, marked intervals, and what one and three lines show."""

    messages: tuple[int, ...]
    latencies: tuple[int, ...]
    marks: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    one: str
    three: tuple[str, ...]
    styles: tuple[str, ...]


DRAWINGS = {
    "nothing": Drawing((0, 0, 0, 0), (0, 0, 0, 0), ((), (), ()), "    ", ("    ",) * 3, ("dim",)),
    "rates": Drawing((16, 8, 1, 0), (0, 0, 0, 0), ((), (), ()), "⣶⣶⣀ ", ("    ", "⣿   ", "⣿⣿⣀ "), ("dim",)),
    "calm and slow": Drawing(
        (1, 1, 1, 1), (1, 1, 1, 6), ((), (), ()), "⣶⣶⣶⣶", ("    ", "⣿⣿⣿⣿", "⣿⣿⣿⣿"), ("text", "warning")
    ),
    "calm and very slow": Drawing(
        (1, 1, 1, 1), (1, 1, 1, 40), ((), (), ()), "⣶⣶⣶⣶", ("    ", "⣿⣿⣿⣿", "⣿⣿⣿⣿"), ("text", "masked")
    ),
    "never slow below a millisecond": Drawing(
        (1, 1, 1, 0), (1, 1, 1, 0), ((), (), ()), "⣶⣶⣶ ", ("    ", "⣿⣿⣿ ", "⣿⣿⣿ "), ("text", "dim")
    ),
    "an error, a gap, an event": Drawing(
        (4, 4, 4, 4), (1, 1, 1, 1), ((0,), (1,), (2,)), "⣿░◆⣶", ("!░◆ ", "⣿⣿⣿⣿", "⣿⣿⣿⣿"),
        ("error", "warning", "partner", "text"),
    ),
    "an event hides a gap, and a gap an error": Drawing(
        (4, 4, 0, 0), (1, 1, 0, 0), ((0, 1), (0, 1), (0,)), "◆░  ", ("◆░  ", "⣿⣿  ", "⣿⣿  "),
        ("partner", "warning", "dim"),
    ),
}  # fmt: skip


def make_activity(case: Drawing) -> Activity:
    counted = np.zeros((4, len(EDGES)), np.int64)
    for place, latency in enumerate(case.latencies):
        if latency:
            counted[place, buckets(np.array([latency * MS]))[0]] = 1
    messages = np.array(case.messages, np.int64)
    return Activity(WHOLE, 25, messages, messages * 100, counted)


@pytest.mark.parametrize("name", DRAWINGS)
def test_lines(name: str) -> None:
    case = DRAWINGS[name]
    marks = Marks(*(np.array([1000 + 25 * place for place in places], np.int64) for places in case.marks))
    one, three = (draw_activity(make_activity(case), marks, 4, height) for height in (1, 3))
    assert (one.left, one.width) == (three.left, three.width) == (0, 4)
    assert [strip_styles(line) for line in one.lines] == [case.one]
    assert tuple(strip_styles(line) for line in three.lines) == case.three
    assert tuple(dict.fromkeys(style for style, text in one.lines[0] if text)) == case.styles


def test_a_percentile_is_the_bound_of_its_bucket() -> None:
    counted = np.zeros((2, len(EDGES)), np.int64)
    np.add.at(counted[0], buckets(np.array([*[1000] * 98, 50_000, 90_000])), 1)
    found = Activity(WHOLE, 50, *(np.ones(2, np.int64),) * 2, counted)
    for thousandths, latency in ((500, 1000), (980, 1000), (990, 50_000), (1000, 90_000)):
        bound, nothing = found.percentile(thousandths).tolist()
        assert latency < bound <= latency * 5 // 4 + 1
        assert nothing == 0


@pytest.mark.parametrize("most", [1, 2, 37, 400])
def test_intervals_count_each_message_once(most: int) -> None:
    with Session([KAFKA]).load() as session:
        every = slice(0, len(session.rows))
        span = find_span(session, every)
        assert span is not None
        found = measure_activity(session, every, span, most)
        assert len(found.messages) == most
        assert found.messages.sum() == 648
        assert found.bytes.sum() == session.rows.column("length")[every].sum()
        assert found.latencies.sum() == 324
        middle = TimeSpan(span.first + span.length // 4, span.first + span.length // 2)
        times = session.rows.column("time")[every]
        inside = int(((times >= middle.first) & (times < middle.end)).sum())
        assert measure_activity(session, every, middle, most).messages.sum() == inside
        few = np.array([3, 5])
        assert measure_activity(session, few, span, most).messages.sum() == 2


@pytest.mark.parametrize(("rows", "count"), [(slice(0, 0), 0), (slice(7, 8), 1)])
def test_an_interval_of_one_time_or_none(rows: slice, count: int) -> None:
    with Session([KAFKA]).load() as session:
        span = find_span(session, rows)
        assert (span is None) == (count == 0)
        if span is not None:
            found = measure_activity(session, rows, span, 80)
            assert (span.length, found.length, found.messages.tolist()) == (1, 1, [1])
            drawn = draw_activity(found, NO_MARKS, 80, 1)
            assert drawn.left + drawn.width < 80
            assert "⣶" * drawn.width in strip_styles(drawn.lines[0])


CELLS = [
    (TimeSpan(1000, 1100), (3, 13)),
    (TimeSpan(1000, 1001), (3, 4)),
    (TimeSpan(1099, 1100), (12, 13)),
    (TimeSpan(1020, 1041), (5, 8)),
    (TimeSpan(0, 1001), (3, 4)),
    (TimeSpan(1095, 9999), (12, 13)),
    (TimeSpan(0, 1000), None),
    (TimeSpan(1100, 1200), None),
]


@pytest.mark.parametrize(("part", "cells"), CELLS)
def test_cells_of_a_span_and_back(part: TimeSpan, cells: tuple[int, int] | None) -> None:
    assert find_cells(WHOLE, part, 3, 10) == cells
    if cells is not None:
        first, end = (find_time(WHOLE, cell, 3, 10) for cell in cells)
        assert first <= max(part.first, WHOLE.first)
        assert end >= min(part.end, WHOLE.end)
        assert find_cells(WHOLE, TimeSpan(first, end), 3, 10) == cells


def test_times_beside_the_plot_are_those_of_its_ends() -> None:
    assert [find_time(WHOLE, cell, 3, 10) for cell in (0, 3, 13, 99)] == [1000, 1000, 1100, 1100]
    assert find_time(WHOLE, 5, 0, 0) == 1000
    assert find_cells(WHOLE, WHOLE, 0, 0) is None
    assert find_cells(TimeSpan(5, 6), TimeSpan(5, 6), 0, 10) == (0, 1)


SPANS = [
    ("closer, in the middle", zoom_span(WHOLE, WHOLE, 1050, closer=True), (1025, 1075)),
    ("closer, at the left edge", zoom_span(WHOLE, WHOLE, 1000, closer=True), (1000, 1050)),
    ("closer, at the right edge", zoom_span(WHOLE, WHOLE, 1100, closer=True), (1050, 1100)),
    ("no closer than 1 ns", zoom_span(WHOLE, TimeSpan(1007, 1008), 1007, closer=True), (1007, 1008)),
    ("wider", zoom_span(WHOLE, TimeSpan(1040, 1060), 1050, closer=False), (1030, 1070)),
    ("wider, at an edge", zoom_span(WHOLE, TimeSpan(1090, 1100), 1099, closer=False), (1080, 1100)),
    ("no wider than all", zoom_span(WHOLE, TimeSpan(1000, 1080), 1010, closer=False), (1000, 1100)),
    ("later", pan_span(WHOLE, TimeSpan(1000, 1010), 5), (1005, 1015)),
    ("no later than the end", pan_span(WHOLE, TimeSpan(1000, 1010), 500), (1090, 1100)),
    ("no earlier than the start", pan_span(WHOLE, TimeSpan(1030, 1040), -500), (1000, 1010)),
    ("the whole has lost its start", pan_span(WHOLE, TimeSpan(900, 920), 0), (1000, 1020)),
    ("the whole is shorter", pan_span(WHOLE, TimeSpan(900, 2000), 0), (1000, 1100)),
    ("one time", zoom_span(TimeSpan(7, 8), TimeSpan(7, 8), 7, closer=True), (7, 8)),
]


@pytest.mark.parametrize(("name", "span", "expected"), SPANS)
def test_zoom_and_pan_stay_within_the_capture(name: str, span: TimeSpan, expected: tuple[int, int]) -> None:
    assert span == expected, name


@pytest.mark.parametrize(
    "span", [TimeSpan(DAY, DAY + 1), TimeSpan(DAY, DAY + 5 * 10**9), TimeSpan(DAY + 123_456, DAY + MS)]
)
@pytest.mark.parametrize("base", ["", "kafka", 'client == "a and b"', 'time >= "2026-11-21" and kafka'])
def test_a_brush_is_a_filter(base: str, span: TimeSpan) -> None:
    assert TimeFilter.parse(TimeFilter(base, span).text) == (base, span)
    assert TimeFilter.parse(base) == (base, None)


NO_BRUSH = [
    'time >= "2026-11-21" or time < "2026-11-22"',
    'time >= "2026-11-22" and time < "2026-11-21"',
    'time >= "yesterday" and time < "2026-11-22"',
    'time >= "2026-11-21" and time < "2026-11-22" and kafka',
]


@pytest.mark.parametrize("text", NO_BRUSH)
def test_other_filters_are_no_brush(text: str) -> None:
    assert TimeFilter.parse(text) == (text, None)


@pytest.mark.parametrize(("width", "plot"), [(120, (10, 100)), (44, (10, 24)), (43, (0, 43)), (0, (0, 0))])
def test_narrow_lines_have_no_labels(width: int, plot: tuple[int, int]) -> None:
    assert measure_plot(TimeSpan(DAY, DAY + 60 * 10**9), width) == plot
