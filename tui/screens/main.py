"""The main screen: it composes its parts and passes on messages of panes and keys.

Theory. Ingest takes over and drops rows, DetailView shows the selection, FilterControl and SearchControl work on the
whole capture, and StatusBars show the state. The parts know the parts that they need, and none knows this screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.screen import Screen

from analyzer.columns.text import safe_text
from analyzer.decode.name_resolver import NameResolver
from analyzer.session import Session
from dissectors.name_binding import SessionContents
from tui import keys
from tui.background import BackgroundWorker
from tui.crash_guard import CrashGuard
from tui.filter_worker import FilterWorker, RowReaders
from tui.inputs import LiveCapture, StartOptions
from tui.loader import Loader
from tui.model.activity_height import load_height
from tui.model.detail import MessageDetail, read_detail
from tui.model.row_lines import COLUMNS_KEY
from tui.model.timeline import FLAT_KEY, ListPlace
from tui.model.times import TIME_FORMAT_KEY, choose_format
from tui.saved_state import SavedState
from tui.screens.activity import ActivityControl
from tui.screens.detail_view import DetailView
from tui.screens.filter_and_search import FilterControl, InputPrompts, SearchControl
from tui.screens.ingest import Ingest, NameLearning
from tui.screens.status_bars import StatusBars
from tui.search_worker import SearchWorker
from tui.theme import Palette
from tui.widgets.activity_bar import ActivityBar
from tui.widgets.bars import Bar, BarPart
from tui.widgets.detail_panes import HexPane, TreePane
from tui.widgets.painted import PaintedWidget
from tui.widgets.pane import Pane
from tui.widgets.pane_area import PaneArea
from tui.widgets.timeline import TimelinePane

if TYPE_CHECKING:
    from tui.model.leads import Lead

_Answer = TypeVar("_Answer")

STATUS_INTERVAL = 1.0
"""Seconds between two updates of a live capture's status."""

LONGEST_TITLE = 40
"""The characters of a capture's title in its tab."""

MOST_LONG_BODIES = 4
"""Long messages that are decoded for the list before it is painted again."""


class MainScreen(CrashGuard, Screen[None]):
    """The list, the tree and the bytes of one session.

    named: named filters. background: the worker thread.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("screen")
    AUTO_FOCUS = ""
    BLANK = True

    def __init__(
        self,
        session: Session,
        opened: StartOptions,
        palette: Palette,
        saved_state: SavedState,
        loader: Loader,
        live: LiveCapture | None = None,
    ) -> None:
        super().__init__()
        self.session, self.palette, self.saved_state = session, palette, saved_state
        self.opened = self.origin = opened
        self.config, self.limits, self.named = opened.config, opened.limits, opened.config.filters or {}
        self.resolver, self._wanted = NameResolver(session), opened.wanted
        self.on_removed: Callable[[], object] = lambda: None
        """Called when this screen is gone."""
        self.background, self._asker = BackgroundWorker(self.call_later), BackgroundWorker(self.call_later)
        self.timeline = TimelinePane(palette, session, following=opened.following, id="list", resolver=self.resolver)
        self.timeline.timeline.flat = opened.following or saved_state.get(FLAT_KEY, False)
        self.tree_pane, self.hex_pane = TreePane(palette, opened.limits, id="tree"), HexPane(palette, id="hex")
        self.capture_bar = Bar(palette, "bar", id="captures")
        self.capture_bar.display = False
        activity_bar = ActivityBar(palette, load_height(saved_state))
        self.bars = StatusBars(palette, opened.title, self.timeline, self.tree_pane, self.hex_pane)
        self.pane_area = PaneArea(
            palette,
            {"list": self.timeline, "tree": self.tree_pane, "hex": self.hex_pane},
            self.bars.widgets,
            saved_state,
            activity_bar,
        )
        readers = RowReaders(session)
        filters = FilterWorker(session, readers, self._asker)
        search = SearchWorker(session, readers, self._asker)
        prompts = InputPrompts(self, session, palette, self.timeline, saved_state, self.named)
        self.filter = FilterControl(
            filters, search, self.timeline, self.bars, prompts, lambda now: self.ingest.show_soon(now=now)
        )
        self.activity = ActivityControl(self, session, activity_bar, self.filter, self.bars)
        self.view = DetailView(session, self._read_detail, self.background, self.bars, search, self.show_heads)
        self.search = SearchControl(search, filters, self.timeline, self.view, self.bars, prompts)
        self.names = NameLearning(self.resolver, self.background, self.timeline, self.view)
        self.ingest = Ingest(
            self,
            loader,
            live,
            self.filter,
            self.names,
            self.view,
            self.bars,
            self.show_heads,
            follows=opened.following,
        )

    def compose(self) -> ComposeResult:
        """Yields the tabs of open captures, and the area of panes and bars."""
        yield self.capture_bar
        yield self.pane_area

    def on_mount(self) -> None:
        """Starts reading; the first rows are painted with the first screen."""
        self.set_focus(self.pane_area.focus_first, scroll_visible=False)
        self.timeline.row_lines.times.format = choose_format(
            self.config.time_format, self.saved_state.get(TIME_FORMAT_KEY, "")
        )
        entry = self.opened.entry
        if self.saved_state.get(COLUMNS_KEY, []) or (entry is not None and entry.columns):
            self.action_do("columns.restore_columns")
        if entry is not None:
            self.ingest.when_read = partial(self.action_do, "opening.restore_rows")
        growth = self.ingest.begin()
        self._asker.start()
        self.activity.meter.comes_live = self.ingest.comes_live
        self.activity.meter.begin()
        if self._wanted is not None:
            self.filter.begin(self._wanted)
        self.ingest.take_over(growth)
        self.on_descendant_focus()
        self.background.start()
        if self.ingest.live is not None:
            self.set_interval(STATUS_INTERVAL, self.ingest.show_title)
        self.call_after_refresh(self.ingest.resume)
        self.call_after_refresh(self.action_do, "appearance.load_rules")

    def _read_detail(self, row: int, session_contents: SessionContents | None) -> MessageDetail:
        """Decodes a message for the panes; any thread may call it."""
        return read_detail(self.session, row, self.limits, self.resolver, session_contents)

    def on_unmount(self) -> None:
        """Runs the `on_removed` callback when Textual removes the screen."""
        self.on_removed()

    def stop(self, patience: float) -> None:
        """Ends reading and decoding; waits at most `patience` seconds for each thread."""
        self.background.stop()
        self.search.stop()
        self.activity.meter.stop()
        self._asker.stop()
        if self._asker.ident is not None:
            self._asker.join(patience)
        self.ingest.stop(patience)

    def remember(self) -> None:
        """Remembers the state of a capture of files, for the next time that they are opened."""
        from tui.model.capture_memory import CaptureEntry, add_entry, list_paths, measure_size

        paths = list_paths(self.session)
        if not paths:
            return
        entry = self.opened.entry or CaptureEntry(paths, measure_size(paths))
        if not self.ingest.is_reading:
            in_force, place, lines = self.filter.in_force, self.timeline.selected, self.timeline.row_lines
            entry = CaptureEntry(
                paths,
                measure_size(paths),
                "" if in_force is None else in_force.text,
                None if place is None else place.row,
                tuple(sorted(lines.marks.marked)),
                tuple(sorted(lines.marks.ignored)),
                tuple(() if lines.custom_columns is None else lines.custom_columns.names),
                "" if self.timeline.sorting is None else self.timeline.sorting.key,
            )
        add_entry(self.saved_state, entry)

    # What the bars say.

    def show_captures(self, titles: Sequence[str], at: int) -> None:
        """Shows the titles of the open captures as tabs; this one has index `at`. No titles: no tabs."""
        self.capture_bar.display = bool(titles)
        names = [safe_text(title, LONGEST_TITLE) for title in titles]
        self.capture_bar.show(
            [
                BarPart("tab-on", f"[{name}]", str(place)) if place == at else BarPart("tab", f" {name} ", str(place))
                for place, name in enumerate(names)
            ],
            [BarPart("bar-dim", " { } switch, Q closes ")],
        )

    def show_message(self, text: str, style: str = "bar") -> None:
        """Shows a message in the status line until the selection changes."""
        self.bars.show_message(text, style)

    @on(TimelinePane.ColumnGrowth)
    @on(TimelinePane.FollowToggle)
    @on(Pane.SidewaysScroll)
    def show_heads(self) -> None:
        """Updates the heads of the panes."""
        view, zoomed = self.view, self.pane_area.arrangement.zoomed
        self.bars.show_heads(view.detail, view.head, view.source, zoomed=zoomed, scrolls=self.ingest.scrolls)

    def on_descendant_focus(self) -> None:
        """Updates heads, keys and status for the pane that has the focus."""
        self.show_heads()
        self.bars.show_keys("time" if self.focused is self.activity.bar else None)
        self.view.show_status()

    @on(Resize)
    @on(PaneArea.LayoutChange)
    def _show_heads_soon(self) -> None:
        """Updates the heads after the next layout."""
        self.call_after_refresh(self.show_heads)

    # What the panes tell.

    @on(TimelinePane.WindowChange)
    def _follow_list(self, message: TimelinePane.WindowChange) -> None:
        self.activity.follow_list(has_other_rows=message.has_other_rows)

    @on(ActivityBar.Resizing)
    def _measure_activity(self) -> None:
        self.activity.update()

    @on(ActivityBar.CellsBrush)
    def _brush(self, message: ActivityBar.CellsBrush) -> None:
        self.activity.brush_cells(message.cells, is_done=message.is_done)

    @on(ActivityBar.CellClick)
    def _go_to_time(self, message: ActivityBar.CellClick) -> None:
        self.activity.go_to_cell(message.cell)

    @on(ActivityBar.Turn)
    def _turn_activity(self, message: ActivityBar.Turn) -> None:
        self.activity.turn(message)

    @on(TimelinePane.LineSelection)
    def _select(self, message: TimelinePane.LineSelection) -> None:
        """Shows the selection after the cursor has been painted."""
        self.call_later(self._show_selected, message.place)

    def _show_selected(self, place: ListPlace | None) -> None:
        """Paints the cursor, then shows the selection.

        The eye follows the cursor, and Textual's own timer would paint it after the selection.
        """
        if place == self.timeline.selected:  # else the cursor has gone on since
            self._on_timer_update()
            self.view.show_selected(place)
            if place is None:
                self.filter.warn_if_empty()

    @on(TimelinePane.BodiesRequest)
    def _decode_for_list(self, message: TimelinePane.BodiesRequest) -> None:
        cells, rows = self.timeline.cells, message.rows[:MOST_LONG_BODIES]
        self.background.submit("list", lambda: cells.decode_bodies(rows), self.timeline.cache_bodies)

    @on(TimelinePane.LinesRequest)
    def _read_for_list(self, message: TimelinePane.LinesRequest) -> None:
        self.background.submit(message.want.kind, message.want.work, self.timeline.apply_result)

    @on(TreePane.FieldSelection)
    def _select_field(self, message: TreePane.FieldSelection) -> None:
        self.view.select_field(message.path)

    @on(HexPane.ByteSelection)
    def _select_byte(self, message: HexPane.ByteSelection) -> None:
        self.view.select_byte(message.offset)

    @on(HexPane.SourceTurn)
    def _turn_source(self, message: HexPane.SourceTurn) -> None:
        self.view.cycle_source(message.by)

    @on(Bar.PartClick, "#hex-head")
    def _turn_to_tab(self, message: Bar.PartClick) -> None:
        self.view.show_source(int(message.name))
        self.hex_pane.focus()

    @on(Bar.PartClick, "#captures")
    def _show_capture(self, message: Bar.PartClick) -> None:
        from tui.commands.opening import get_window

        window = get_window(self)
        window.show_capture(window.captures[int(message.name)])

    @on(Bar.PartClick, "#list-head")
    def _sort_by(self, message: Bar.PartClick) -> None:
        from tui.commands.columns import sort_by

        sort_by(self, message.name)

    @on(TimelinePane.OrderLoss)
    def _sort_again(self) -> None:
        self.action_do("columns.sort_again")

    @on(Pane.Refusal)
    def _refuse(self, message: Pane.Refusal) -> None:
        self.show_message(message.reason, "bar-warning")

    @on(TimelinePane.TreeRequest)
    def _to_tree(self) -> None:
        self.tree_pane.focus()

    @on(TreePane.BytesRequest)
    def _to_bytes(self) -> None:
        self.hex_pane.focus()

    # What keys do.

    @on(Pane.MenuRequest)
    def _open_menu(self) -> None:
        self.action_do("menu.open_menu")

    @on(Bar.PartClick, "#keys")
    async def _press(self, message: Bar.PartClick) -> None:
        pane = self.focused
        if isinstance(pane, PaintedWidget) and hasattr(pane, f"_action_{message.name.partition('(')[0]}"):
            await pane.run_action(message.name)
        else:
            await self.run_action(message.name)

    def _action_next_pane(self) -> None:
        self.pane_area.turn_focus(1)

    def _action_previous_pane(self) -> None:
        self.pane_area.turn_focus(-1)

    def _action_filter(self) -> None:
        self.filter.ask_filter()

    def _action_find(self) -> None:
        self.search.ask_text()

    def _action_find_next(self) -> None:
        self.search.search(forward=True)

    def _action_find_previous(self) -> None:
        self.search.search(forward=False)

    def _action_give_up(self) -> None:
        if self.search.cancel() or self.filter.cancel():
            return
        if self.filter.in_force is None:
            self.show_message("there is nothing to cancel: no filter is in force, and no search is running")
        else:
            self.filter.apply(None)
            self.show_message("all messages are shown: / and Up bring the filter back")

    def action_do(self, name: str) -> None:
        """Runs a command, `module.function` of tui.commands, and imports its module if needed."""
        module, _, function = name.rpartition(".")
        getattr(import_module(f"tui.commands.{module}"), function)(self)

    def open_dialog(self, dialog: Screen[tuple[_Answer]], then: Callable[[_Answer], object]) -> None:
        """Opens a dialog; `then` gets its answer, if there is one."""

        def pass_answer(answer: tuple[_Answer] | None) -> None:
            if answer is not None:
                then(*answer)

        self.app.push_screen(dialog, pass_answer)

    def follow_lead(self, lead: Lead | None) -> None:
        """Follows the lead of a page's line; None: the user left the page."""
        if lead is None:
            return
        from tui.model.leads import FilterLead, MessageLead, PlaceLead, add_rows

        self.show_message("")
        match lead:
            case MessageLead(row):
                self.view.select_row(row)
            case PlaceLead(row, where):
                self.view.select_place(row, where)
            case FilterLead():
                self.filter.apply(add_rows(lead, self.session, self.named))

    def _action_view(self) -> None:
        self.timeline.switch_view()
        self.saved_state.set(FLAT_KEY, self.timeline.timeline.flat)
        self.show_heads()

    def _action_quit(self) -> None:
        self.quit()

    def quit(self) -> None:
        """Ends the program; asks first if packets would be lost."""
        self.action_do("capturing.quit_program")
