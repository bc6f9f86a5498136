"""The control of the time line: it follows the list, draws the line, and brushes a filter on time.

Theory. A brushed span is an ordinary filter at the end of the one in force, so list, statistics and findings follow by
themselves, and whoever edits the filter moves the brush. The line itself shows the messages of the filter before it, so
that a brush can grow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from textual.screen import Screen

from analyzer.insight.activity import TimeSpan
from analyzer.render.durations import format_duration
from analyzer.session import Session
from tui.model.activity_line import (
    ActivityLines,
    TimeFilter,
    draw_activity,
    find_cells,
    find_time,
    find_visible_span,
    pan_span,
    zoom_span,
)
from tui.screens.activity_meter import ActivityMeter
from tui.screens.filter_and_search import FilterControl
from tui.screens.status_bars import StatusBars
from tui.widgets.activity_bar import ActivityBar

BRUSH_PAUSE = 0.25
"""Seconds until a brush of keys is a filter."""

PAN_STEPS = 8
"""The steps in which a key pans over the width of the line."""


class ActivityControl:
    """Draws in `bar` what `meter` measures, and does what its keys and the mouse ask for. screen: has the focus."""

    def __init__(
        self, screen: Screen[None], session: Session, bar: ActivityBar, filters: FilterControl, bars: StatusBars
    ) -> None:
        self.bar = bar
        self.meter = ActivityMeter(screen, session, bar, bars, self.redraw)
        self._screen, self._session, self._timeline = screen, session, bars.timeline
        self._filters, self._bars = filters, bars
        self._filter = TimeFilter("", None)
        self._brush: TimeSpan | None = None
        self._brushes = 0
        self._drawn: ActivityLines | None = None

    # What is shown.

    def follow_list(self, *, has_other_rows: bool) -> None:
        """Follows the list: draws its window at once, and measures other rows soon."""
        if has_other_rows:
            self.update()
        else:
            self.draw()

    def update(self) -> None:
        """Measures again soon, because rows, filter or size have changed; draws the window at once."""
        in_force = self._filters.in_force
        text, before = "" if in_force is None else in_force.text, self._filter
        found = TimeFilter.parse(text)
        brushed = before._replace(span=found.span)
        if brushed.text == text:
            found = brushed  # the base without the parentheses that a brush needs
        if found.span is None:
            self.meter.base_rows = self._timeline.timeline.matches
        elif found.base != before.base:
            self.meter.base_rows = None
        self._filter = found
        self._brush = self._filter.span
        self.meter.request()
        self.redraw()

    def redraw(self) -> None:
        """Draws the line anew, because what was measured or its size has changed."""
        activity = self.meter.activity
        if activity is not None and self.bar.size.width and self.bar.height:
            self._drawn = draw_activity(activity, self.meter.marks, self.bar.size.width, self.bar.height)
            self.draw()

    def draw(self) -> None:
        """Draws the window of the list and the brush over the line."""
        activity, bar, drawn = self.meter.activity, self.bar, self._drawn
        if activity is None or drawn is None or not bar.is_placed:
            return
        place = drawn.left, drawn.width
        window = self._find_window()
        cells = None if window is None else find_cells(activity.span, window, *place)
        bar.show(drawn, cells, None if self._brush is None else find_cells(activity.span, self._brush, *place))

    def _find_window(self) -> TimeSpan | None:
        """Returns the span of the rows that are visible in the list."""
        listed = self._timeline
        rows = [place.row for place in listed.timeline.list_places(listed.top, listed.inner.height)]
        known = np.array([row for row in rows if row is not None], np.int64)
        return find_visible_span(self._session.rows.column("time")[known])

    def cycle_height(self, heights: tuple[int, ...]) -> int:
        """Takes the next of some heights, and returns it."""
        height = self.bar.height
        self.set_height(heights[(heights.index(height) + 1) % len(heights)] if height in heights else heights[0])
        return self.bar.height

    def set_height(self, height: int) -> None:
        """Sets the number of lines, and reads what more than one of them shows."""
        self.bar.height = height
        self.meter.skip_pause()
        if height > 1:
            self.meter.read_moments()

    # What keys and the mouse do.

    def brush_cells(self, cells: tuple[int, int], *, is_done: bool) -> None:
        """Brushes the span of some cells; the filter follows when it is done."""
        view, drawn = self.meter.view, self.bar.drawn
        if view is None:
            return
        first, end = (find_time(view, cell, drawn.left, drawn.width) for cell in cells)
        self._show_brush(TimeSpan(first, max(end, first + 1)))
        if is_done:
            self._apply_brush()

    def _show_brush(self, brush: TimeSpan) -> None:
        self._brush = brush
        self._bars.show_message(f"{format_duration(brush.length)} brushed; Esc shows all times again")
        self.draw()

    def _apply_brush(self) -> None:
        if self._brush is not None and self._brush != self._filter.span:
            self._put_in_force(self._filter._replace(span=self._brush).text)

    def _put_in_force(self, text: str) -> None:
        from analyzer.query.filter import compile_filter

        self._filters.apply(compile_filter(text, self._filters.named) if text else None)

    def go_to_cell(self, cell: int) -> None:
        """Selects the first message of the list at the time of a cell or behind it."""
        view, drawn = self.meter.view, self.bar.drawn
        if view is None:
            return
        rows = self._timeline.timeline.visible_rows
        times = self._session.rows.column("time")[rows]
        later = np.flatnonzero(times >= find_time(view, cell, drawn.left, drawn.width))
        if len(later):
            self._timeline.select_row(int(rows[later[np.argmin(times[later])]]))

    def turn(self, message: ActivityBar.Turn) -> None:
        """Does what a key or the wheel asks for."""
        acts: dict[str, Callable[[int, int | None], None]] = {
            "zoom": self._zoom,
            "pan": self._pan,
            "brush": self._brush_by_key,
            "all": self._show_all,
            "clear": self._clear,
            "list": lambda by, cell: self._screen.set_focus(self._timeline),
        }
        acts[message.what](message.by, message.cell)

    def _zoom(self, by: int, cell: int | None) -> None:
        whole, view = self.meter.whole, self.meter.view
        if whole is None or view is None:
            return
        if by < 0 and view.length >= whole.length:
            self._bars.show_message("this is the whole capture; + zooms in", "bar-warning")
            return
        drawn = self.bar.drawn
        if cell is not None:
            around = find_time(view, cell, drawn.left, drawn.width)
        else:
            at = self._brush or self._find_window() or view
            around = at.first + at.length // 2
        view = zoom_span(whole, view, around, closer=by > 0)
        self._show_view(None if view.length >= whole.length else view)

    def _pan(self, by: int, cell: int | None) -> None:
        whole, view = self.meter.whole, self.meter.view
        if whole is None or view is None:
            return
        if view.length >= whole.length:
            self._bars.show_message("this is the whole capture; + zooms in, then arrows pan", "bar-warning")
            return
        self._show_view(pan_span(whole, view, by * max(view.length // PAN_STEPS, 1)))

    def _show_all(self, by: int, cell: int | None) -> None:
        self._show_view(None)
        self._bars.show_message("the line shows the whole capture")

    def _show_view(self, view: TimeSpan | None) -> None:
        self.meter.skip_pause()
        self.meter.choose_view(view)

    def _brush_by_key(self, by: int, cell: int | None) -> None:
        """Moves the end of the brush by a cell; the first one begins at the window of the list."""
        view, drawn = self.meter.view, self.bar.drawn
        if view is None or not drawn.width:
            return
        step = max(view.length // drawn.width, 1)
        brush = self._brush
        if brush is None:
            window = self._find_window() or view
            brush = TimeSpan(max(window.first, view.first), max(window.first, view.first) + step)
        elif brush.end + by * step > brush.first:
            brush = brush._replace(end=brush.end + by * step)
        else:
            brush = TimeSpan(brush.first + by * step, brush.end)
        self._show_brush(brush)
        self._brushes += 1
        self._screen.set_timer(BRUSH_PAUSE, lambda number=self._brushes: self._end_brush(number))

    def _end_brush(self, number: int) -> None:
        if number == self._brushes:
            self._apply_brush()

    def _clear(self, by: int, cell: int | None) -> None:
        """Shows all times again; without a brush, the focus goes back to the list."""
        if self._brush is None:
            self._screen.set_focus(self._timeline)
        else:
            self._brush = None
            self._put_in_force(self._filter.base)
            self._bars.show_message("all times are shown")
