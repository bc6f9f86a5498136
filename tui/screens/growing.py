"""The part of the main screen that takes over rows as they come, and lets go of those that leave.

Theory. Rows are taken over a few times a second, however fast they come: the next time is put off by ten times what the
last one took, so that keys always find time. Where few come, each is to be seen soon, and there is time for it. A list
that is paused takes over nothing; reading goes on behind it.

Rows leave together: the list, its filter and what is shown forget them, then the reader is told, and only then their
cells go (tui.loader). A page or a dialog speaks of rows that were there when it was opened, and so does a list that
stands still. Therefore rows leave while the list alone is seen; when memory is full, what stands above it is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer

from analyzer.decode.resolved_names import TOPIC
from analyzer.session import Session
from tui.live import Live, Wire
from tui.loader import End, Growth, Loader
from tui.messages import Ended, Grew, Learned
from tui.opened import Opened
from tui.screens.bars import Counts
from tui.screens.showing import ShowingScreen
from tui.theme import Palette

if TYPE_CHECKING:
    from textual.screen import Screen

PAUSE, SHORT_PAUSE, FEW = 0.1, 0.03, 500
"""Seconds between two times at which rows are taken over: usually, and behind so few of them."""

SHARE = 10
"""That many times what taking over took passes until the next."""

LOOK = 1.0
"""Seconds between two looks at a live capture."""

LESSONS, LESSONS_FROM = 500, 100_000
"""Messages that teach names, and rows among which they are looked for, that are read before others get their turn."""

LEFT = "is not there any more: the oldest messages leave (--memory, --ring)"


class GrowingScreen(ShowingScreen):
    """Takes over what a Loader announces. live: the capture that the packets come from, if it is one.

    paused: the list stands still. saved: so many packets of a live capture that nobody keeps have been saved.
    """

    def __init__(self, session: Session, opened: Opened, palette: Palette, loader: Loader, live: Live | None) -> None:
        super().__init__(session, opened, palette)
        self.live, self.paused, self.saved = live, False, 0
        self._counts = Counts()
        self._announced: Growth | None = None
        self._timer: Timer | None = None
        self._next = 0.0
        self._was_alone = False
        self._loader = loader
        self.when_read: Callable[[], None] = lambda: None
        """Called when all has been read."""
        self.when_gone: Callable[[], None] = lambda: None
        """Called when this screen has no more to do."""

    def on_unmount(self) -> None:
        """The last that a screen hears."""
        self.when_gone()

    @property
    def reading(self) -> bool:
        """Whether more may come."""
        return self._counts.state == "reading"

    @property
    def learned(self) -> bool:
        """Whether all rows that were taken over have been asked for names."""
        return self.lore.read >= self.timeline.timeline.rows

    @property
    def memory(self) -> int | None:
        """Bytes that tables may hold."""
        return self._loader.memory

    @property
    def is_over(self) -> bool:
        """Whether reading has ended, after `stop`."""
        return not self._loader.is_alive()

    @property
    def unsaved(self) -> int:
        """Packets that were captured and that nobody keeps."""
        live = self.live
        return 0 if live is None or live.kept else max(live.health().captured - self.saved, 0)

    def say_title(self) -> None:
        """The first line says how much there is now."""
        raise NotImplementedError

    def insist(self, text: str) -> None:
        """A warning that stays for a while, whatever is selected meanwhile."""
        raise NotImplementedError

    def look(self) -> None:
        """Looks at the live capture, also when no row comes."""
        if self.live is not None:
            self.set_interval(LOOK, self.say_title)

    @property
    def wire(self) -> Wire | None:
        """What there is to say of the live capture, or of a list that stands still."""
        live, waiting = self.live, 0
        if self.paused and self._announced is not None:
            waiting = self._announced.rows - self.timeline.timeline.rows
        if live is None:
            return Wire("paused", waiting=waiting) if self.paused else None
        health, state = live.health(), str(live.state)
        if state == "stopped" and self.reading:
            state = "stopping"  # what was captured is still being read
        if self.paused:
            state = "paused"
        return Wire(state, health.captured, health.dropped, health.backlog, health.lag, waiting)

    # Rows come in.

    def tell(self, told: Growth | End) -> None:
        """See Loader.go_on; in its thread."""
        self.post_message(Ended(told.error) if isinstance(told, End) else Grew(told))

    @on(Grew)
    def _announce(self, message: Grew) -> None:
        self._announced = message.growth
        self.show_soon()

    def show_soon(self, *, now: bool = False) -> None:
        """See AskingScreen; what was announced is taken over at the same time."""
        wait = 0.0 if now else self._next - time.monotonic()
        if wait <= 0:
            self.take_over()
        elif self._timer is None:
            self._timer = self.set_timer(wait, self.take_over)

    def take_over(self, growth: Growth | None = None) -> None:
        """Shows what has been announced, or what is given, unless the list stands still."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        began, before = time.monotonic(), self.timeline.timeline.rows
        self._announced = growth or self._announced
        if self._announced is not None and self._goes_on(self._announced):
            growth, self._announced = self._announced, None
            self.timeline.grow(growth.rows, growth.streams)
            self._counts = self._counts.grown(growth)
            self._sifter.grow(growth.rows)
            self._leave(growth)
            self.say_heads()
            self.check_partner()
            self._learn()
        self.show_kept()
        self.say_title()
        now = time.monotonic()
        pause = SHORT_PAUSE if self.timeline.timeline.rows - before <= FEW else PAUSE
        self._next = now + max(pause, SHARE * (now - began))

    def _goes_on(self, growth: Growth) -> bool:
        """Whether the list takes over what was announced; one that stands still does when it must lose rows."""
        if self.paused and growth.pressing and growth.first > self.timeline.timeline.first:
            self.paused = False
            self.insist("the list goes on: messages that stood in it leave memory")
        return not self.paused

    def pause(self) -> None:
        """The list stands still, or takes over all that has come meanwhile."""
        self.paused = not self.paused
        self.show_soon(now=True)
        self.say_heads()

    def _learn(self) -> None:
        """Has names learned from the rows that were announced, a part of them at a time."""
        lore = self.lore
        rows = min(self.timeline.timeline.rows, lore.read + LESSONS_FROM)
        if lore.read < rows:
            self.background.ask("names", lambda: Learned(lore.learn(rows, LESSONS)))

    @on(Learned)
    def _learned(self, message: Learned) -> None:
        if TOPIC in message.kinds:
            self.timeline.name_anew()
        detail = self.detail
        if message.kinds and detail is not None:
            self.read_again(detail.row, detail.known.standing)
        self._learn()

    @on(Ended)
    def _end(self, message: Ended) -> None:
        self.paused = False
        self.take_over()
        self._sifter.end()
        self.timeline.end()
        self._counts = self._counts.ended(message.error)
        self.say_heads()
        self.say_title()
        if message.error is not None:
            if not self.timeline.timeline.rows:
                self.app.exit(message.error)
            self.say(str(message.error), "bar-error")
        elif not self.timeline.timeline.streams:
            self.say("there is no TCP packet in it", "bar-warning")
        self.when_read()

    # Rows leave.

    def _leave(self, growth: Growth) -> None:
        """Rows leave that are to, if nobody needs them: nothing that is painted looks at them from then on."""
        first = min(growth.first, growth.rows)
        alone = self.app.screen is self
        was_alone, self._was_alone = self._was_alone, alone
        if first <= self.timeline.timeline.first:
            return
        if not alone and growth.pressing and not any(map(_holds_rows, self.app.screen_stack)):
            self._close_others()
            self.insist("what stood here was closed: messages that it spoke of leave memory")
        elif not (alone and was_alone):  # between two dialogs of one command there is a moment, too
            return
        self._sifter.leave(first)
        if self.detail is not None and self.detail.row < first:
            self.show_nothing()
        self.timeline.leave(first)
        self._loader.left(first)

    def _close_others(self) -> None:
        """Closes what stands above this screen, now: Textual's own way to do that comes too late the second time."""
        for screen in self.app.screen_stack[:0:-1]:
            if screen is self.app.screen and screen is not self:
                screen.dismiss()

    def has_left(self, row: int, what: str = "") -> bool:
        """Whether a row is not there any more, which is said; what: that it is, before its number."""
        has_left = row < self.timeline.timeline.first
        if has_left:
            self.say(f"{what}message {row + 1} {LEFT}", "bar-warning")
        return has_left

    def select_row(self, row: int, what: str = "") -> None:
        """See ShowingScreen."""
        if not self.has_left(row, what):
            super().select_row(row, what)


def _holds_rows(screen: Screen[object]) -> bool:
    """Whether rows have to stay until a screen is done."""
    return bool(getattr(screen, "HOLDS_ROWS", False))
