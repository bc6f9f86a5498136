"""Measures the activity of the rows that the list shows, in a thread, for the time line.

Theory. Activity is measured again when rows, filter or size change, no sooner than after ten times what the last
measurement took. Errors need bodies and events need reports. Both are read after the input, in parts, in the same
thread.
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
from analyzer.session import Session
from tui.background import BackgroundWorker
from tui.model.activity_line import NO_MARKS, Marks, measure_plot, pan_span
from tui.model.braille import ACROSS
from tui.screens.status_bars import StatusBars
from tui.widgets.activity_bar import ActivityBar

ERROR_ROWS = 16_384
"""Rows whose errors are read at one time."""

MOST_EVENT_ROWS = 200_000
"""Rows of a capture whose events are read without being asked for."""

PAUSE, SHARE = 0.2, 10
"""Seconds between two measurements, and durations of the last one."""


class ActivityMeter:
    """Measures in intervals that are as wide as a dot of `bar`.

    on_change: called when there are other figures. screen: has timers. comes_live: rows come in their own time, so
    errors are read meanwhile. base_rows: the rows that are measured; None: all. whole: the span of all rows.
    """

    def __init__(
        self, screen: Screen[None], session: Session, bar: ActivityBar, bars: StatusBars, on_change: Callable[[], None]
    ) -> None:
        self.whole: TimeSpan | None = None
        self.activity: Activity | None = None
        self.marks = NO_MARKS
        self.moments: list[Moment] | None = None
        self.base_rows: Ints | None = None
        self.comes_live = False
        self._screen, self._session, self._bar, self._on_change = screen, session, bar, on_change
        self._listed, self._bars = bars.timeline, bars
        self._worker = BackgroundWorker(screen.call_later)
        self._view: TimeSpan | None = None
        self._errors = np.zeros(0, np.int64)
        self._examined, self._is_wanted, self._is_measuring = 0, False, False
        self._next, self._has_timer, self._stopped = 0.0, False, False

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

    def choose_view(self, view: TimeSpan | None) -> None:
        """Measures another span; None: that of all rows."""
        self._view = view
        self.request()

    def skip_pause(self) -> None:
        """Lets the next measurement begin at once."""
        self._next = 0.0

    def request(self) -> None:
        """Measures again soon, because rows, filter or size have changed."""
        self._is_wanted = True
        self._measure_soon()

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
        timeline, width = self._listed.timeline, self._bar.size.width
        self._is_wanted = False
        if not self._bar.height or not self._bar.is_placed or not width or timeline.rows <= timeline.first:
            return
        self._is_measuring = True
        rows: Ints | slice = slice(timeline.first, timeline.rows)
        if self.base_rows is not None:
            rows = self.base_rows[(self.base_rows >= timeline.first) & (self.base_rows < timeline.rows)]
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
        self.whole, self.activity, errors, gaps, seconds = found
        self._is_measuring = False
        timeline, times = self._listed.timeline, self._session.rows.column("time")
        self._errors = np.concatenate((self._errors, errors))
        self._errors = self._errors[self._errors >= timeline.first]
        shown = self._errors if isinstance(rows, slice) else self._errors[np.isin(self._errors, rows)]
        moments = np.array([each.time for each in self.moments or ()], np.int64)
        self.marks = Marks(times[shown], times[gaps[gaps >= timeline.first]], moments)
        if len(part):
            self._examined = int(part[-1]) + 1
        has_more = self._examined < timeline.rows and bool(len(part))
        self._next = time.monotonic() + (0.0 if has_more else max(PAUSE, SHARE * seconds))
        self._on_change()
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
        self.marks = self.marks._replace(events=np.array([each.time for each in moments], np.int64))
        self._on_change()
        if self._is_wanted:
            self._measure_soon()
