"""The half of the main screen that shows what is selected: its tree and its bytes.

Theory. Panes do not know one another: each says what is selected in it, and this screen tells the others. What one pane
is told it does not tell again, so nothing goes round in circles. What takes long is decoded by another thread, and
shown if it is still what is selected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from textual import on
from textual.message import Message

from analyzer.decode.content import read_cell
from analyzer.decode.fragments import portion_of
from analyzer.decode.name_resolver import Lore
from analyzer.insight.related import standing_of
from analyzer.render.lines import plain
from analyzer.session import Session
from dissectors.field import Field, Tree
from dissectors.lesson import Standing
from tui.background import Background, Failed
from tui.messages import Decoded, Done, Nothing, SaidLater, Stood
from tui.model.cells import LONG
from tui.model.detail import Detail, Note, Place, field_path, fields_at, place_of, read_detail, stream_notes
from tui.model.timeline import Place as ListPlace
from tui.opened import Opened
from tui.screens.asking import AskingScreen
from tui.theme import Palette
from tui.widgets.bar import Bar
from tui.widgets.hexview import HexPane
from tui.widgets.timeline import TimelinePane
from tui.widgets.tree import TreePane

_Result = TypeVar("_Result")

AT_ONCE = 4
"""Long messages that are decoded for the list before it is painted again."""


class ShowingScreen(AskingScreen):
    """Shows in `tree_pane` and `hex_pane` what is selected in `timeline`.

    detail: the message that is shown, None while there is none. head: what stands above the tree; source: which of the
    message's sources the bytes are of.
    """

    def __init__(self, session: Session, opened: Opened, palette: Palette) -> None:
        lore = Lore(session)
        listed = TimelinePane(palette, session, following=opened.following, id="list", lore=lore)
        super().__init__(session, palette, listed, opened.config.filters)
        self.session, self.limits, self.lore = session, opened.limits, lore
        self.detail: Detail | None = None
        self.head, self.source = "", 0
        self.tree_pane = TreePane(palette, opened.limits, id="tree")
        self.hex_pane = HexPane(palette, id="hex")
        self.background = Background(self.post_message)
        self._aim: tuple[int, Callable[[Tree], Place | None]] | None = None

    @property
    def ignored(self) -> set[int]:
        """Rows that are to be left out wherever rows are looked at."""
        return self.timeline.said.marks.ignored

    def say_heads(self) -> None:
        """What stands above the panes speaks of what they show now."""
        raise NotImplementedError

    def say_status(self) -> None:
        """The status line speaks of what is selected now."""
        raise NotImplementedError

    @on(TimelinePane.Selected)
    def _select(self, message: TimelinePane.Selected) -> None:
        """Goes to the end of the queue first: behind what says that the list's cursor has to be painted."""
        self.call_later(self._show_selected, message.place)

    def _show_selected(self, place: ListPlace | None) -> None:
        """The cursor is painted before anything else is done: it is what the eye follows. Textual's own clock would
        come to that behind all that follows, which takes as long again.
        """
        if place != self.timeline.selected:
            return  # the cursor has gone on since
        self._on_timer_update()
        self.background.forget("detail")
        self.background.forget("session")
        self.say_status()
        if place is None:
            self.show_nothing()
            self.say_if_empty()
        elif place.row is None:
            cells = self.timeline.stream_cells(place.stream)
            self._show(None, f"stream {place.stream}", stream_notes(self.session, cells), ())
        else:
            self._look_at(place.row)

    def _look_at(self, row: int) -> None:
        """Decodes a row and shows it: at once; when it is long, or not alone, as soon as another thread has done so."""
        session, limits, lore = self.session, self.limits, self.lore
        length = session.rows.cell("length", row)
        if row in self.ignored:
            self._show(None, f"message {row + 1}", (Note((("dim", "ignored: d takes it in again"),)),), ())
            return
        if length < LONG and portion_of(session, row) is None:
            self._show_detail(read_detail(session, row, limits, lore))
        else:
            self._show(None, f"message {row + 1}", (Note((("dim", f"decoding {length:,} bytes ..."),)),), ())
            self.background.ask("detail", lambda: Decoded(read_detail(session, row, limits, lore)))
        self.background.ask("session", lambda: self._stand(row))

    def look_again(self) -> None:
        """Shows anew what is selected: there is something else to be said of it."""
        place = self.timeline.selected
        if place is not None and place.row is not None:
            self._look_at(place.row)

    def _stand(self, row: int) -> Message:
        standing = standing_of(self.session, row)
        return Nothing() if standing is None else Stood(row, standing)

    @on(Stood)
    def _stood(self, message: Stood) -> None:
        self.read_again(message.row, message.standing)

    def read_again(self, row: int, standing: Standing | None) -> None:
        """Decodes what is shown again, for more is known of it."""
        session, limits, lore = self.session, self.limits, self.lore
        if self._is_selected(row):
            self.background.ask("detail", lambda: Decoded(read_detail(session, row, limits, lore, standing)))

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
            self._point_at_aim()
            return
        said = f"{'round the end, ' if found.went_round else ''}found in message {detail.row + 1}"
        where = found.place_in(detail.tree)
        if where is not None:
            path, place = where
            self._reveal(path, place)
            said += f": {field_path([node.spec.name for node in path])}"
        self.say(said)

    def _point_at_aim(self) -> None:
        detail, aim = self.detail, self._aim
        if detail is None or aim is None or aim[0] != detail.row:
            self._aim = None
            return
        place = aim[1](detail.tree)
        if place is not None:
            self._reveal(fields_at(detail.tree, place.source, place.offset), place)

    def _reveal(self, path: Sequence[Field], place: Place) -> None:
        """Selects the last field of a path, and marks bytes."""
        self.tree_pane.reveal(path)
        self._turn_to(place.source)
        self.hex_pane.mark((place.offset, place.offset + place.length), jump=True)

    def _show(self, detail: Detail | None, head: str, notes: Sequence[Note], fields: Sequence[Field]) -> None:
        self.detail, self.head = detail, head
        self.tree_pane.show(notes, fields)
        self._turn_to(0)
        self.timeline.show_partner(None if detail is None else detail.partner)
        self.say_heads()
        if not self.timeline.has_focus:  # else it speaks of no field, and what a key has said meanwhile stays
            self.say_status()

    def show_nothing(self) -> None:
        """Nothing is selected, or what was has left."""
        self._show(None, "", (), ())

    def check_partner(self) -> None:
        """An answer that came in late makes its request a partner."""
        detail = self.detail
        if detail is not None and detail.partner is None:
            partner = read_cell(self.session, "partner", detail.row)
            if partner is not None and self.timeline.timeline.first <= partner < self.timeline.timeline.rows:
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
        self.say_status()

    @on(HexPane.Moved)
    def _select_byte(self, message: HexPane.Moved) -> None:
        if self.detail is None:
            return
        path = fields_at(self.detail.tree, self.source, message.offset)
        if path:
            self.tree_pane.reveal(path)
            place = place_of(path[-1])
            if place is not None and place.source == self.source:
                self.hex_pane.mark((place.offset, place.offset + place.length), jump=False)
        self.say_status()

    @on(HexPane.Turned)
    def _turn(self, message: HexPane.Turned) -> None:
        sources = 0 if self.detail is None else len(self.detail.tree.sources)
        if sources > 1:
            self._turn_to((self.source + message.by) % sources)
        else:
            self.say("there is no other source: nothing here was decompressed or joined", "bar-warning")

    @on(Bar.Clicked, "#hex-head")
    def _turn_to_tab(self, message: Bar.Clicked) -> None:
        self._turn_to(int(message.name))
        self.hex_pane.focus()

    def _turn_to(self, source: int) -> None:
        """Another source in the hex pane."""
        detail = self.detail
        if detail is not None and self.hex_pane.shows == (detail.row, source):
            return
        self.source = source
        if detail is None:
            self.hex_pane.show(None, b"", ())
        else:
            self.hex_pane.show((detail.row, source), detail.tree.sources[source].data, detail.masks.get(source, ()))
        self.say_heads()

    def later(
        self, kind: str, work: Callable[[], _Result], then: Callable[[_Result], None], worker: Background | None = None
    ) -> None:
        """Has a thread do work, and what comes of it dealt with here; newer work of its kind takes its place.

        worker: a thread for what takes very long; None: that of this screen.
        """

        def whole() -> Done:
            found = work()
            return Done(lambda: then(found))

        (worker or self.background).ask(kind, whole)

    @on(Done)
    def _done(self, message: Done) -> None:
        message.then()

    @on(Failed)
    def _fail(self, message: Failed) -> None:
        raise message.error

    @on(TimelinePane.Wanting)
    def _decode_for_list(self, message: TimelinePane.Wanting) -> None:
        cells, rows = self.timeline.cells, message.rows[:AT_ONCE]
        self.background.ask("list", lambda: SaidLater(cells.decode(rows)))

    @on(TimelinePane.Wants)
    def _read_for_list(self, message: TimelinePane.Wants) -> None:
        self.later(message.want.kind, message.want.work, self.timeline.take)

    @on(SaidLater)
    def _said_later(self, message: SaidLater) -> None:
        self.timeline.keep(message.said)

    def select_row(self, row: int, what: str = "") -> None:
        """Selects a row of those that were announced, or says why that cannot be."""
        if self.timeline.timeline.shows(row):
            self.timeline.select_row(row)
        else:
            self.say(f"the filter hides {what}message {row + 1}: an empty filter (/) shows all", "bar-warning")

    def select_at(self, row: int, where: Callable[[Tree], Place | None]) -> None:
        """Selects a row and, when it is decoded, the field at a place in it, if there is one; see select_row."""
        self._seeker.found, self._aim = None, (row, where)
        if self._is_selected(row):
            self.point()
        else:
            self.select_row(row)
