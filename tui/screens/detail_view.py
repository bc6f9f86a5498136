"""What is selected in the list, shown: its tree and its bytes.

Theory. Panes do not know one another: each says what is selected in it, and here the others are told. What one pane is
told it does not tell again, so nothing goes round in circles. What takes long is decoded by another thread, and shown
if it is still what is selected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from analyzer.decode.content import read_cell
from analyzer.decode.fragments import find_fragment
from analyzer.insight.related import standing_of
from analyzer.render.lines import plain
from analyzer.session import Session
from dissectors.field import Field, Tree
from dissectors.name_binding import Standing
from tui.background import Background
from tui.model.cells import LONG
from tui.model.detail import Detail, Note, Place, field_path, fields_at, place_of, stream_notes
from tui.model.timeline import Place as ListPlace
from tui.screens.bars import Bars
from tui.search_worker import SearchWorker

LEFT = "is not there any more: the oldest messages leave (--memory, --ring)"


class DetailView:
    """Shows in the tree and in the bytes what is selected in the list: the panes of `bars`.

    detail: the message that is shown, None while there is none. head: what stands above the tree; source: which of the
    message's sources the bytes are of. search: what was found is shown in its message. say_heads: has the heads of the
    panes say what these show now.
    """

    def __init__(
        self,
        session: Session,
        read: Callable[[int, Standing | None], Detail],
        background: Background,
        bars: Bars,
        search: SearchWorker,
        say_heads: Callable[[], None],
    ) -> None:
        self.detail: Detail | None = None
        self.head, self.source = "", 0
        self._session, self._read, self._background, self._search = session, read, background, search
        self._bars, self._say_heads = bars, say_heads
        self._timeline, self._tree, self._hex = bars.timeline, bars.tree, bars.hex
        self._aim: tuple[int, Callable[[Tree], Place | None]] | None = None

    def say_status(self) -> None:
        """The status line speaks of what is selected now."""
        self._bars.say_status(self.detail, self.source)

    def show_selected(self, place: ListPlace | None) -> None:
        """Shows what is selected in the list, None for nothing."""
        self._background.forget("detail")
        self._background.forget("session")
        self.say_status()
        if place is None:
            self.show_nothing()
        elif place.row is None:
            cells = self._timeline.stream_cells(place.stream)
            self._show(None, f"stream {place.stream}", stream_notes(self._session, cells), ())
        else:
            self._look_at(place.row)

    def _look_at(self, row: int) -> None:
        """Decodes a row and shows it: at once; when it is long, or not alone, as soon as another thread has done so."""
        session, read = self._session, self._read
        if row in self._timeline.ignored:
            self._show(None, f"message {row + 1}", (Note((("dim", "ignored: d takes it in again"),)),), ())
            return
        length = session.rows.cell("length", row)
        if length < LONG and find_fragment(session, row) is None:
            self._show_detail(read(row, None))
        else:
            self._show(None, f"message {row + 1}", (Note((("dim", f"decoding {length:,} bytes ..."),)),), ())
            self._background.ask("detail", lambda: read(row, None), self._take)
        self._background.ask("session", lambda: standing_of(session, row), partial(self._take_standing, row))

    def look_again(self) -> None:
        """Shows anew what is selected: there is something else to be said of it."""
        place = self._timeline.selected
        if place is not None and place.row is not None:
            self._look_at(place.row)

    def _take_standing(self, row: int, standing: Standing | None) -> None:
        if standing is not None:
            self.read_again(row, standing)

    def read_again(self, row: int, standing: Standing | None) -> None:
        """Decodes what is shown again, for more is known of it."""
        if self._is_selected(row):
            self._background.ask("detail", lambda: self._read(row, standing), self._take)

    def _is_selected(self, row: int) -> bool:
        place = self._timeline.selected
        return place is not None and place.row == row

    def _take(self, detail: Detail) -> None:
        shown = self.detail
        if not self._is_selected(detail.row):
            return
        if shown is None or shown.row != detail.row:
            self._show_detail(detail)
        elif self._timeline.has_focus and detail.known != shown.known:
            # Only the first line of the tree is selected while nobody is in it: nobody is thrown off his place.
            self._show_detail(detail)

    def _show_detail(self, detail: Detail) -> None:
        self._show(detail, plain(detail.title), detail.notes, detail.tree.fields)
        self.point()

    def point(self) -> None:
        """Selects the field and marks the bytes that were found, or aimed at, in the selected message."""
        detail = self.detail
        found = None if detail is None else self._search.found_in(detail.row)
        if detail is None or found is None:
            self._point_at_aim()
            return
        said = f"{'round the end, ' if found.went_round else ''}found in message {detail.row + 1}"
        where = found.place_in(detail.tree)
        if where is not None:
            path, place = where
            self._reveal(path, place)
            said += f": {field_path([node.spec.name for node in path])}"
        self._bars.say(said)

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
        self._tree.reveal(path)
        self.turn_to(place.source)
        self._hex.mark((place.offset, place.offset + place.length), jump=True)

    def _show(self, detail: Detail | None, head: str, notes: Sequence[Note], fields: Sequence[Field]) -> None:
        self.detail, self.head = detail, head
        self._tree.show(notes, fields)
        self.turn_to(0)
        self._timeline.show_partner(None if detail is None else detail.partner)
        self._say_heads()
        if not self._timeline.has_focus:  # else it speaks of no field, and what a key has said meanwhile stays
            self.say_status()

    def show_nothing(self) -> None:
        """Nothing is selected, or what was has left."""
        self._show(None, "", (), ())

    def check_partner(self) -> None:
        """An answer that came in late makes its request a partner."""
        detail = self.detail
        if detail is not None and detail.partner is None:
            partner = read_cell(self._session, "partner", detail.row)
            if partner is not None and self._timeline.timeline.first <= partner < self._timeline.timeline.rows:
                self.detail = replace(detail, partner=partner)
                self._timeline.show_partner(partner)

    def select_field(self, path: Sequence[Field | Note]) -> None:
        """Another line of the tree is selected, the last of a path: its bytes are marked."""
        place = place_of(path[-1]) if path else None
        if place is None:
            self._hex.mark(None, jump=False)
        else:
            self.turn_to(place.source)
            self._hex.mark((place.offset, place.offset + place.length), jump=True)
        self.say_status()

    def select_byte(self, offset: int) -> None:
        """The cursor has come to another byte: the innermost field around it is selected."""
        if self.detail is None:
            return
        path = fields_at(self.detail.tree, self.source, offset)
        if path:
            self._tree.reveal(path)
            place = place_of(path[-1])
            if place is not None and place.source == self.source:
                self._hex.mark((place.offset, place.offset + place.length), jump=False)
        self.say_status()

    def turn_source(self, by: int) -> None:
        """The source `by` tabs further, round the end."""
        sources = 0 if self.detail is None else len(self.detail.tree.sources)
        if sources > 1:
            self.turn_to((self.source + by) % sources)
        else:
            self._bars.say("there is no other source: nothing here was decompressed or joined", "bar-warning")

    def turn_to(self, source: int) -> None:
        """Another source in the hex pane."""
        detail = self.detail
        if detail is not None and self._hex.shows == (detail.row, source):
            return
        self.source = source
        if detail is None:
            self._hex.show(None, b"", ())
        else:
            self._hex.show((detail.row, source), detail.tree.sources[source].data, detail.masks.get(source, ()))
        self._say_heads()

    def select_row(self, row: int, what: str = "") -> None:
        """Selects a row of those that were announced, or says why that cannot be."""
        if row < self._timeline.timeline.first:
            self._bars.say(f"{what}message {row + 1} {LEFT}", "bar-warning")
        elif self._timeline.timeline.shows(row):
            self._timeline.select_row(row)
        else:
            self._bars.say(f"the filter hides {what}message {row + 1}: an empty filter (/) shows all", "bar-warning")

    def select_at(self, row: int, where: Callable[[Tree], Place | None]) -> None:
        """Selects a row and, when it is decoded, the field at a place in it, if there is one; see select_row."""
        self._search.found, self._aim = None, (row, where)
        if self._is_selected(row):
            self.point()
        else:
            self.select_row(row)
