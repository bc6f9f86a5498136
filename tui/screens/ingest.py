"""Takes over rows as they come in, has names resolved from them, and drops rows that are evicted.

Theory. Rows are taken over a few times a second, however fast they come: the pause is ten times as long as the last
takeover, so keys always find time. If few rows come, they appear sooner. A paused list takes over nothing; reading goes
on behind it.

Rows are evicted together: the list, its filter and the detail view drop them, then the loader is told, and only then
their cells go (tui.loader). A page or dialog is about rows that existed when it was opened, and so is a paused list. So
rows are evicted only while the main screen alone is shown; when memory is full, the screens above it are closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from textual.screen import Screen
from textual.timer import Timer

from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.resolved_names import TOPIC
from tui.background import BackgroundWorker
from tui.inputs import CaptureStatus, LiveCapture
from tui.loader import Growth, Loader, ReadingEnd
from tui.screens.detail_view import DetailView
from tui.screens.filter_and_search import FilterControl
from tui.screens.status_bars import StatusBars
from tui.widgets.timeline import TimelinePane

FIRST_ROWS_TIMEOUT = 0.1
"""Seconds that the first screen waits for rows: painting it twice would take longer than reading them."""

PAUSE, SHORT_PAUSE, FEW = 0.1, 0.03, 500
"""Seconds between two takeovers: usually, and after at most so few rows."""

SHARE = 10
"""The pause until the next takeover, in durations of the last one."""


class Ingest:
    """Takes over what a Loader announces, for a screen.

    live: the live capture, if any. comes_live: rows come in their own time. is_paused: the list stands still. saved:
    packets of a live capture that were saved. follows: the input may grow for ever.
    """

    def __init__(
        self,
        screen: Screen[None],
        loader: Loader,
        live: LiveCapture | None,
        filters: FilterControl,
        names: NameLearning,
        view: DetailView,
        bars: StatusBars,
        say_heads: Callable[[], None],
        *,
        follows: bool,
    ) -> None:
        self.live, self.is_paused, self.saved = live, False, 0
        self.when_read: Callable[[], None] = lambda: None
        """Called when the input has been read."""
        self._screen, self._loader, self._filters, self._names = screen, loader, filters, names
        self._bars, self._timeline, self._view, self._say_heads = bars, bars.timeline, view, say_heads
        self.comes_live = live is not None or follows
        self._announced: Growth | None = None
        self._timer: Timer | None = None
        self._next = 0.0
        self._was_alone = False

    @property
    def is_reading(self) -> bool:
        """Whether more rows may come."""
        return self._bars.counts.is_reading

    @property
    def memory(self) -> int | None:
        """Bytes that tables may hold; None: no limit."""
        return self._loader.memory

    @property
    def is_over(self) -> bool:
        """Whether reading has ended, after stop()."""
        return not self._loader.is_alive()

    @property
    def scrolls(self) -> bool | None:
        """Whether the list stays at its end; None if no rows are expected."""
        return self._timeline.following and not self.is_paused if self.is_reading and self.comes_live else None

    @property
    def unsaved(self) -> int:
        """The number of captured packets that nobody keeps."""
        live = self.live
        return 0 if live is None or live.is_saved else max(live.health().captured - self.saved, 0)

    @property
    def capture_status(self) -> CaptureStatus | None:
        """The status of the live capture, or of a paused list; None without either."""
        live, waiting = self.live, 0
        if self.is_paused and self._announced is not None:
            waiting = self._announced.rows - self._timeline.timeline.rows
        if live is None:
            return CaptureStatus("paused", waiting=waiting) if self.is_paused else None
        health, state = live.health(), str(live.state)
        if state == "stopped" and self.is_reading:
            state = "stopping"  # what was captured is still being read
        if self.is_paused:
            state = "paused"
        return CaptureStatus(state, health.captured, health.dropped, health.backlog, health.lag, waiting)

    def show_title(self) -> None:
        """Updates the title with the numbers of rows, and the status of the live capture."""
        live = self.live
        self._bars.show_title(self._filters.in_force, self.capture_status)
        if self._bars.set_problem(None if live is None else live.problem):
            self._view.show_status()

    # Rows come in.

    def begin(self) -> Growth | None:
        """Starts reading; returns the first rows, if they come in a moment."""
        return self._loader.begin(FIRST_ROWS_TIMEOUT)

    def resume(self) -> None:
        """Continues reading the capture after a pause."""
        self._loader.resume(self._take_progress)

    def stop(self, patience: float) -> None:
        """Ends reading; waits at most `patience` seconds."""
        self._loader.stop(patience)

    def _take_progress(self, event: Growth | ReadingEnd) -> None:
        """Passes an announcement to the thread that paints; called in the loader's thread."""
        self._screen.call_later(
            partial(self._end, event.error) if isinstance(event, ReadingEnd) else partial(self._grow, event)
        )

    def _grow(self, growth: Growth) -> None:
        self._announced = growth
        self.show_soon()

    def show_soon(self, *, now: bool = False) -> None:
        """Takes over what was announced: at once, or when the pause is over."""
        wait = 0.0 if now else self._next - time.monotonic()
        if wait <= 0:
            self.take_over()
        elif self._timer is None:
            self._timer = self._screen.set_timer(wait, self.take_over)

    def take_over(self, growth: Growth | None = None) -> None:
        """Shows the announced rows, or the given ones, unless the list is paused."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        timeline = self._timeline
        began, before = time.monotonic(), timeline.timeline.rows
        self._announced = growth or self._announced
        if self._announced is not None and self._can_take_over(self._announced):
            growth, self._announced = self._announced, None
            timeline.grow(growth.rows, growth.streams)
            self._bars.counts = self._bars.counts.with_growth(growth)
            self._filters.worker.grow(growth.rows)
            self._evict(growth)
            self._say_heads()
            self._view.check_partner()
            self._names.learn()
        self._filters.show_matches()
        self.show_title()
        now = time.monotonic()
        pause = SHORT_PAUSE if timeline.timeline.rows - before <= FEW else PAUSE
        self._next = now + max(pause, SHARE * (now - began))

    def _can_take_over(self, growth: Growth) -> bool:
        """Returns whether the list takes rows over; a paused one resumes if it must lose rows."""
        if self.is_paused and growth.pressing and growth.first > self._timeline.timeline.first:
            self.is_paused = False
            self._bars.show_for_seconds("the list continues: its oldest messages are evicted")
        return not self.is_paused

    def toggle_pause(self) -> None:
        """Pauses the list, or takes over all that has come meanwhile."""
        self.is_paused = not self.is_paused
        self.show_soon(now=True)
        self._say_heads()

    def _end(self, error: Exception | None) -> None:
        bars, timeline = self._bars, self._timeline
        self.is_paused = False
        self.take_over()
        self._filters.worker.end()
        timeline.finish()
        if self._view.detail is None:
            self._view.refresh()  # a stream has got more messages meanwhile
        bars.counts = bars.counts.with_end(error)
        self._say_heads()
        self.show_title()
        if error is not None:
            if not timeline.timeline.rows:
                self._screen.app.exit(error)
            bars.show_message(str(error), "bar-error")
        elif not timeline.timeline.streams:
            bars.show_message("the capture has no TCP packets", "bar-warning")
        self.when_read()

    # Rows leave.

    def _evict(self, growth: Growth) -> None:
        """Drops rows that are to be evicted, if no page or dialog needs them."""
        app, first = self._screen.app, min(growth.first, growth.rows)
        alone = app.screen is self._screen or self._screen not in app.screen_stack
        was_alone, self._was_alone = self._was_alone, alone
        if first <= self._timeline.timeline.first:
            return
        if not alone and growth.pressing and not any(getattr(each, "HOLDS_ROWS", False) for each in app.screen_stack):
            self._close_others()
            self._bars.show_for_seconds("the page was closed because its messages are evicted")
        elif not (alone and was_alone):  # between two dialogs of one command there is a moment, too
            return
        self._filters.worker.evict(first)
        if self._view.detail is not None and self._view.detail.row < first:
            self._view.show_nothing()
        self._timeline.evict(first)
        self._loader.release_rows(first)

    def _close_others(self) -> None:
        """Closes the screens above the main screen at once; Textual's own way is too late for several."""
        app = self._screen.app
        for screen in app.screen_stack[:0:-1]:
            if screen is app.screen and screen is not self._screen:
                screen.dismiss()


MOST_MESSAGES, MOST_ROWS = 500, 100_000
"""Messages that are read for names in one portion, and the rows among which they are searched."""


class NameLearning:
    """Resolves names from the rows that were taken over, a portion at a time, in the worker thread."""

    def __init__(
        self, resolver: NameResolver, background: BackgroundWorker, timeline: TimelinePane, view: DetailView
    ) -> None:
        self._resolver, self._background, self._timeline, self._view = resolver, background, timeline, view

    @property
    def is_complete(self) -> bool:
        """Whether all rows that were taken over have been examined for names."""
        return self._resolver.read >= self._timeline.timeline.rows

    def learn(self) -> None:
        """Examines the next rows, if there are any."""
        resolver = self._resolver
        rows = min(self._timeline.timeline.rows, resolver.read + MOST_ROWS)
        if resolver.read < rows:
            self._background.submit("names", lambda: resolver.learn(rows, MOST_MESSAGES), self._take_kinds)

    def _take_kinds(self, kinds: set[str]) -> None:
        """Updates list and tree after names of these kinds were resolved."""
        if TOPIC in kinds:
            self._timeline.clear_names()
        detail = self._view.detail
        if kinds and detail is not None:
            self._view.reread(detail.row, detail.known.session_contents)
        self.learn()
