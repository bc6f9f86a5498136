"""Bars and charts: what is there is seen, the greatest is the longest, each cell stands for what it says."""

from __future__ import annotations

from random import Random

import pytest

from analyzer.render.lines import Line, strip_styles
from analyzer.render.sparkline import BLOCKS
from tui.model.drawing import LENGTHS, MARKER, STEPS, Chart, ChartCells, draw_axis, draw_bar

BARS = [
    (0, 10, 8, ""),
    (-3, 10, 8, ""),
    (10, 10, 8, "████████"),
    (5, 10, 8, "████"),
    (1, 1000, 8, "▏"),
    (9.9, 10, 1, "█"),
    (20, 10, 3, "███"),
    (3, 16, 2, "▍"),
    (5, 0, 8, ""),
    (5, 10, 0, ""),
]


@pytest.mark.parametrize(("value", "most", "width", "wanted"), BARS)
def test_bars(value: float, most: float, width: int, wanted: str) -> None:
    assert draw_bar(value, most, width) == wanted


def test_a_longer_bar_is_never_of_less() -> None:
    for width in (1, 7, 40):
        lengths = [
            8 * len(found) - (8 - LENGTHS.index(found[-1]))
            for found in (draw_bar(n, 500, width) for n in range(1, 501))
        ]
        assert lengths == sorted(lengths)
        assert (lengths[0], lengths[-1]) == (max(1, round(width * 8 / 500)), width * 8)


@pytest.mark.parametrize("intervals", [1, 2, 3, 44, 60, 61, 240, 959])
@pytest.mark.parametrize("count", [1, 2, 43, 60, 76, 190])
def test_each_interval_has_a_cell_that_stands_for_it(intervals: int, count: int) -> None:
    cells = ChartCells(intervals, count)
    seen = [0] * intervals
    for cell in range(count):
        first, end = cells.get_intervals(cell)
        assert 0 <= first < end <= intervals
        for interval in range(first, end):
            seen[interval] += 1
    assert all(seen)
    for interval in range(intervals):
        first, end = cells.get_cells(interval)
        assert 0 <= first < end <= count
        for cell in range(first, end):
            begin, stop = cells.get_intervals(cell)
            assert begin <= interval < stop


def heights(lines: list[Line], other: int) -> list[int]:
    texts = [strip_styles(line)[other:] for line in lines]
    return [sum(BLOCKS.index(text[at]) for text in texts) for at in range(len(texts[0]))]


def test_columns_are_as_high_as_their_values() -> None:
    values = [Random(1).random() * 1e6 for _ in range(60)] + [0.0, 1e6, 1e-6]
    chart = Chart("of each", values, lambda value: f"{value:.0f}")
    for height in (1, 3, 8):
        title, *lines = chart.draw(chart.margin + len(values), height)
        assert strip_styles(title) == "of each"
        assert len(lines) == height
        assert {len(strip_styles(line)) for line in lines} == {chart.margin + len(values)}
        found = heights(lines, chart.margin)
        for value, tall in zip(values, found, strict=True):
            assert (tall - 1) / (STEPS * height) < value / 1e6 + 1e-9
            assert value / 1e6 <= tall / (STEPS * height) + 1e-9
            assert bool(tall) is bool(value)
    assert strip_styles(lines[0]).startswith("1000000┤")
    assert strip_styles(lines[-1]).startswith("      0┤")


def test_where_there_are_more_values_than_cells_the_greatest_is_seen() -> None:
    values = [1.0] * 500
    values[321] = 8.0
    chart = Chart("", values, str)
    _, line = chart.draw(chart.margin + 50, 1)
    found = heights([line], chart.margin)
    assert (found.count(8), found.count(1), found.index(8)) == (1, 49, 32)


def test_nothing_is_drawn_of_nothing() -> None:
    for values in ([0.0, 0.0], [0.0]):
        chart = Chart("", values, str)
        assert {text for line in chart.draw(20, 2)[1:] for text in strip_styles(line)[chart.margin :]} == {" "}


def test_the_selected_interval_is_reported_by_a_style_and_by_a_sign() -> None:
    chart = Chart("", [1.0] * 10, lambda value: f"{value:.0f}", "name")
    _, line = chart.draw(2 + 40, 1, selected=3)
    marked = next(at for at, (style, _) in enumerate(line) if style == "partner")
    assert line[marked][1] == "████"
    assert len("".join(text for _, text in line[:marked])) == 2 + 12
    marks, output = draw_axis(chart.divide_width(42), 2, ("00", "10"), 3, "03")
    assert strip_styles(marks).index(MARKER) == 2 + 14
    assert strip_styles(output) == "  00" + " " * 9 + "  03" + " " * 23 + "10"
    marks, output = draw_axis(chart.divide_width(42), 2, ("00", "10"), None, "")
    assert MARKER not in strip_styles(marks)


@pytest.mark.parametrize("width", [1, 5, 12, 20, 21, 22, 30])
def test_labels_that_do_not_fit_are_left_out(width: int) -> None:
    chart = Chart("", [1.0] * 60, str)
    for selected in (None, 0, 30, 59):
        marks, text = draw_axis(chart.divide_width(width), chart.margin, ("00:00:00", "00:01:00"), selected, "00:00:30")
        assert len(strip_styles(marks)) == chart.margin + chart.divide_width(width).count
        assert strip_styles(text).strip().startswith("00:00:00")
