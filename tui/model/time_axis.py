"""The axis of clock times beneath a plot, and which cells of the plot stand for which times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from analyzer.insight.activity import TimeSpan
from analyzer.insight.grouping import SECOND, Intervals
from analyzer.render.lines import Line
from tui.model.drawing import ChartCells
from tui.model.views import ViewState, format_clocks

CLOCK_WIDTH, CLOCK_GAP = 8, 2
"""The cells of the shortest clock time, and those between two clock times at least."""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Equal intervals that begin at `begins` (ns since 1970), each `length` ns long; there is at least one."""

    begins: Sequence[int]
    length: int

    @property
    def span(self) -> TimeSpan:
        """All times of the axis."""
        return TimeSpan(self.begins[0], self.begins[-1] + self.length)

    def find_intervals(self, times: TimeSpan) -> tuple[int, int]:
        """Returns the first interval of a span and the one behind the last; at least one."""
        first, last = ((time - self.begins[0]) // self.length for time in (times.first, times.end - 1))
        first = min(max(first, 0), len(self.begins) - 1)
        return first, min(max(last, first), len(self.begins) - 1) + 1

    def get_span(self, first: int, end: int) -> TimeSpan:
        """Returns the times of some intervals."""
        return TimeSpan(self.begins[first], self.begins[end - 1] + self.length)

    def format_span(self, times: TimeSpan) -> str:
        """Formats a span as two clock times, as precise as the intervals."""
        return " to ".join(format_clocks(times, count_digits(self.length)))

    def list_ticks(self, cells: int) -> list[tuple[int, str]]:
        """Returns cells and clock times of ticks that do not touch each other on an axis of `cells` cells."""
        first, end = self.span
        for many in range(max(cells // (CLOCK_WIDTH + CLOCK_GAP), 1), 0, -1):
            length = Intervals.fitting(first, end, many + 1).length
            times = list(range(-(-first // length) * length, end, length))
            texts = format_clocks(times, count_digits(length)) if times else []
            if times and len(times) * (len(texts[0]) + CLOCK_GAP) <= cells:
                return [
                    ((time - first) * cells // (end - first), text) for time, text in zip(times, texts, strict=True)
                ]
        return []

    def draw(self, cells: int, margin: int, *, above: bool = False) -> list[Line]:
        """Draws the axis with its ticks, and a line of clock times; above: for a plot beneath it."""
        marks, texts = ["─"] * cells, ""
        for place, text in self.list_ticks(cells):
            marks[place] = "┴" if above else "┬"
            at = min(max(place - len(text) // 2, 0), max(cells - len(text), 0))
            if not texts or at >= len(texts) + CLOCK_GAP:
                texts = texts.ljust(at) + text
        blank, corner = " " * (margin - 1), "┌" if above else "└"
        lines: list[Line] = [(("dim", f"{blank}{corner}{''.join(marks)}"),), (("dim", f"{blank} {texts}"),)]
        return lines[::-1] if above else lines


_Scale = TypeVar("_Scale")


def choose_scale(scales: Sequence[_Scale], counts: Sequence[int], cells: int, state: ViewState) -> _Scale:
    """Returns the finest scale that has at most an interval for each cell, or another that the user asked for.

    counts: the number of intervals of each scale, rising.
    """
    fitting = sum(count <= cells for count in counts)
    return scales[min(max(fitting - 1 + state.zoom, 0), len(scales) - 1)]


def count_digits(length: int) -> int:
    """Returns the decimals of seconds that times in steps of `length` ns need: 0, 3, 6 or 9."""
    return next((digits for digits in (0, 3, 6) if length * 10**digits % SECOND == 0), 9)


class PlotPlace(NamedTuple):
    """Where the intervals of an axis are on a line: from the cell `left`, in `cells` cells of `across` dots each."""

    times: TimeAxis
    left: int
    cells: int
    across: int = 1

    @property
    def dots(self) -> ChartCells:
        """The dots of the intervals."""
        return ChartCells(len(self.times.begins), self.cells * self.across)

    def find_cells(self, times: TimeSpan | None) -> tuple[int, int] | None:
        """Returns the cells of a span, the first and the one behind the last."""
        if times is None:
            return None
        first, end = self.times.find_intervals(times)
        dots = self.dots
        return (
            self.left + dots.get_cells(first)[0] // self.across,
            self.left + -(-dots.get_cells(end - 1)[1] // self.across),
        )

    def find_times(self, first: int, end: int) -> TimeSpan | None:
        """Returns the times of cells, the first and the one behind the last; None beside the plot."""
        first, end = max(first - self.left, 0), min(end - self.left, self.cells)
        if first >= end:
            return None
        dots = self.dots
        return self.times.get_span(
            dots.get_intervals(first * self.across)[0], dots.get_intervals(end * self.across - 1)[1]
        )

    def move(self, times: TimeSpan | None, by: int, *, extends: bool) -> TimeSpan:
        """Returns the interval before or behind a span, or a longer span; without a span the first or last interval."""
        axis, last = self.times, len(self.times.begins) - 1
        if times is None:
            at = 0 if by > 0 else last
            return axis.get_span(at, at + 1)
        first, end = axis.find_intervals(times)
        if extends:
            return axis.get_span(first, min(max(end + by, first + 1), last + 1))
        at = min(max(end - 1 + by if by > 0 else first + by, 0), last)
        return axis.get_span(at, at + 1)
