"""The main screen: what the bars say, what keys do.

Theory. Rows are taken over and let go by GrowingScreen; what is selected is shown by ShowingScreen, what is asked of
the whole capture by AskingScreen.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from analyzer.session import Session
from tui import keys
from tui.commands import command
from tui.live import Live
from tui.loader import Loader
from tui.model.timeline import FLAT
from tui.model.times import TIME_FORMAT, first_form
from tui.opened import Opened
from tui.remembered import Remembered
from tui.screens.frame import Frame
from tui.screens.growing import GrowingScreen
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


STAYS = 4.0
"""Seconds that a sentence stays in the status line while messages are selected as they come."""


class MainScreen(GrowingScreen):
    """List, tree and bytes of one session."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("screen")
    AUTO_FOCUS = ""
    BLANK = True

    def __init__(
        self,
        session: Session,
        opened: Opened,
        palette: Palette,
        remembered: Remembered,
        loader: Loader,
        live: Live | None = None,
    ) -> None:
        super().__init__(session, opened, palette, loader, live)
        self.remembered, self.config = remembered, opened.config
        self.timeline.timeline.flat = opened.following or remembered.get(FLAT, False)
        self._opened, self._wanted = opened.title, opened.wanted
        self._stays = 0.0
        self._comes_live = live is not None or opened.following
        self.frame = Frame(palette, self.timeline, self.tree_pane, self.hex_pane)
        self.desk = Desk(
            palette,
            {"list": self.timeline, "tree": self.tree_pane, "hex": self.hex_pane},
            self.frame.bars,
            remembered,
        )

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield self.desk

    def on_mount(self) -> None:
        """Begins to read; what is there in a moment is painted with the first screen."""
        self.set_focus(self.desk.focus_first, scroll_visible=False)
        self.timeline.said.times.form = first_form(self.config.time_format, self.remembered.get(TIME_FORMAT, ""))
        if self.remembered.get(COLUMNS, []):
            self._action_do("columns.begin")
        growth = self._loader.begin(MOMENT)
        self.start_asking(self._wanted)
        self.take_over(growth)
        self.on_descendant_focus()
        self.background.start()
        self.look()
        self.call_after_refresh(self._loader.go_on, self.tell)
        self.call_after_refresh(self._action_do, "colouring.begin")

    def stop(self, patience: float) -> None:
        """Ends reading and decoding; waits that many seconds for the reader at most."""
        self.background.stop()
        self.stop_asking(patience)
        self._loader.stop(patience)

    # What is said in the bars.

    def say(self, text: str, style: str = "bar") -> None:
        """See AskingScreen; messages that are selected as they come leave it there for a while."""
        self.frame.status([Part("bar", " "), Part(style, text)])
        self._stays = time.monotonic() + STAYS if text and self.timeline.following and self.reading else 0.0

    def insist(self, text: str) -> None:
        """See GrowingScreen."""
        self.say(text, "bar-warning")
        self._stays = time.monotonic() + STAYS

    @on(TimelinePane.Widened)
    @on(TimelinePane.Followed)
    def say_heads(self) -> None:
        """See ShowingScreen."""
        zoomed = self.desk.arrangement.zoomed
        scrolls = self.timeline.following and not self.paused if self.reading and self._comes_live else None
        self.frame.say_heads(self.detail, self.head, self.source, zoomed=zoomed, scrolls=scrolls)

    def say_title(self) -> None:
        """See GrowingScreen."""
        wire, live = self.wire, self.live
        self.frame.say_title(self._opened, self._counts, self.filtered, wire)
        problem = None if live is None else live.problem
        if problem != self.frame.problem:
            self.frame.problem, self._stays = problem, 0.0
            self.say_status()

    def say_status(self) -> None:
        """See ShowingScreen."""
        if time.monotonic() < self._stays:
            return
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
        self.quit()

    def quit(self) -> None:
        """Ends the program; where packets would be lost, who wants that is asked first."""
        if self.live is None:
            self.app.exit()
        else:
            self._action_do("capturing.leave")
