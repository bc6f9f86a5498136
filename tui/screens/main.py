"""The main screen: puts together the parts that do its work, and tells them what panes and keys say.

Theory. Rows are taken over and let go by Ingest; what is selected is shown by DetailView, what is asked of the whole
capture by FilterControl and SearchControl, and Bars say how it stands. The parts know those that they need, and none of
them this screen.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.screen import Screen

from analyzer.decode.name_resolver import Lore
from analyzer.session import Session
from dissectors.name_binding import Standing
from tui import keys
from tui.background import Background
from tui.crash_guard import Fenced
from tui.filter_worker import FilterWorker, Readers
from tui.inputs import LiveCapture, StartOptions
from tui.loader import Loader
from tui.model.detail import Detail, read_detail
from tui.model.timeline import FLAT
from tui.model.timeline import Place as ListPlace
from tui.model.times import TIME_FORMAT, first_form
from tui.remembered import Remembered
from tui.screens.bars import Bars
from tui.screens.detail_view import DetailView
from tui.screens.filter_control import FilterControl
from tui.screens.ingest import Ingest
from tui.screens.name_learning import NameLearning
from tui.screens.prompts import Prompts
from tui.screens.search_control import SearchControl
from tui.search_worker import SearchWorker
from tui.theme import Palette
from tui.widgets.bar import Bar
from tui.widgets.desk import Desk
from tui.widgets.hexview import HexPane
from tui.widgets.lines import COLUMNS
from tui.widgets.pane import Pane
from tui.widgets.timeline import TimelinePane
from tui.widgets.tree import TreePane

if TYPE_CHECKING:
    from tui.model.leads import Lead

_Answer = TypeVar("_Answer")

LOOK = 1.0
"""Seconds between two looks at a live capture."""

AT_ONCE = 4
"""Long messages that are decoded for the list before it is painted again."""


class MainScreen(Fenced, Screen[None]):
    """List, tree and bytes of one session.

    named: filters that a filter may refer to. background: the thread for what takes longer than a key may.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("screen")
    AUTO_FOCUS = ""
    BLANK = True

    def __init__(
        self,
        session: Session,
        opened: StartOptions,
        palette: Palette,
        remembered: Remembered,
        loader: Loader,
        live: LiveCapture | None = None,
    ) -> None:
        super().__init__()
        self.session, self.palette, self.remembered = session, palette, remembered
        self.config, self.limits, self.named = opened.config, opened.limits, opened.config.filters or {}
        self.lore, self._wanted = Lore(session), opened.wanted
        self.when_gone: Callable[[], object] = lambda: None
        """Called when this screen has no more to do."""
        self.background, self._asker = Background(self.call_later), Background(self.call_later)
        self.timeline = TimelinePane(palette, session, following=opened.following, id="list", lore=self.lore)
        self.timeline.timeline.flat = opened.following or remembered.get(FLAT, False)
        self.tree_pane, self.hex_pane = TreePane(palette, opened.limits, id="tree"), HexPane(palette, id="hex")
        self.bars = Bars(palette, opened.title, self.timeline, self.tree_pane, self.hex_pane)
        self.desk = Desk(
            palette,
            {"list": self.timeline, "tree": self.tree_pane, "hex": self.hex_pane},
            self.bars.widgets,
            remembered,
        )
        readers = Readers(session)
        filters = FilterWorker(session, readers, self._asker)
        search = SearchWorker(session, readers, self._asker)
        prompts = Prompts(self, session, palette, self.timeline, remembered, self.named)
        self.filter = FilterControl(
            filters, search, self.timeline, self.bars, prompts, lambda now: self.ingest.show_soon(now=now)
        )
        self.view = DetailView(session, self._read, self.background, self.bars, search, self.say_heads)
        self.search = SearchControl(search, filters, self.timeline, self.view, self.bars, prompts)
        self.names = NameLearning(self.lore, self.background, self.timeline, self.view)
        self.ingest = Ingest(
            self,
            loader,
            live,
            self.filter,
            self.names,
            self.view,
            self.bars,
            self.say_heads,
            follows=opened.following,
        )

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield self.desk

    def on_mount(self) -> None:
        """Begins to read; what is there in a moment is painted with the first screen."""
        self.set_focus(self.desk.focus_first, scroll_visible=False)
        self.timeline.said.times.form = first_form(self.config.time_format, self.remembered.get(TIME_FORMAT, ""))
        if self.remembered.get(COLUMNS, []):
            self.action_do("columns.begin")
        growth = self.ingest.begin()
        self._asker.start()
        if self._wanted is not None:
            self.filter.begin(self._wanted)
        self.ingest.take_over(growth)
        self.on_descendant_focus()
        self.background.start()
        if self.ingest.live is not None:
            self.set_interval(LOOK, self.ingest.say_title)
        self.call_after_refresh(self.ingest.go_on)
        self.call_after_refresh(self.action_do, "colouring.begin")

    def _read(self, row: int, standing: Standing | None) -> Detail:
        """All that is shown of a message; any thread may ask."""
        return read_detail(self.session, row, self.limits, self.lore, standing)

    def on_unmount(self) -> None:
        """The last that a screen hears."""
        self.when_gone()

    def stop(self, patience: float) -> None:
        """Ends reading and decoding; waits that many seconds for each thread at most."""
        self.background.stop()
        self.search.stop()
        self._asker.stop()
        if self._asker.ident is not None:
            self._asker.join(patience)
        self.ingest.stop(patience)

    # What the bars say.

    def say(self, text: str, style: str = "bar") -> None:
        """A sentence in the status line, until something else is selected."""
        self.bars.say(text, style)

    @on(TimelinePane.Widened)
    @on(TimelinePane.Followed)
    @on(Pane.Shifted)
    def say_heads(self) -> None:
        """What stands above the panes speaks of what they show now."""
        view, zoomed = self.view, self.desk.arrangement.zoomed
        self.bars.say_heads(view.detail, view.head, view.source, zoomed=zoomed, scrolls=self.ingest.scrolls)

    def on_descendant_focus(self) -> None:
        """Another pane has the focus: heads, keys and status speak of it."""
        self.say_heads()
        self.bars.say_keys()
        self.view.say_status()

    @on(Resize)
    @on(Desk.Rearranged)
    def _say_heads_soon(self) -> None:
        """Other columns fit into the list, or another pane is zoomed."""
        self.call_after_refresh(self.say_heads)

    # What the panes tell.

    @on(TimelinePane.Selected)
    def _select(self, message: TimelinePane.Selected) -> None:
        """Goes to the end of the queue first: behind what says that the list's cursor has to be painted."""
        self.call_later(self._show_selected, message.place)

    def _show_selected(self, place: ListPlace | None) -> None:
        """The cursor is painted before anything else is done: it is what the eye follows. Textual's own clock would
        come to that behind all that follows, which takes as long again.
        """
        if place == self.timeline.selected:  # else the cursor has gone on since
            self._on_timer_update()
            self.view.show_selected(place)
            if place is None:
                self.filter.say_if_empty()

    @on(TimelinePane.Wanting)
    def _decode_for_list(self, message: TimelinePane.Wanting) -> None:
        cells, rows = self.timeline.cells, message.rows[:AT_ONCE]
        self.background.ask("list", lambda: cells.decode(rows), self.timeline.keep)

    @on(TimelinePane.Wants)
    def _read_for_list(self, message: TimelinePane.Wants) -> None:
        self.background.ask(message.want.kind, message.want.work, self.timeline.take)

    @on(TreePane.Selected)
    def _select_field(self, message: TreePane.Selected) -> None:
        self.view.select_field(message.path)

    @on(HexPane.Moved)
    def _select_byte(self, message: HexPane.Moved) -> None:
        self.view.select_byte(message.offset)

    @on(HexPane.Turned)
    def _turn_source(self, message: HexPane.Turned) -> None:
        self.view.turn_source(message.by)

    @on(Bar.Clicked, "#hex-head")
    def _turn_to_tab(self, message: Bar.Clicked) -> None:
        self.view.turn_to(int(message.name))
        self.hex_pane.focus()

    @on(TimelinePane.Entered)
    def _to_tree(self) -> None:
        self.tree_pane.focus()

    @on(TreePane.Entered)
    def _to_bytes(self) -> None:
        self.hex_pane.focus()

    # What keys do.

    @on(Pane.MenuWanted)
    def _open_menu(self) -> None:
        self.action_do("menu.show")

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

    def _action_filter(self) -> None:
        self.filter.ask()

    def _action_find(self) -> None:
        self.search.ask()

    def _action_find_next(self) -> None:
        self.search.search(forward=True)

    def _action_find_previous(self) -> None:
        self.search.search(forward=False)

    def _action_give_up(self) -> None:
        if not self.search.give_up():
            self.filter.give_up()

    def action_do(self, name: str) -> None:
        """Runs a command, the function `module.function` of tui.commands; imported when it is first used."""
        module, _, function = name.rpartition(".")
        getattr(import_module(f"tui.commands.{module}"), function)(self)

    def open(self, dialog: Screen[tuple[_Answer]], then: Callable[[_Answer], object]) -> None:
        """Opens a dialog; `then` gets its answer, if there is one."""

        def answered(answer: tuple[_Answer] | None) -> None:
            if answer is not None:
                then(*answer)

        self.app.push_screen(dialog, answered)

    def follow_lead(self, lead: Lead | None) -> None:
        """Goes where the line of a page leads that the user has chosen; nowhere if he has left it."""
        if lead is None:
            return
        from tui.model.leads import Shows, To, ToPlace

        self.say("")
        match lead:
            case To(row):
                self.view.select_row(row)
            case ToPlace(row, where):
                self.view.select_at(row, where)
            case Shows(condition):
                from analyzer.query.filter import compiled

                self.filter.apply(compiled(condition, self.named))

    def _action_view(self) -> None:
        self.timeline.switch()
        self.remembered.keep(FLAT, self.timeline.timeline.flat)
        self.say_heads()

    def _action_quit(self) -> None:
        self.quit()

    def quit(self) -> None:
        """Ends the program; where packets would be lost, who wants that is asked first."""
        if self.ingest.live is None:
            self.app.exit()
        else:
            self.action_do("capturing.leave")
