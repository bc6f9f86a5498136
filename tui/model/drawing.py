"""Draws into lines of cells: spans of an exact width, bars, and charts of block characters.

Theory. Widths are counted in cells, because a CJK character takes two. Every text of a capture goes through safe_text
here; a line that is too long is cut and ends in an ellipsis.

A cell can be filled in eight steps, upwards or to the right, so bars and columns have eight times as many lengths as
there are cells. A value above zero is always visible; zero is blank. The columns of a chart stand for equal intervals:
each interval has one or more cells, or each cell shows the maximum of several intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from rich.cells import cell_len, set_cell_size

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.render.lines import Line
from analyzer.render.sparkline import BLOCKS

Spans = Iterable[tuple[str, str]]
"""Style names, each with its text."""


def fit_spans(spans: Spans, width: int) -> list[tuple[str, str]]:
    """Cuts or pads spans to exactly `width` cells together."""
    found = []
    left = width
    for name, text in spans:
        if left <= 0:
            break
        safe = safe_text(text, left + 1)
        cells = cell_len(safe)
        if cells > left:
            safe, cells = cut_text(safe, left), left
        found.append((name, safe))
        left -= cells
    if left > 0:
        found.append(("", " " * left))
    return found


def cut_text(text: str, width: int) -> str:
    """Cuts or pads a text to exactly `width` cells; a longer text ends in an ellipsis."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(width - 1, 0)) + ELLIPSIS * (width > 0)


LENGTHS = " ▏▎▍▌▋▊▉█"
STEPS = len(LENGTHS) - 1

FULL, MARKER, FLOOR, EDGE = "█", "▲", "─", "┤"
"""A full cell, the marker of the selected column, and the lines below and beside the columns."""

_ALMOST = 1e-9
"""The tolerance of rounding."""


def draw_bar(value: float, most: float, width: int) -> str:
    """Draws a bar to the right: `most` has a length of `width` cells, and no bar is longer."""
    if value <= 0 or most <= 0 or width <= 0:
        return ""
    steps = min(max(round(value * width * STEPS / most), 1), width * STEPS)
    whole, part = divmod(steps, STEPS)
    return FULL * whole + LENGTHS[part].strip()


@dataclass(frozen=True, slots=True)
class Chart:
    """Values over time, one for each of n equal intervals, none below 0.

    show: formats a value. style: the style of the columns.
    """

    title: str
    values: Sequence[float]
    show: Callable[[float], str]
    style: str = "name"

    @property
    def maximum(self) -> float:
        """The greatest value of the chart, to which its axis is scaled; 0 without values."""
        return max(self.values, default=0)

    @property
    def margin(self) -> int:
        """The number of cells left of the columns."""
        return len(self.show(self.maximum)) + 1

    def divide_width(self, width: int, least_margin: int = 0) -> ChartCells:
        """Divides a line of `width` cells into columns, `least_margin` or more cells right of the edge."""
        return ChartCells(len(self.values), max(width - max(least_margin, self.margin), 1))

    def draw(self, width: int, height: int, selected: int | None = None, least_margin: int = 0) -> list[Line]:
        """Draws the title and `height` lines of columns; the interval `selected` has another style."""
        cells, most, least_margin = self.divide_width(width, least_margin), self.maximum, max(least_margin, self.margin)
        tall = [max(self.values[first:end]) for first, end in map(cells.get_intervals, range(cells.count))]
        steps = [max(ceil(value * STEPS * height / most - _ALMOST), 1) if value > 0 else 0 for value in tall]
        here = (0, 0) if selected is None else cells.get_cells(selected)
        found: list[Line] = [(("title", self.title),)]
        for line in range(height):
            floor = STEPS * (height - 1 - line)
            signs = "".join(BLOCKS[min(max(each - floor, 0), STEPS)] for each in steps)
            label = self.show(most) if not line else "0" if line == height - 1 else ""
            found.append((("dim", f"{label:>{least_margin - 1}}{EDGE}"), *_style_cells(signs, here, self.style)))
        return found


@dataclass(frozen=True, slots=True)
class ChartCells:
    """n intervals in `count` cells: an interval has one or more cells, or a cell has several intervals."""

    intervals: int
    count: int

    def get_intervals(self, cell: int) -> tuple[int, int]:
        """Returns the range of intervals of a cell."""
        first = cell * self.intervals // self.count
        return first, max((cell + 1) * self.intervals // self.count, first + 1)

    def get_cells(self, interval: int) -> tuple[int, int]:
        """Returns the range of cells of an interval."""
        if self.intervals > self.count:
            cell = ((interval + 1) * self.count - 1) // self.intervals
            return cell, cell + 1
        first, end = (-(-each * self.count // self.intervals) for each in (interval, interval + 1))
        return first, end


def draw_axis(
    cells: ChartCells, least_margin: int, ends: tuple[str, str], selected: int | None, between_ends: str
) -> list[Line]:
    """Draws the axis: a marker at the selected interval, the two ends, and a text at the marker."""
    here = (0, 0) if selected is None else cells.get_cells(selected)
    middle = (here[0] + here[1]) // 2
    marks = FLOOR * cells.count
    if selected is not None:
        marks = marks[:middle] + MARKER + marks[middle + 1 :]
    first, last = ends
    available = max(cells.count - len(first) - len(last), 1)
    at = min(max(middle - len(first) - len(between_ends) // 2, 1), available - len(between_ends) - 1)
    is_end = between_ends in ends  # it stands there already
    between = f"{' ' * at}{between_ends}" if len(between_ends) + 2 <= available and not is_end else ""
    blank = " " * least_margin
    return [
        (("dim", blank), *_style_cells(marks, here, "dim")),
        (("dim", blank + first), ("partner", f"{between:<{available}}"), ("dim", last)),
    ]


def _style_cells(signs: str, here: tuple[int, int], style: str) -> Line:
    """Splits a line of columns into spans; the cells `here` have another style."""
    first, end = here
    return ((style, signs[:first]), ("partner", signs[first:end]), (style, signs[end:]))
