"""The main screen: rows as they come in, what the bars say, what keys do.

Theory. Rows are taken over a few times a second, however fast they come: the next time is put off by ten times what the
last one took, so that keys always find time. What is selected is shown by ShowingScreen, what is asked of the whole
capture by AskingScreen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.timer import Timer

from analyzer.naming import TOPIC
from analyzer.session import Session
from tui import keys
from tui.commands import command
from tui.loader import End, Growth, Loader
from tui.messages import Ended, Grew, Learned
from tui.model.timeline import FLAT
from tui.model.times import TIME_FORMAT, first_form
from tui.opened import Opened
from tui.remembered import Remembered
from tui.screens.bars import Counts
from tui.screens.frame import Frame
from tui.screens.showing import ShowingScreen
from tui.theme import Palette
from tui.widgets.bar import Bar, Part
from tui.widgets.desk import Desk
from tui.widgets.lines import COLUMNS
from tui.widgets.pane import Pane
from tui.widgets.timeline import TimelinePane
from tui.widgets.tree import TreePane

if TYPE_CHECKING:
    from tui.screens.page import Deed

MOMENT = 0.1
"""Seconds that the first screen waits for the first rows: to paint it twice takes longer than to read them."""

PAUSE = 0.1
"""Seconds between two times at which rows are taken over."""

SHARE = 10
"""That many times what taking over took passes until the next."""

LESSONS, LESSONS_FROM = 500, 100_000
"""Messages that teach names, and rows among which they are looked for, that are read before others get their turn."""


class MainScreen(ShowingScreen):
    """List, tree and bytes of one session."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("screen")
    AUTO_FOCUS = ""
    BLANK = True

    def __init__(
        self, session: Session, opened: Opened, palette: Palette, remembered: Remembered, loader: Loader
    ) -> None:
        super().__init__(session, opened, palette)
        self.remembered, self.config = remembered, opened.config
        self.timeline.timeline.flat = opened.following or remembered.get(FLAT, False)
        self._opened, self._wanted = opened.title, opened.wanted
        self._counts = Counts()
        self._announced: Growth | None = None
        self._timer: Timer | None = None
        self._next = 0.0
        self.when_read: Callable[[], None] = lambda: None
        """Called when all has been read."""
        self.frame = Frame(palette, self.timeline, self.tree_pane, self.hex_pane)
        self.desk = Desk(
            palette,
            {"list": self.timeline, "tree": self.tree_pane, "hex": self.hex_pane},
            self.frame.bars,
            remembered,
        )
        self._loader = loader

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield self.desk

    def on_mount(self) -> None:
        """Begins to read; what is there in a moment is painted with the first screen."""
        self.set_focus(self.desk.focus_first, scroll_visible=False)
        self.timeline.said.times.form = first_form(self.config.time_format, self.remembered.get(TIME_FORMAT, ""))
        if self.remembered.get(COLUMNS, []):
            self._action_do("columns.begin")
        self._announced = self._loader.begin(MOMENT)
        self.start_asking(self._wanted)
        self._take_over()
        self._say_title()
        self.on_descendant_focus()
        self.background.start()
        self.call_after_refresh(self._loader.go_on, self._tell)
        self.call_after_refresh(self._action_do, "colouring.begin")

    @property
    def reading(self) -> bool:
        """Whether more may come."""
        return self._counts.state == "reading"

    @property
    def learned(self) -> bool:
        """Whether all rows that were taken over have been asked for names."""
        return self.lore.read >= self.timeline.timeline.rows

    def stop(self, patience: float) -> None:
        """Ends reading and decoding; waits that many seconds for the reader at most."""
        self.background.stop()
        self.stop_asking(patience)
        self._loader.stop(patience)

    # Rows come in.

    def _tell(self, told: Growth | End) -> None:
        self.post_message(Ended(told.error) if isinstance(told, End) else Grew(told))

    @on(Grew)
    def _announce(self, message: Grew) -> None:
        self._announced = message.growth
        self.show_soon()

    def show_soon(self, *, now: bool = False) -> None:
        """See AskingScreen; what was announced is taken over at the same time."""
        wait = 0.0 if now else self._next - time.monotonic()
        if wait <= 0:
            self._take_over()
        elif self._timer is None:
            self._timer = self.set_timer(wait, self._take_over)

    def _take_over(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        growth, self._announced = self._announced, None
        began = time.monotonic()
        if growth is not None:
            self.timeline.grow(growth.rows, growth.streams)
            self._counts = self._counts.grown(growth)
            self._sifter.grow(growth.rows)
            self.say_heads()
            self.check_partner()
            self._learn()
        self.show_kept()
        self._say_title()
        now = time.monotonic()
        self._next = now + max(PAUSE, SHARE * (now - began))

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
        self._take_over()
        self._sifter.end()
        self.timeline.end()
        self._counts = self._counts.ended(message.error)
        self._say_title()
        if message.error is not None:
            if not self.timeline.timeline.rows:
                self.app.exit(message.error)
            self.say(str(message.error), "bar-error")
        elif not self.timeline.timeline.streams:
            self.say("there is no TCP packet in it", "bar-warning")
        self.when_read()

    # What is said in the bars.

    def say(self, text: str, style: str = "bar") -> None:
        """See AskingScreen."""
        self.frame.status([Part("bar", " "), Part(style, text)])

    @on(TimelinePane.Widened)
    def say_heads(self) -> None:
        """See ShowingScreen."""
        self.frame.say_heads(self.detail, self.head, self.source, zoomed=self.desk.arrangement.zoomed)

    def _say_title(self) -> None:
        self.frame.say_title(self._opened, self._counts, self.filtered)

    def say_status(self) -> None:
        """See ShowingScreen."""
        self.frame.say_status(self.detail, self.source)

    @on(Pane.Shifted)
    def _shifted(self) -> None:
        self.say_heads()

    def on_descendant_focus(self) -> None:
        """Another pane has the focus: heads, keys and status speak of it."""
        self.say_heads()
        self.frame.say_keys()
        self.say_status()

    @on(Resize)
    @on(Desk.Rearranged)
    def _say_heads_soon(self) -> None:
        """Other columns fit into the list, or another pane is zoomed."""
        self.call_after_refresh(self.say_heads)

    # What keys do.

    @on(TimelinePane.Entered)
    def _to_tree(self) -> None:
        self.tree_pane.focus()

    @on(TreePane.Entered)
    def _to_bytes(self) -> None:
        self.hex_pane.focus()

    @on(Pane.MenuWanted)
    def _open_menu(self) -> None:
        self._action_do("menu.show")

    @on(Bar.Clicked, "#keys")
    async def _press(self, message: Bar.Clicked) -> None:
        pane = self.focused
        if isinstance(pane, Pane) and hasattr(pane, f"_action_{message.name}"):
            await pane.run_action(message.name)
        else:
            await self.run_action(message.name)

    def _action_next_pane(self) -> None:
        self.desk.turn_focus(1)

    def _action_previous_pane(self) -> None:
        self.desk.turn_focus(-1)

    def do_deed(self, deed: Deed | None) -> None:
        """What a page ended with."""
        if deed is not None:
            self.say("")
            deed.do(self)

    def _action_do(self, name: str) -> None:
        command(name)(self)

    def _action_view(self) -> None:
        self.timeline.switch()
        self.remembered.keep(FLAT, self.timeline.timeline.flat)
        self.say_heads()

    def _action_quit(self) -> None:
        self.app.exit()
