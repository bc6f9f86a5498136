"""The control of the time line: it measures in a thread, follows the list, and brushes a filter on time.

Theory. The list posts a message when its rows or its window change; then the activity is measured again, no sooner than
after ten times what the last measurement took. A brushed span is an ordinary filter at the end of the one in force, so
list, statistics and findings follow by themselves, and whoever edits the filter moves the brush. The line itself shows
the messages of the filter before it, so that a brush can grow.

Errors need bodies and events need reports. Both are read after the input, in parts, in a thread of this control.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from textual.screen import Screen

from analyzer.columns.arrays import Ints
from analyzer.insight.activity import (
    Activity,
    Moment,
    TimeSpan,
    find_span,
    list_error_rows,
    list_gap_rows,
    list_moments,
    measure_activity,
)
from analyzer.render.durations import format_duration
from analyzer.session import Session
from tui.background import BackgroundWorker
from tui.model.activity_line import (
    NO_MARKS,
    ActivityLines,
    Marks,
    TimeFilter,
    draw_activity,
    find_cells,
    find_time,
    find_visible_span,
    measure_plot,
    pan_span,
    zoom_span,
)
from tui.model.braille import ACROSS
from tui.screens.filter_and_search import FilterControl
from tui.screens.status_bars import StatusBars
from tui.widgets.activity_bar import ActivityBar

ERROR_ROWS = 16_384
"""Rows whose errors are read at one time."""

MOST_EVENT_ROWS = 200_000
"""Rows of a capture whose events are read without being asked for."""

PAUSE, SHARE, BRUSH_PAUSE = 0.2, 10, 0.25
"""Seconds between two measurements, durations of the last one, and seconds until a brush of keys is a filter."""

PAN_STEPS = 8
"""The steps in which a key pans over the width of the line."""


class ActivityControl:
    """Measures the activity of the rows that the list shows, and draws it in `bar`.

    screen: has timers and the focus. comes_live: rows come in their own time, so errors are read meanwhile.
    """

    def __init__(
        self, screen: Screen[None], session: Session, bar: ActivityBar, filters: FilterControl, bars: StatusBars
    ) -> None:
        self.bar = bar
        self.whole: TimeSpan | None = None
        self.moments: list[Moment] | None = None
        self._screen, self._session, self._timeline = screen, session, bars.timeline
        self._filters, self._bars, self.comes_live = filters, bars, False
        self._worker = BackgroundWorker(screen.call_later)
        self._view: TimeSpan | None = None
        self._activity: Activity | None = None
        self._marks, self._errors = NO_MARKS, np.zeros(0, np.int64)
        self._examined, self._is_wanted, self._is_measuring = 0, False, False
        self._next, self._has_timer, self._stopped = 0.0, False, False
        self._filter = TimeFilter("", None)
        self._brush: TimeSpan | None = None
        self._base_rows: Ints | None = None
        self._brushes = 0
        self._drawn: ActivityLines | None = None

    @property
    def is_settled(self) -> bool:
        """Whether everything that the line shows was measured."""
        return not (self._is_measuring or self._is_wanted or self._has_timer)

    @property
    def view(self) -> TimeSpan | None:
        """The span that the line shows; None without messages."""
        whole, view = self.whole, self._view
        return whole if whole is None or view is None else pan_span(whole, view, 0)

    def begin(self) -> None:
        """Starts the thread."""
        self._worker.start()

    def stop(self) -> None:
        """Drops all work."""
        self._stopped = True
        self._worker.stop()

    # What is measured.

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
            self._base_rows = self._timeline.timeline.matches
        elif found.base != before.base:
            self._base_rows = None
        self._filter = found
        self._brush = self._filter.span
        self._is_wanted = True
        self._measure_soon()
        self.redraw()

    def _measure_soon(self) -> None:
        wait = self._next - time.monotonic()
        if self._is_measuring or self._has_timer or self._stopped:
            return
        if wait > 0:
            self._has_timer = True
            self._screen.set_timer(wait, self._end_pause)
        else:
            self._measure()

    def _end_pause(self) -> None:
        self._has_timer = False
        if self._is_wanted:
            self._measure_soon()

    def _measure(self) -> None:
        timeline, width = self._timeline.timeline, self.bar.size.width
        self._is_wanted = False
        if not self.bar.height or not self.bar.is_placed or not width or timeline.rows <= timeline.first:
            return
        self._is_measuring = True
        rows: Ints | slice = slice(timeline.first, timeline.rows)
        if self._base_rows is not None:
            rows = self._base_rows[(self._base_rows >= timeline.first) & (self._base_rows < timeline.rows)]
        session, view, every = self._session, self._view, slice(timeline.first, timeline.rows)
        reads = not self._bars.counts.is_reading or self.comes_live
        start = max(self._examined, timeline.first)
        part = np.arange(start, min(start + ERROR_ROWS, timeline.rows)) if reads else np.zeros(0, np.int64)

        def work() -> tuple[TimeSpan | None, Activity | None, Ints, Ints, float]:
            began = time.monotonic()
            whole = find_span(session, every)
            span = whole if whole is None or view is None else pan_span(whole, view, 0)
            _, cells = (0, 0) if span is None else measure_plot(span, width)
            activity = None if span is None else measure_activity(session, rows, span, cells * ACROSS)
            errors = list_error_rows(session, part) if len(part) else part
            return whole, activity, errors, list_gap_rows(session, every), time.monotonic() - began

        self._worker.submit("activity", work, lambda found: self._take(found, part, rows))

    def _take(
        self, found: tuple[TimeSpan | None, Activity | None, Ints, Ints, float], part: Ints, rows: Ints | slice
    ) -> None:
        self.whole, self._activity, errors, gaps, seconds = found
        self._is_measuring = False
        timeline, times = self._timeline.timeline, self._session.rows.column("time")
        self._errors = np.concatenate((self._errors, errors))
        self._errors = self._errors[self._errors >= timeline.first]
        shown = self._errors if isinstance(rows, slice) else self._errors[np.isin(self._errors, rows)]
        moments = np.array([each.time for each in self.moments or ()], np.int64)
        self._marks = Marks(times[shown], times[gaps[gaps >= timeline.first]], moments)
        if len(part):
            self._examined = int(part[-1]) + 1
        has_more = self._examined < timeline.rows and bool(len(part))
        self._next = time.monotonic() + (0.0 if has_more else max(PAUSE, SHARE * seconds))
        self.redraw()
        if has_more:
            self._is_wanted = True
        elif self.moments is None and not self._bars.counts.is_reading and timeline.rows <= MOST_EVENT_ROWS:
            self.read_moments()
        if self._is_wanted:
            self._measure_soon()

    def read_moments(self) -> None:
        """Reads rebalances, elections and other events from the reports, once, when the input has been read."""
        if self.moments is not None or self._bars.counts.is_reading or self._stopped:
            return
        self.moments, self._is_measuring = [], True

        from tui.model.views import Cancellation

        def look(rows: int) -> None:
            if self._stopped:
                raise Cancellation

        def work() -> list[Moment]:
            try:
                return list_moments(self._session, look)
            except Cancellation:
                return []

        self._worker.submit("moments", work, self._take_moments)

    def _take_moments(self, moments: list[Moment]) -> None:
        self.moments, self._is_measuring = moments, False
        self._marks = self._marks._replace(events=np.array([each.time for each in moments], np.int64))
        self.redraw()
        if self._is_wanted:
            self._measure_soon()

    # What is shown.

    def redraw(self) -> None:
        """Draws the line anew, because what was measured or its size has changed."""
        if self._activity is not None and self.bar.size.width and self.bar.height:
            self._drawn = draw_activity(self._activity, self._marks, self.bar.size.width, self.bar.height)
            self.draw()

    def draw(self) -> None:
        """Draws the window of the list and the brush over the line."""
        activity, bar, drawn = self._activity, self.bar, self._drawn
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
        bar = self.bar
        bar.height = heights[(heights.index(bar.height) + 1) % len(heights)] if bar.height in heights else heights[0]
        self._next = 0.0
        if bar.height > 1:
            self.read_moments()
        return bar.height

    # What keys and the mouse do.

    def brush_cells(self, cells: tuple[int, int], *, is_done: bool) -> None:
        """Brushes the span of some cells; the filter follows when it is done."""
        view, drawn = self.view, self.bar.drawn
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
        view, drawn = self.view, self.bar.drawn
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
        whole, view = self.whole, self.view
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
        whole, view = self.whole, self.view
        if whole is None or view is None:
            return
        if view.length >= whole.length:
            self._bars.show_message("this is the whole capture; + zooms in, then arrows pan", "bar-warning")
            return
        self._show_view(pan_span(whole, view, by * max(view.length // PAN_STEPS, 1)))

    def _show_all(self, by: int, cell: int | None) -> None:
        self._show_view(None)

    def _show_view(self, view: TimeSpan | None) -> None:
        self._view, self._next = view, 0.0
        self._is_wanted = True
        self._measure_soon()

    def _brush_by_key(self, by: int, cell: int | None) -> None:
        """Moves the end of the brush by a cell; the first one begins at the window of the list."""
        view, drawn = self.view, self.bar.drawn
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
