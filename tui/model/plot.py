"""Plots of several lines over time in Braille dots, with ticks in the units of both axes.

Theory. An interval is one or more dots wide; if there are more intervals than dots, a dot shows the greatest of its
intervals. A cell has one colour: that of the selected line if it has a dot there, else that of the last line drawn. The
top of a linear axis is a round number; a logarithmic axis reaches from a power of ten to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Floats, Ints
from analyzer.render.lines import Line
from tui.model.braille import DOWN, SIGNS, BrailleCanvas
from tui.model.drawing import ChartCells
from tui.model.time_axis import PlotPlace

LINES_PER_TICK = 3
"""The lines of an axis from a tick to the next, about."""

NICE = (1, 2, 2.5, 5, 10)


class PlotLine(NamedTuple):
    """A line: a value for each interval, NaN for none, and its style."""

    values: Floats
    style: str


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """An axis from `low` to `high`.

    show: formats a tick. is_log: equal distances are equal factors, and `low` is above 0.
    """

    low: float
    high: float
    ticks: Sequence[float]
    show: Callable[[float], str]
    is_log: bool = False

    @property
    def margin(self) -> int:
        """The number of cells left of the plot."""
        return max((len(self.show(tick)) for tick in self.ticks), default=0) + 1

    def find_heights(self, values: Floats, dots: int) -> Ints:
        """Returns the height of each value in dots, from 0; -1 for NaN."""
        there = np.isfinite(values)
        known = np.where(there, values, self.low)
        share = (
            np.log(np.maximum(known, self.low) / self.low) / np.log(self.high / self.low)
            if self.is_log
            else (known - self.low) / (self.high - self.low)
        )
        found: Ints = np.where(there, np.rint(np.clip(share, 0, 1) * (dots - 1)), -1).astype(np.int64)
        return found


def make_axis(most: float, show: Callable[[float], str], height: int, unit: float = 1.0) -> ValueAxis:
    """Makes the linear axis for values from 0 to `most`, on `height` lines; ticks are round numbers of `unit`."""
    most = most / unit if most > 0 else 1.0
    count = max(height // LINES_PER_TICK, 1)
    power = 10.0 ** floor(log10(most / count))
    step = next(nice * power for nice in NICE if most / count <= nice * power * (1 + 1e-9))
    top = ceil(most / step - 1e-9)
    return ValueAxis(0, top * step * unit, [tick * step * unit for tick in range(top + 1)], show)


def make_log_axis(least: float, most: float, show: Callable[[float], str], height: int) -> ValueAxis:
    """Makes the logarithmic axis for values above 0."""
    first = floor(log10(least))
    last = max(ceil(log10(most) - 1e-9), first + 1)
    step = max(ceil((last - first) * 2 / max(height, 1)), 1)
    return ValueAxis(10.0**first, 10.0**last, [10.0**power for power in range(first, last + 1, step)], show, True)


def draw_plot(
    lines: Sequence[PlotLine], selected: int | None, axis: ValueAxis, place: PlotPlace, height: int
) -> list[Line]:
    """Draws lines with `height` lines of cells, and the two lines of the time axis. selected: a line that is on top."""
    cells, wide, margin = place.dots, place.cells, place.left
    at = np.array([cells.get_intervals(cell) for cell in range(cells.count)])
    bits, styles = np.zeros((height, wide), np.int64), np.full((height, wide), -1)
    order = [each for each in range(len(lines)) if each != selected]
    for each in [*order, *([] if selected is None else [selected])]:
        canvas = BrailleCanvas(wide, height)
        canvas.draw_curve(axis.find_heights(_spread(lines[each].values, at[:, 0], cells), height * DOWN))
        mine = canvas.make_cells()
        bits |= mine
        styles[mine > 0] = each
    labels = _place_labels(axis, height)
    found: list[Line] = []
    for y in range(height):
        label = labels.get(y, "")
        edge = "┤" if label else "│"
        found.append((("dim", f"{label:>{margin - 1}}{edge}"), *_join_runs(bits[y], styles[y], lines)))
    return [*found, *place.times.draw(wide, margin)]


def _spread(values: Floats, begins: Ints, cells: ChartCells) -> Floats:
    """Values of intervals as values of dots, of which each begins at an interval."""
    if cells.intervals <= cells.count:
        return values[begins]
    found: Floats = np.maximum.reduceat(np.where(np.isnan(values), -np.inf, values), begins)
    found[np.isneginf(found)] = np.nan
    return found


def _place_labels(axis: ValueAxis, height: int) -> dict[int, str]:
    heights = axis.find_heights(np.array(axis.ticks, np.float64), height * DOWN).tolist()
    return {height - 1 - tall // DOWN: axis.show(tick) for tick, tall in zip(axis.ticks, heights, strict=True)}


def _join_runs(bits: Ints, places: Ints, lines: Sequence[PlotLine]) -> Iterator[tuple[str, str]]:
    """Joins the cells of a line of the screen to spans of one style; an empty cell goes on in the style before it.

    bits: of each cell. places: of the line that gives a cell its style, -1 for none.
    """
    text = "".join([SIGNS[dots] for dots in bits.tolist()])
    drawn = np.flatnonzero(places >= 0)
    begins = drawn[np.flatnonzero(np.diff(places[drawn], prepend=-1))].tolist()
    yield "dim", text[: begins[0]] if begins else text
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True) if begins else ():
        yield lines[int(places[begin])].style, text[begin:end]
