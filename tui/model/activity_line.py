"""The time line: the rate of messages as columns of dots, latencies as colours, errors and events as signs.

Theory. An interval is one dot wide. A cell has the colour of its slowest interval, compared with the median of all
intervals, so the colours say where a capture is slower than itself. In one line the highest dot of a cell is kept for
errors and events replace the cell, and three dots show the square root of the rate; three lines have a line for signs,
and eight dots in proportion to the rate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.columns.values import format_iso_time
from analyzer.insight.activity import Activity, TimeSpan
from analyzer.render.amounts import format_rate
from analyzer.render.lines import Line
from tui.model.braille import ACROSS, DOWN, BrailleCanvas

SLOW, VERY_SLOW = 4, 16
"""How many times slower than the median interval an interval is that gets the colours of slow ones."""

LEAST_SLOW = 1_000_000
"""Latencies up to this one (ns) are never slow."""

CALM, IDLE, WARM, HOT, ERROR = "text", "dim", "warning", "masked", "error"
"""Styles of cells: answered at the usual speed, without answers, slow, very slow, with errors."""

EVENT_SIGN, GAP_SIGN, ERROR_SIGN = "◆", "░", "!"
EVENT_STYLE, GAP_STYLE = "partner", "warning"
WINDOW, BRUSH = "cursor", "highlight"
"""The overlays of the list's window, and of the brushed span."""

LEAST_WIDTH = 24
"""Cells below which the line has no labels."""

SECOND = 10**9


class Marks(NamedTuple):
    """Times (ns since 1970) of what is marked on the time line."""

    errors: Ints
    gaps: Ints
    events: Ints


NO_MARKS = Marks(*(np.zeros(0, np.int64),) * 3)


class ActivityLines(NamedTuple):
    """The lines, and the cells that stand for the span: from `left`, `width` of them."""

    lines: Sequence[Line]
    left: int
    width: int


def find_labels(span: TimeSpan) -> tuple[str, str]:
    """Returns the texts of the two ends of a span, as precise as its length asks for."""
    digits = 0 if span.length > 20 * SECOND else 3 if span.length > SECOND // 50 else 6
    stop = 20 + digits if digits else 19
    first, last = (format_iso_time(time)[:stop] for time in (span.first, max(span.end - 1, span.first)))
    begin = 11 if first[:10] == last[:10] else 5
    return f" {first[begin:].replace('T', ' ')} ", f" {last[begin:].replace('T', ' ')} "


def measure_plot(span: TimeSpan, width: int) -> tuple[int, int]:
    """Returns where the cells of the span begin on a line of `width` cells, and how many there are."""
    first, last = find_labels(span)
    if width < len(first) + len(last) + LEAST_WIDTH:
        return 0, width
    return len(first), width - len(first) - len(last)


def draw_activity(activity: Activity, marks: Marks, width: int, height: int) -> ActivityLines:
    """Draws the line, or three lines, of an Activity that has at most two intervals for each cell of the plot."""
    left, across = measure_plot(activity.span, width)
    slots = across * ACROSS
    places = np.arange(len(activity.messages)) * slots // max(len(activity.messages), 1)
    errors, gaps, events = (_count_cells(activity, times, places, across) for times in marks)
    plot_height = height if height == 1 else height - 1
    tall = plot_height * DOWN - (height == 1)
    canvas = BrailleCanvas(across, plot_height)
    counts = activity.messages if height > 1 else np.ceil(np.sqrt(activity.messages)).astype(np.int64)
    canvas.draw_columns(_spread(_scale(counts, tall), places, slots))
    if height == 1:
        canvas.dots[0, :] = np.repeat(errors > 0, ACROSS)
    texts = canvas.make_lines()
    styles = np.where(errors > 0, ERROR, _choose_styles(activity, places, across)).tolist()
    first, last = find_labels(activity.span) if left else ("", "")
    peak = int(activity.messages.max(initial=0)) * SECOND / activity.length
    if height == 1:
        line = _join_cells(_put_signs(texts[0], events, gaps, ""), styles, events, gaps)
        return ActivityLines([(("dim", first), *line, ("dim", last))], left, across)
    signs = _put_signs(" " * across, events, gaps, np.where(errors > 0, ERROR_SIGN, " ").tolist())
    most = f" {format_rate(peak)}/s"
    rows = [
        (("dim", " " * left), *_join_cells(signs, [ERROR] * across, events, gaps)),
        (("dim", " " * left), *_join_cells(texts[0], styles), ("dim", most if len(most) <= len(last) else "")),
        (("dim", first), *_join_cells(texts[1], styles), ("dim", last)),
    ]
    return ActivityLines(rows, left, across)


def _scale(counts: Ints, tall: int) -> Ints:
    most = int(counts.max(initial=0))
    return -(-counts * tall // most) if most else counts


def _spread(heights: Ints, places: Ints, slots: int) -> Ints:
    """Heights of intervals as heights of dots; an interval that is wider than a dot fills all of its dots."""
    if not len(places):
        return np.zeros(slots, np.int64)
    return heights[np.searchsorted(places, np.arange(slots), "right") - 1]


def _count_cells(activity: Activity, times: Ints, places: Ints, across: int) -> Ints:
    """How many of the times are in each cell."""
    return np.bincount(places // ACROSS, activity.count_times(times), across).astype(np.int64)


def _choose_styles(activity: Activity, places: Ints, across: int) -> list[str]:
    slow = activity.percentile(990)
    there = slow[slow > 0]
    usual = max(int(np.median(there)), LEAST_SLOW // SLOW) if len(there) else 0
    worst = np.zeros(across, np.int64)
    np.maximum.at(worst, places // ACROSS, slow)
    levels = (worst > 0).astype(int) + (worst > SLOW * usual) + (worst > VERY_SLOW * usual)
    cells = np.flatnonzero(np.bincount(places // ACROSS, minlength=across) == 0)  # wide intervals fill several cells
    if len(cells) and len(places):
        levels[cells] = levels[np.maximum(np.searchsorted(places // ACROSS, cells, "right") - 1, 0)]
    return [(IDLE, CALM, WARM, HOT)[level] for level in levels.tolist()]


def _put_signs(text: str, events: Ints, gaps: Ints, others: Sequence[str]) -> str:
    base = others or text
    return "".join(
        EVENT_SIGN if event else GAP_SIGN if gap else sign
        for event, gap, sign in zip(events.tolist(), gaps.tolist(), base, strict=True)
    )


def _join_cells(text: str, styles: Sequence[str], events: Ints | None = None, gaps: Ints | None = None) -> Line:
    """Joins cells of one style to spans."""
    spans: list[tuple[str, str]] = []
    for place, (sign, style) in enumerate(zip(text, styles, strict=True)):
        if events is not None and events[place]:
            style = EVENT_STYLE
        elif gaps is not None and gaps[place]:
            style = GAP_STYLE
        if spans and spans[-1][0] == style:
            spans[-1] = style, spans[-1][1] + sign
        else:
            spans.append((style, sign))
    return tuple(spans)


def find_cells(span: TimeSpan, part: TimeSpan, left: int, width: int) -> tuple[int, int] | None:
    """Returns the cells of a part of a span, the first and the one behind the last; None outside."""
    first, end = max(part.first, span.first), min(part.end, span.end)
    if first >= end or not width:
        return None
    begin = (first - span.first) * width // span.length
    return left + begin, left + max((end - 1 - span.first) * width // span.length + 1, begin + 1)


def find_time(span: TimeSpan, cell: int, left: int, width: int) -> int:
    """Returns the time (ns since 1970) at which a cell begins; beside the plot that of its ends."""
    return span.first + span.length * max(0, min(cell - left, width)) // max(width, 1)


def zoom_span(whole: TimeSpan, span: TimeSpan, around: int, *, closer: bool) -> TimeSpan:
    """Returns a span of half or twice the length around a time, within the whole span."""
    length = max(span.length // 2, 1) if closer else min(span.length * 2, whole.length)
    return pan_span(whole, TimeSpan(around - length // 2, around - length // 2 + length), 0)


def pan_span(whole: TimeSpan, span: TimeSpan, by: int) -> TimeSpan:
    """Returns a span moved by some ns, as far as the whole span reaches."""
    length = min(span.length, whole.length)
    first = max(whole.first, min(span.first + by, whole.end - length))
    return TimeSpan(first, first + length)


_TIMES = re.compile(r'(?:^|(?P<base>.*) and )time >= "(?P<first>[^"]*)" and time < "(?P<end>[^"]*)"$', re.DOTALL)


class TimeFilter(NamedTuple):
    """A filter and the span of time at its end: what the time line brushes, as an ordinary filter."""

    base: str
    span: TimeSpan | None

    @classmethod
    def parse(cls, text: str) -> TimeFilter:
        """Splits the text of a filter; without a span at its end all of it is the base."""
        found = _TIMES.match(text)
        if found is None:
            return cls(text, None)
        from analyzer.query.filter.literals import parse_time  # only who filters on time pays for it

        first, end = parse_time(found["first"]), parse_time(found["end"])
        if first is None or end is None or end <= first:
            return cls(text, None)
        return cls(found["base"] or "", TimeSpan(first, end))

    @property
    def text(self) -> str:
        """The text of the whole filter; empty: all messages."""
        from tui.model.leads import combine_filters, write_time_range

        return self.base if self.span is None else combine_filters(self.base, write_time_range(*self.span))


def find_visible_span(times: Ints) -> TimeSpan | None:
    """Returns the span of the times of the list's visible rows; None without any."""
    return TimeSpan(int(times.min()), int(times.max()) + 1) if len(times) else None
