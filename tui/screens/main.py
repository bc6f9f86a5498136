"""The three panes and what they have to do with each other.

Theory. Panes do not know one another: each says what is selected in it, and this screen tells the others. What one pane
is told it does not tell again, so nothing goes round in circles. Rows are taken over a few times a second, however
fast they come: the next time is put off by ten times what the last one took, so that keys always find time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.timer import Timer

from analyzer.known import standing_of
from analyzer.lore import Lore
from analyzer.naming import TOPIC
from analyzer.render.jsonable import Limits
from analyzer.render.lines import plain
from analyzer.session import Session
from dissectors.field import Field
from dissectors.lesson import Standing
from tui import keys
from tui.background import Background, Failed
from tui.commands import command
from tui.loader import Ended, Grew, Loader
from tui.messages import Decoded, Done, Learned, Nothing, SaidLater, Stood
from tui.model.cells import LONG
from tui.model.detail import Detail, Note, fields_at, place_of, read_detail, stream_notes
from tui.screens.asking import AskingScreen
from tui.screens.bars import Counts, field_path
from tui.screens.frame import Frame
from tui.theme import Palette
from tui.widgets.bar import Bar, Part
from tui.widgets.hexview import HexPane
from tui.widgets.pane import Pane
from tui.widgets.timeline import TimelinePane
from tui.widgets.tree import TreePane

if TYPE_CHECKING:
    from analyzer.filter import Filter
    from tui.screens.page import Deed

_Result = TypeVar("_Result")

MOMENT = 0.1
"""Seconds that the first screen waits for the first rows: to paint it twice takes longer than to read them."""

PAUSE = 0.1
"""Seconds between two times at which rows are taken over."""

SHARE = 10
"""That many times what taking over took passes until the next."""

LESSONS, LESSONS_FROM = 500, 100_000
"""Messages that teach names, and rows among which they are looked for, that are read before others get their turn."""

AT_ONCE = 4
"""Long messages that are decoded for the list before it is painted again."""


class MainScreen(AskingScreen):
    """List, tree and bytes of one session."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("screen")
    AUTO_FOCUS = "#list"
    DEFAULT_CSS = """
    MainScreen { layout: vertical; }
    #panes { layout: grid; height: 1fr; grid-size: 2 2; grid-columns: 1fr 45; grid-rows: 1fr 1fr; }
    #list-side { column-span: 2; }
    #hex-side { border-left: vkey $panel; }
    #list, #tree, #hex { height: 1fr; }
    MainScreen.-wide #panes { grid-size: 3 1; grid-columns: 5fr 4fr 45; grid-rows: 1fr; }
    MainScreen.-vast #panes { grid-size: 3 1; grid-columns: 4fr 3fr 78; grid-rows: 1fr; }
    MainScreen.-wide #list-side, MainScreen.-vast #list-side { column-span: 1; }
    MainScreen.-wide #tree-side, MainScreen.-vast #tree-side { border-left: vkey $panel; }
    """

    def __init__(
        self,
        session: Session,
        title: str,
        palette: Palette,
        limits: Limits,
        *,
        following: bool,
        wanted: Filter | None = None,
        named: Mapping[str, str] | None = None,
    ) -> None:
        lore = Lore(session)
        listed = TimelinePane(palette, session, following=following, id="list", lore=lore)
        super().__init__(session, palette, listed, named)
        self.session, self.limits, self.lore = session, limits, lore
        self._opened, self._wanted = title, wanted
        self._counts = Counts()
        self._announced: Grew | None = None
        self._timer: Timer | None = None
        self._next = 0.0
        self.detail: Detail | None = None
        self._head, self._source = "", 0
        self.tree_pane = TreePane(palette, limits, id="tree")
        self.hex_pane = HexPane(palette, id="hex")
        self.frame = Frame(palette, self.timeline, self.tree_pane, self.hex_pane)
        self._loader = Loader(session, self.post_message)
        self._background = Background(self.post_message)

    def compose(self) -> ComposeResult:
        """See Textual."""
        bars = self.frame.bars
        yield bars["title"]
        with Container(id="panes"):
            for name, pane in self.frame.panes.items():
                with Vertical(id=f"{name}-side"):
                    yield bars[f"{name}-head"]
                    yield pane
        yield bars["status"]
        yield bars["keys"]

    def on_mount(self) -> None:
        """Begins to read; what is there in a moment is painted with the first screen."""
        self._announced = self._loader.begin(MOMENT)
        self.start_asking(self._wanted)
        self._take_over()
        self._say_title()
        self.on_descendant_focus()
        self._background.start()
        self.call_after_refresh(self._loader.go_on)

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
        self._background.stop()
        self.stop_asking(patience)
        if self._loader.ident is not None:
            self._loader.stop(patience)

    # Rows come in.

    @on(Grew)
    def _announce(self, message: Grew) -> None:
        self._announced = message
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
        message, self._announced = self._announced, None
        began = time.monotonic()
        if message is not None:
            self.timeline.grow(message.rows, message.streams)
            self._counts = self._counts.grown(message)
            self._sifter.grow(message.rows)
            self.say_heads()
            self._check_partner()
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
            self._background.ask("names", lambda: Learned(lore.learn(rows, LESSONS)))

    @on(Learned)
    def _learned(self, message: Learned) -> None:
        if TOPIC in message.kinds:
            self.timeline.name_anew()
        detail = self.detail
        if message.kinds and detail is not None:
            self._read_again(detail.row, detail.known.standing)
        self._learn()

    @on(Ended)
    def _end(self, message: Ended) -> None:
        self._take_over()
        self._sifter.end()
        self._counts = self._counts.ended(message.error)
        self._say_title()
        if message.error is not None:
            if not self.timeline.timeline.rows:
                self.app.exit(message.error)
            self.say(str(message.error), "bar-error")
        elif not self.timeline.timeline.streams:
            self.say("there is no TCP packet in it", "bar-warning")

    # What is selected.

    @on(TimelinePane.Selected)
    def _select(self, message: TimelinePane.Selected) -> None:
        place = message.place
        if place != self.timeline.selected:
            return  # the cursor has gone on since
        self._background.forget("detail")
        self._background.forget("session")
        if place is None:
            self._show(None, "", (), ())
            self.say_if_empty()
        elif place.row is None:
            cells = self.timeline.stream_cells(place.stream)
            self._show(None, f"stream {place.stream}", stream_notes(self.session, cells), ())
        else:
            self._look_at(place.row)

    def _look_at(self, row: int) -> None:
        """Decodes a row and shows it: at once, or when it is long, as soon as another thread has decoded it."""
        session, limits, lore = self.session, self.limits, self.lore
        length = session.rows.cell("length", row)
        if length < LONG:
            self._show_detail(read_detail(session, row, limits, lore))
        else:
            self._show(None, f"message {row + 1}", (Note((("dim", f"decoding {length:,} bytes ..."),)),), ())
            self._background.ask("detail", lambda: Decoded(read_detail(session, row, limits, lore)))
        self._background.ask("session", lambda: self._stand(row))

    def _stand(self, row: int) -> Message:
        standing = standing_of(self.session, row)
        return Nothing() if standing is None else Stood(row, standing)

    @on(Stood)
    def _stood(self, message: Stood) -> None:
        self._read_again(message.row, message.standing)

    def _read_again(self, row: int, standing: Standing | None) -> None:
        """Decodes what is shown again, for more is known of it."""
        session, limits, lore = self.session, self.limits, self.lore
        if self._is_selected(row):
            self._background.ask("detail", lambda: Decoded(read_detail(session, row, limits, lore, standing)))

    def _is_selected(self, row: int) -> bool:
        place = self.timeline.selected
        return place is not None and place.row == row

    @on(Decoded)
    def _decoded(self, message: Decoded) -> None:
        detail, shown = message.detail, self.detail
        if not self._is_selected(detail.row):
            return
        if shown is None or shown.row != detail.row:
            self._show_detail(detail)
        elif self.timeline.has_focus and detail.known != shown.known:
            # Only the first line of the tree is selected while nobody is in it: nobody is thrown off his place.
            self._show_detail(detail)

    def _show_detail(self, detail: Detail) -> None:
        self._show(detail, plain(detail.title), detail.notes, detail.tree.fields)
        self.point()

    def point(self) -> None:
        """See AskingScreen: selects the field and marks the bytes."""
        detail = self.detail
        found = None if detail is None else self._seeker.found_in(detail.row)
        if detail is None or found is None:
            return
        said = f"{'round the end, ' if found.went_round else ''}found in message {detail.row + 1}"
        where = found.place_in(detail.tree)
        if where is not None:
            path, place = where
            self.tree_pane.reveal(path)
            self._turn_to(place.source)
            self.hex_pane.mark((place.offset, place.offset + place.length), jump=True)
            said += f": {field_path([node.spec.name for node in path])}"
        self.say(said)

    def _show(self, detail: Detail | None, head: str, notes: Sequence[Note], fields: Sequence[Field]) -> None:
        self.detail, self._head = detail, head
        self.tree_pane.show(notes, fields)
        self._turn_to(0)
        self.timeline.show_partner(None if detail is None else detail.partner)
        self.say_heads()
        self._say_status()

    def _check_partner(self) -> None:
        """An answer that came in late makes its request a partner."""
        detail = self.detail
        if detail is not None and detail.partner is None:
            partner = self.session.cell("partner", detail.row)
            if partner is not None and partner < self.timeline.timeline.rows:
                self.detail = replace(detail, partner=partner)
                self.timeline.show_partner(partner)

    @on(TreePane.Selected)
    def _select_field(self, message: TreePane.Selected) -> None:
        place = place_of(message.path[-1]) if message.path else None
        if place is None:
            self.hex_pane.mark(None, jump=False)
        else:
            self._turn_to(place.source)
            self.hex_pane.mark((place.offset, place.offset + place.length), jump=True)
        self._say_status()

    @on(HexPane.Moved)
    def _select_byte(self, message: HexPane.Moved) -> None:
        if self.detail is None:
            return
        path = fields_at(self.detail.tree, self._source, message.offset)
        if path:
            self.tree_pane.reveal(path)
            place = place_of(path[-1])
            if place is not None and place.source == self._source:
                self.hex_pane.mark((place.offset, place.offset + place.length), jump=False)
        self._say_status()

    @on(HexPane.Turned)
    def _turn(self, message: HexPane.Turned) -> None:
        if self.detail is not None:
            self._turn_to((self._source + message.by) % len(self.detail.tree.sources))

    @on(Bar.Clicked, "#hex-head")
    def _turn_to_tab(self, message: Bar.Clicked) -> None:
        self._turn_to(int(message.name))
        self.hex_pane.focus()

    def _turn_to(self, source: int) -> None:
        """Another source in the hex pane."""
        detail = self.detail
        if detail is not None and self.hex_pane.shows == (detail.row, source):
            return
        self._source = source
        if detail is None:
            self.hex_pane.show(None, b"", ())
        else:
            self.hex_pane.show((detail.row, source), detail.tree.sources[source].data, detail.masks.get(source, ()))
        self.say_heads()

    def later(self, kind: str, work: Callable[[], _Result], then: Callable[[_Result], None]) -> None:
        """Has a thread do work, and what comes of it dealt with here; newer work of its kind takes its place."""

        def whole() -> Done:
            found = work()
            return Done(lambda: then(found))

        self._background.ask(kind, whole)

    @on(Done)
    def _done(self, message: Done) -> None:
        message.then()

    @on(Failed)
    def _fail(self, message: Failed) -> None:
        raise message.error

    @on(TimelinePane.Wanting)
    def _decode_for_list(self, message: TimelinePane.Wanting) -> None:
        cells, rows = self.timeline.cells, message.rows[:AT_ONCE]
        self._background.ask("list", lambda: SaidLater(cells.decode(rows)))

    @on(SaidLater)
    def _said_later(self, message: SaidLater) -> None:
        self.timeline.keep(message.said)

    # What is said in the bars.

    def say(self, text: str, style: str = "bar") -> None:
        """See AskingScreen."""
        self.frame.status([Part("bar", " "), Part(style, text)])

    def say_heads(self) -> None:
        """What is above the panes speaks of what they show now."""
        self.frame.say_heads(self.detail, self._head, self._source)

    def _say_title(self) -> None:
        self.frame.say_title(self._opened, self._counts, self.filtered)

    def _say_status(self) -> None:
        self.frame.say_status(self.detail, self._source)

    @on(Pane.Shifted)
    def _shifted(self) -> None:
        self.say_heads()

    def on_descendant_focus(self) -> None:
        """Another pane has the focus: heads, keys and status speak of it."""
        self.say_heads()
        self.frame.say_keys()
        self._say_status()

    def on_resize(self) -> None:
        """Other columns fit into the list."""
        self.call_after_refresh(self.say_heads)

    # What keys do.

    @on(TimelinePane.Entered)
    def _to_tree(self) -> None:
        self.tree_pane.focus()

    @on(TreePane.Entered)
    def _to_bytes(self) -> None:
        self.hex_pane.focus()

    @on(Bar.Clicked, "#keys")
    async def _press(self, message: Bar.Clicked) -> None:
        pane = self.focused
        if isinstance(pane, Pane) and hasattr(pane, f"_action_{message.name}"):
            await pane.run_action(message.name)
        else:
            await self.run_action(message.name)

    def _action_next_pane(self) -> None:
        self._focus_pane(1)

    def _action_previous_pane(self) -> None:
        self._focus_pane(-1)

    def _focus_pane(self, by: int) -> None:
        panes = list(self.frame.panes.values())
        panes[(panes.index(self.frame.focused) + by) % len(panes)].focus()

    def select_row(self, row: int, what: str = "") -> None:
        """Selects a row of those that were announced, or says why that cannot be."""
        if self.timeline.timeline.shows(row):
            self.timeline.select_row(row)
        else:
            self.say(f"the filter hides {what}message {row + 1}: an empty filter (/) shows all", "bar-warning")

    def do_deed(self, deed: Deed | None) -> None:
        """What a page ended with."""
        if deed is not None:
            self.say("")
            deed.do(self)

    def _action_do(self, name: str) -> None:
        command(name)(self)

    def _action_view(self) -> None:
        self.timeline.switch()
        self.say_heads()

    def _action_quit(self) -> None:
        self.app.exit()
