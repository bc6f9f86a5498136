"""Shows the selected message of the list in the tree pane and in the hex pane.

Theory. Panes do not know one another: each posts its selection, and this module updates the others. A pane that is
updated posts nothing, so there are no loops. Long messages are decoded by another thread, and shown if they are still
selected then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from analyzer.decode.content import read_cell
from analyzer.decode.fragments import find_fragment
from analyzer.insight.related import read_session_contents
from analyzer.insight.tls import TlsCarriers, read_carriers
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from dissectors.field import Field, Tree
from dissectors.name_binding import SessionContents
from tui.background import BackgroundWorker
from tui.model.detail import ByteRange, MessageDetail, TreeNote, find_fields, find_range, join_path, make_stream_notes
from tui.model.row_cells import LONG
from tui.model.timeline import ListPlace
from tui.screens.status_bars import StatusBars
from tui.search_worker import SearchWorker

EVICTED = "was evicted: only the latest messages stay in memory (--memory, --ring)"


class DetailView:
    """Shows the selection of the list in the tree pane and the hex pane.

    detail: the message, None while there is none. head: the title of the tree. source: the source of the bytes. search:
    its result is shown in the message. show_heads: updates the heads of the panes.
    """

    def __init__(
        self,
        session: Session,
        read: Callable[[int, SessionContents | None], MessageDetail],
        background: BackgroundWorker,
        bars: StatusBars,
        search: SearchWorker,
        say_heads: Callable[[], None],
    ) -> None:
        self.detail: MessageDetail | None = None
        self.head, self.source = "", 0
        self._session, self._read, self._background, self._search = session, read, background, search
        self._bars, self._say_heads = bars, say_heads
        self._timeline, self._tree, self._hex = bars.timeline, bars.tree, bars.hex
        self._target: tuple[int, Callable[[Tree], ByteRange | None]] | None = None

    def show_status(self) -> None:
        """Shows in the status line which field and bytes are selected."""
        self._bars.show_selection(self.detail, self.source)

    def show_selected(self, place: ListPlace | None) -> None:
        """Shows the selection of the list; None: nothing is selected."""
        self._background.cancel("detail")
        self._background.cancel("session")
        self._background.cancel("carriers")
        self.show_status()
        if place is None:
            self.show_nothing()
        else:
            self.refresh()

    def _show_row(self, row: int) -> None:
        """Shows a row: at once, or after another thread has decoded it if it is long or in fragments."""
        session, read = self._session, self._read
        if row in self._timeline.ignored:
            self._show(None, f"message {row + 1}", (TreeNote((("dim", "ignored: press d to include it again"),)),), ())
            return
        length = session.rows.cell("length", row)
        if length < LONG and find_fragment(session, row) is None:
            self._show_detail(read(row, None))
        else:
            self._show(None, f"message {row + 1}", (TreeNote((("dim", f"decoding {length:,} bytes ..."),)),), ())
            self._background.submit("detail", lambda: read(row, None), self._take_detail)
        self._background.submit(
            "session", lambda: read_session_contents(session, row), partial(self._take_session_contents, row)
        )

    def refresh(self) -> None:
        """Shows the selected row or stream again."""
        place = self._timeline.selected
        if place is None:
            return
        if place.row is None:
            cells = self._timeline.read_stream(place.stream)
            self._show(None, f"stream {place.stream}", make_stream_notes(self._session, cells), ())
        else:
            self._show_row(place.row)

    def _take_session_contents(self, row: int, session_contents: SessionContents | None) -> None:
        if session_contents is not None:
            self.reread(row, session_contents)

    def reread(self, row: int, session_contents: SessionContents | None) -> None:
        """Decodes the shown row again, because more is known about it."""
        if self._is_selected(row):
            self._background.submit("detail", lambda: self._read(row, session_contents), self._take_detail)

    def _is_selected(self, row: int) -> bool:
        place = self._timeline.selected
        return place is not None and place.row == row

    def _take_detail(self, detail: MessageDetail) -> None:
        shown = self.detail
        if not self._is_selected(detail.row):
            return
        if shown is None or shown.row != detail.row:
            self._show_detail(detail)
        elif self._timeline.has_focus and detail.known != shown.known:
            # Only the first line of the tree is selected while nobody is in it: nobody is thrown off his place.
            self._show_detail(detail)

    def _show_detail(self, detail: MessageDetail) -> None:
        self._show(detail, strip_styles(detail.title), detail.notes, detail.tree.fields)
        self.select_found()

    def select_found(self) -> None:
        """Selects the field that a search has found, or that a lead points to."""
        detail = self.detail
        found = None if detail is None else self._search.get_result_in(detail.row)
        if detail is None or found is None:
            self._select_target()
            return
        where = found.locate_in(detail.tree)
        if where is not None:
            self._reveal(*where)
        self.show_found()

    def show_found(self) -> None:
        """Shows where a search has found the selected message, and how many there are."""
        detail, found, hits = self.detail, self._search.result, self._search.hits
        if detail is None or found is None or found.row != detail.row:
            return
        text = f"{'wrapped around, ' if found.has_wrapped else ''}found in message {detail.row + 1}"
        where = found.locate_in(detail.tree)
        if where is not None:
            text += f": {join_path([node.spec.name for node in where[0]])}"
        if hits is not None:
            text += f" ({hits.describe(detail.row)})"
        self._bars.show_message(text)

    def _select_target(self) -> None:
        detail, aim = self.detail, self._target
        if detail is None or aim is None or aim[0] != detail.row:
            self._target = None
            return
        place = aim[1](detail.tree)
        if place is not None:
            self._reveal(find_fields(detail.tree, place.source, place.offset), place)

    def _reveal(self, path: Sequence[Field], place: ByteRange) -> None:
        """Selects the last field of a path, and marks bytes."""
        self._tree.reveal(path)
        self.show_source(place.source)
        self._hex.mark((place.offset, place.offset + place.length), jump=True)

    def _show(
        self, detail: MessageDetail | None, head: str, notes: Sequence[TreeNote], fields: Sequence[Field]
    ) -> None:
        self.detail, self.head = detail, head
        self._tree.show(notes, fields)
        self.show_source(0)
        self._timeline.show_partner(None if detail is None else detail.partner)
        self._say_heads()
        if not self._timeline.has_focus:  # else it speaks of no field, and what a key has said meanwhile stays
            self.show_status()

    def show_nothing(self) -> None:
        """Empties the panes of fields and bytes, because no message is selected."""
        self._show(None, "", (), ())

    def check_partner(self) -> None:
        """Takes a partner that has come in late."""
        detail = self.detail
        if detail is not None and detail.partner is None:
            partner = read_cell(self._session, "partner", detail.row)
            if partner is not None and self._timeline.timeline.first <= partner < self._timeline.timeline.rows:
                self.detail = replace(detail, partner=partner)
                self._timeline.show_partner(partner)

    def select_field(self, path: Sequence[Field | TreeNote]) -> None:
        """Marks the bytes of the selected line of the tree, the last of a path."""
        place = find_range(path[-1]) if path else None
        if place is None:
            self._hex.mark(None, jump=False)
        else:
            self.show_source(place.source)
            self._hex.mark((place.offset, place.offset + place.length), jump=True)
        self.show_status()

    def select_byte(self, offset: int) -> None:
        """Selects the innermost field around a byte."""
        if self.detail is None:
            return
        path = find_fields(self.detail.tree, self.source, offset)
        if path:
            self._tree.reveal(path)
            place = find_range(path[-1])
            if place is not None and place.source == self.source:
                self._hex.mark((place.offset, place.offset + place.length), jump=False)
        self.show_status()

    def cycle_source(self, by: int) -> None:
        """Shows the source `by` tabs further; after the last tab comes the first."""
        sources = 0 if self.detail is None else len(self.detail.sources)
        if sources > 1:
            self.show_source((self.source + by) % sources)
        else:
            self._bars.show_message(
                "there is no other source: nothing was decompressed, decrypted or reassembled", "bar-warning"
            )

    def show_source(self, source: int) -> None:
        """Shows another source in the hex pane."""
        detail = self.detail
        if detail is not None and self._hex.shown_source == (detail.row, source):
            return
        self.source = source
        if detail is None:
            self._hex.show(None, b"", ())
        else:
            shown = detail.sources[source]
            self._hex.show((detail.row, source), shown.data, detail.masks.get(source, ()))
            if shown in detail.carriers and not shown.data:
                work = partial(read_carriers, self._session, detail.row)
                self._background.submit("carriers", work, partial(self._take_carriers, detail.row))
        self._say_heads()

    def _take_carriers(self, row: int, carriers: TlsCarriers) -> None:
        detail = self.detail
        if detail is None or detail.row != row:
            return
        self.detail = detail.add_carriers(*carriers)
        if self.source >= len(detail.tree.sources):
            self._hex.show((row, self.source), self.detail.sources[self.source].data, ())
        self._say_heads()

    def select_row(self, row: int, what: str = "") -> None:
        """Selects an announced row, or shows why that is impossible.

        what: names the row in that message.
        """
        if row < self._timeline.timeline.first:
            self._bars.show_message(f"{what}message {row + 1} {EVICTED}", "bar-warning")
        elif self._timeline.timeline.is_shown(row):
            self._timeline.select_row(row)
        else:
            self._bars.show_message(
                f"the filter hides {what}message {row + 1}: an empty filter (/) shows all", "bar-warning"
            )

    def select_place(self, row: int, where: Callable[[Tree], ByteRange | None]) -> None:
        """Selects a row and, after it is decoded, the field at a place in it."""
        self._search.result, self._target = None, (row, where)
        if self._is_selected(row):
            self.select_found()
        else:
            self.select_row(row)
