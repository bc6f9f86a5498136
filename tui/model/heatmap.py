"""The heatmap of latencies: a line for each range of latencies, a cell for each interval, coloured by the count.

Theory. Ranges double from one to the next and begin at round durations (ROUND), so the lines are a logarithmic axis; on
a high screen each is divided into equal parts. The table of counts is made once at each scale, with the finest ranges,
and neighbours are added up as needed. An interval is a cell wide at least, so that a cell has exactly the answers of
one filter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.insight.grouping import TIME
from analyzer.insight.percentiles import ROUND
from analyzer.insight.statistics import Study
from analyzer.render.amounts import format_count, format_counted
from analyzer.render.durations import format_duration
from analyzer.render.lines import Line
from tui.model.graph_files import write_heatmap
from tui.model.latency_and_rate import BOUNDS_WIDTH, format_bounds
from tui.model.leads import FilterLead, write_latency_range, write_time_range
from tui.model.time_axis import PlotPlace, TimeAxis, choose_scale
from tui.model.views import TextView, ViewHeads, ViewLine, ViewState

SCALES = (30, 60, 90, 120, 180)
"""The number of intervals at most, for each scale."""

PARTS = 4
"""The finest ranges between two bounds of ROUND."""

LEFT, RIGHT = BOUNDS_WIDTH + 4, 9
"""The cells left of the plot, for a range, and right of it, for its count."""

SHADES = ((" ", ""), ("░", "name"), ("▒", "name"), ("▓", "note"), ("█", "text"), ("█", "warning"))
"""Sign and style by level: none, and five of rising counts."""

CHART_LINES = 3
"""The lines above the heatmap: what is selected, and the axis."""


def make_edges() -> Ints:
    """Returns the bounds of the finest ranges: those of ROUND, each range divided into PARTS."""
    low, high = ROUND[:-2], ROUND[1:-1]
    parts = low[:, None] + (high - low)[:, None] * np.arange(PARTS) // PARTS
    return np.concatenate((parts.ravel(), ROUND[-2:]))


EDGES = make_edges()


@dataclass(frozen=True, slots=True)
class Heat:
    """Answers by interval and by range of EDGES: counts of shape (ranges, intervals)."""

    axis: TimeAxis
    counts: Ints


def measure_heat(study: Study) -> list[Heat]:
    """Counts the answers of a study by time and latency, at all scales that differ; none without a latency."""
    found: list[Heat] = []
    for most in SCALES if len(study.facts.timed) else ():
        scale = study.in_intervals(most)
        length = scale.intervals.length
        if found and length >= found[-1].axis.length:
            continue
        grouped = scale.group_rows((TIME,))
        counts = scale.latencies(grouped, EDGES)
        wide = np.zeros((len(EDGES), len(counts)), np.int64)
        wide[: counts.shape[1]] = counts.T
        found.append(Heat(TimeAxis([begin for (begin,) in grouped.labels], length), wide))
    return found


@dataclass(frozen=True, slots=True)
class Ranges:
    """The visible ranges, the longest latencies first. bounds: of each (ns). counts: shape (ranges, intervals).

    is_coarsest: there are no wider ones.
    """

    bounds: Sequence[tuple[int, int]]
    counts: Ints
    is_coarsest: bool


def _sum_ranges(heat: Heat, parts: int) -> Ranges:
    """Adds up the finest ranges to those that are visible."""
    first = np.searchsorted(EDGES, ROUND)
    at = list_distinct(
        np.concatenate([first, *(first[:-1] + (np.diff(first) * part) // parts for part in range(1, parts))])
    )
    counts = np.add.reduceat(heat.counts, at, axis=0)
    there = np.flatnonzero(counts.any(axis=1))
    low, high = int(there[0]), int(there[-1]) + 1
    edges = EDGES[at].tolist()
    bounds = [(edges[place], edges[place + 1]) for place in range(high - 1, low - 1, -1)]
    return Ranges(bounds, counts[low:high][::-1], parts == 1)


class HeatmapView(TextView):
    """The heatmap; a line leads to its cell in the selected times, or to all its answers."""

    def __init__(self, name: str, heats: Sequence[Heat]) -> None:
        super().__init__(name, "" if heats else "no answer has a request here, so none has a latency")
        self._heats = heats
        self.zooms = max(len(heats) - 1, 0)

    def _choose_ranges(self, heat: Heat, state: ViewState) -> Ranges:
        """Divides the ranges of ROUND into so many lines that all fit into the height."""
        found = (_sum_ranges(heat, parts) for parts in (PARTS, 2, 1))
        return next(each for each in found if each.is_coarsest or len(each.bounds) <= state.height - CHART_LINES)

    def locate(self, width: int, state: ViewState) -> PlotPlace | None:
        """Returns where the intervals are on a line of `width` cells."""
        if not self._heats:
            return None
        heat = self._get_heat(width, state)
        return PlotPlace(heat.axis, LEFT, max(width - LEFT - RIGHT, 1))

    def _get_heat(self, width: int, state: ViewState) -> Heat:
        return choose_scale(self._heats, [len(each.axis.begins) for each in self._heats], width - LEFT - RIGHT, state)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns a line for each range."""
        place = self.locate(width, state)
        if place is None:
            return super().make_lines(width, state)
        heat = self._get_heat(width, state)
        ranges = self._choose_ranges(heat, state)
        dots = place.dots
        at = [dots.get_intervals(cell)[0] for cell in range(place.cells)]
        levels = find_levels(ranges.counts)[:, at].tolist()
        chosen = None if state.times is None else heat.axis.find_intervals(state.times)
        return [self._make_line(ranges, line, levels[line], heat.axis, chosen) for line in range(len(ranges.bounds))]

    def _make_line(
        self,
        ranges: Ranges,
        line: int,
        levels: Sequence[int],
        axis: TimeAxis,
        chosen: tuple[int, int] | None,
    ) -> ViewLine:
        low, high = ranges.bounds[line]
        label = f"{format_bounds(low, high):>{LEFT - 2}} │"
        total = int(ranges.counts[line].sum())
        many, condition = total, write_latency_range(low, high)
        if chosen is not None:
            many = int(ranges.counts[line, chosen[0] : chosen[1]].sum())
            condition += f" and {write_time_range(*axis.get_span(*chosen))}"
        spans = (("dim", label), *_shade(levels), ("value", f"{format_count(total):>{RIGHT}}"))
        return ViewLine(spans, FilterLead(condition) if many else None, (low, high))

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of a range of latencies, or the nearest one."""
        if not isinstance(key, tuple) or not self._heats:
            return None
        return min(range(len(lines)), key=lambda place: abs(_get_low(lines[place]) - key[0]), default=None)

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns no titles: the axis is above the lines."""
        return ()

    def make_chart(self, width: int, height: int, state: ViewState, key: Hashable) -> Sequence[Line]:
        """Returns what is selected, and the time axis."""
        place = self.locate(width, state)
        if place is None or height < 2 * CHART_LINES:
            return ()
        return [self._make_title(width, state, key), *place.times.draw(place.cells, LEFT, above=True)]

    def write_svg(self, width: int, state: ViewState) -> str:
        """Writes the heatmap as a picture. width: of the page, in cells, from which the scale follows."""
        heat = self._get_heat(width, state)
        ranges = self._choose_ranges(heat, state)
        levels = find_levels(ranges.counts).tolist()
        return write_heatmap("latencies of answers", ranges.bounds, levels, len(SHADES) - 1, heat.axis)

    def _make_title(self, width: int, state: ViewState, key: Hashable) -> Line:
        heat = self._get_heat(width, state)
        if not isinstance(key, tuple):
            return ()
        ranges = self._choose_ranges(heat, state)
        line = ranges.bounds.index(key) if key in ranges.bounds else None
        mine = ranges.counts[[] if line is None else [line]]
        when = f", each {format_duration(heat.axis.length)}"
        if state.times is not None:
            chosen = heat.axis.find_intervals(state.times)
            mine = mine[:, chosen[0] : chosen[1]]
            when = f", {heat.axis.format_span(heat.axis.get_span(*chosen))}"
        many = format_counted(int(mine.sum()), "answer")
        return (("partner", f" {many} {_join_bounds(key)}"), ("dim", when))


def _join_bounds(key: tuple[int, int]) -> str:
    text = format_bounds(*key)
    return text if text.startswith("below") else f"from {text}"


def _get_low(item: ViewLine) -> int:
    return item.key[0] if isinstance(item.key, tuple) else 0


def find_levels(counts: Ints) -> Ints:
    """Returns the level of each count in SHADES: 0 for none, then by the logarithm."""
    most = max(int(counts.max(initial=1)), 2)
    steps = len(SHADES) - 2
    share = np.log(np.maximum(counts, 1)) / np.log(most)
    found: Ints = np.where(counts > 0, 1 + np.rint(share * steps), 0).astype(np.int64)
    return found


def _shade(levels: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yields the cells as spans."""
    for level, group in groupby(levels):
        sign, style = SHADES[level]
        yield style, sign * len(list(group))
