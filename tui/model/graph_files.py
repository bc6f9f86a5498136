"""Graphs and the heatmap as SVG pictures: axes with their units, lines with a legend, cells with their counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Floats
from analyzer.columns.text import safe_text
from analyzer.render.svg import cut, write_document, write_text
from tui.model.latency_and_rate import format_bounds
from tui.model.plot import ValueAxis
from tui.model.time_axis import TimeAxis

WIDTH, HEIGHT = 900, 320
"""The pixels of the plot."""

LEFT, TOP, BELOW, LEGEND, LINE = 150, 40, 60, 260, 18
"""The pixels around the plot, of the legend beside it, and of a line of text."""

LONGEST, TICK_CELLS = 34, 90
"""The characters of a name in the legend, and the cells for which clock times are chosen."""

HEIGHTS = 10_000
"""The heights that are told apart."""

COLOURS = ("#1a54ad", "#2f6616", "#b45309", "#7636a8", "#0b5f77", "#b00f34")
ALL_COLOUR, HEAT_COLOUR = "#59606b", "#1a54ad"

STYLE = (
    "text{font:12px monospace;fill:#20262e}.title{font-weight:bold}.axis{stroke:#8b93a3}.tick{fill:#59606b}"
    ".grid{stroke:#e6eaf0}polyline{fill:none;stroke-width:1.5}"
)


class SavedLine(NamedTuple):
    """A line with its name; is_all: it stands for all messages."""

    name: str
    values: Floats
    is_all: bool


def write_graph(title: str, lines: Sequence[SavedLine], axis: ValueAxis, times: TimeAxis) -> str:
    """Writes lines over time as SVG."""
    height = max(TOP + HEIGHT + BELOW, TOP + LINE * (len(lines) + 1))
    return write_document(LEFT + WIDTH + LEGEND, height, STYLE, _list_graph(title, lines, axis, times))


def _list_graph(title: str, lines: Sequence[SavedLine], axis: ValueAxis, times: TimeAxis) -> Iterator[str]:
    yield write_text(8, LINE, safe_text(title), "title")
    ticks = axis.find_heights(np.array(axis.ticks, np.float64), HEIGHTS).tolist()
    for tick, tall in zip(axis.ticks, ticks, strict=True):
        y = TOP + HEIGHT * (1 - tall / (HEIGHTS - 1))
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}"/>'
        yield write_text(LEFT - 8, round(y + 4), axis.show(tick), "tick", "end")
    yield from _list_clocks(times, TOP + HEIGHT)
    xs = LEFT + WIDTH * (np.arange(len(times.begins)) + 0.5) / len(times.begins)
    for place, line in enumerate(lines):
        colour = ALL_COLOUR if line.is_all else COLOURS[place % len(COLOURS)]
        yield from _list_curve(xs, axis.find_heights(line.values, HEIGHTS).astype(np.float64), colour)
        y = TOP + LINE * (place + 1)
        x = LEFT + WIDTH + 12
        yield f'<line x1="{x}" y1="{y - 4}" x2="{x + 18}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>'
        yield write_text(x + 24, y, cut(safe_text(line.name), LONGEST))


def _list_curve(xs: Floats, heights: Floats, colour: str) -> Iterator[str]:
    """Yields a polyline for each run of intervals that have a value."""
    ys = TOP + HEIGHT * (1 - heights / (HEIGHTS - 1))
    ends = [-1, *np.flatnonzero(heights < 0).tolist(), len(heights)]
    for before, after in pairwise(ends):
        if after - before > 1:
            points = " ".join(f"{xs[at]:.1f},{ys[at]:.1f}" for at in range(before + 1, after))
            if after - before == 2:
                yield f'<circle cx="{xs[before + 1]:.1f}" cy="{ys[before + 1]:.1f}" r="1.5" fill="{colour}"/>'
            else:
                yield f'<polyline points="{points}" stroke="{colour}"/>'


def _list_clocks(times: TimeAxis, y: int) -> Iterator[str]:
    yield f'<line class="axis" x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}"/>'
    for cell, text in times.list_ticks(TICK_CELLS):
        x = LEFT + WIDTH * cell / TICK_CELLS
        yield f'<line class="axis" x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}"/>'
        yield write_text(round(x), y + 20, text, "tick", "middle")


def write_heatmap(title: str, bounds: Sequence[tuple[int, int]], levels: Sequence[Sequence[int]], most: int,
                  times: TimeAxis) -> str:  # fmt: skip
    """Writes cells as SVG. bounds: of the latencies of each line, ns. levels: of each cell, from 0 to `most`."""
    tall = LINE * len(bounds)

    def list_cells() -> Iterator[str]:
        yield write_text(8, LINE, safe_text(title), "title")
        wide = WIDTH / len(times.begins)
        for line, (low, high) in enumerate(bounds):
            y = TOP + LINE * line
            yield write_text(LEFT - 8, y + 13, format_bounds(low, high), "tick", "end")
            for at in np.flatnonzero(levels[line]).tolist():
                share = levels[line][at] / most
                yield (
                    f'<rect x="{LEFT + wide * at:.1f}" y="{y}" width="{wide:.1f}" height="{LINE}" '
                    f'fill="{HEAT_COLOUR}" fill-opacity="{share:.2f}"/>'
                )
        yield from _list_clocks(times, TOP + tall)

    return write_document(LEFT + WIDTH + LINE, TOP + tall + BELOW, STYLE, list_cells())
