"""The right pane: the bytes of one source, with the selected field's marked and a cursor on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from analyzer.decode.masking import Span
from tui import keys
from tui.model.hexrows import HexRows
from tui.theme import Palette
from tui.widgets.cutting import Spans
from tui.widgets.paint import overlay_strip
from tui.widgets.pane import Pane


class HexPane(Pane):
    """Shows HexRows; `at` is the byte under the cursor, Pane.cursor its line. `shows`: row and source, or nothing."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("hex")

    class ByteSelection(Message):
        """The cursor has come to another byte, by key or mouse."""

        def __init__(self, offset: int) -> None:
            super().__init__()
            self.offset = offset

    class SourceTurn(Message):
        """Another source is wanted: `by` tabs further."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.offset_at_cursor = 0
        self.shown_source: tuple[int, int] | None = None
        self._data = b""
        self._masks: Sequence[Span] = ()
        self._marked: Span | None = None
        self.rows = HexRows.fit(b"", (), 0)

    @property
    def count(self) -> int:
        """See Pane."""
        return self.rows.lines

    def get_spans(self, line: int) -> Spans:
        """See Pane."""
        return self.rows.make_line(line, self._marked)

    def get_strip(self, number: int) -> Strip:
        """See Pane; the byte under the cursor is laid over it, in hex and as a character."""
        found = super().get_strip(number)
        if number == self.cursor and self.count:
            first, text = (cell - self.left for cell in self.rows.find_columns(self.offset_at_cursor % self.rows.width))
            found = overlay_strip(found, ((first, first + 2), (text, text + 1)), self.palette_styles["byte"])
        return found

    def show(self, which: tuple[int, int] | None, data: bytes, masks: Sequence[Span]) -> None:
        """Another source, its first byte under the cursor; nobody is told."""
        self.shown_source = which
        self._data, self._masks, self._marked, self.offset_at_cursor, self.cursor, self.top = data, masks, None, 0, 0, 0
        self._fit_rows()

    def mark(self, span: Span | None, *, jump: bool) -> None:
        """Marks the bytes of a field; with `jump` the cursor goes to the first of them."""
        self._marked = span
        if jump and span is not None:
            self._show_span(span)
        self.invalidate()

    def _show_span(self, span: Span) -> None:
        """The cursor to the first byte of a span, and as much of the rest in sight as there is room for."""
        self.offset_at_cursor = max(0, min(span[0], len(self._data) - 1))
        last = min(max(span[1] - 1, span[0]) // self.rows.width, span[0] // self.rows.width + self.inner.height - 1)
        self.place_cursor(last)
        self.place_cursor(self.offset_at_cursor // self.rows.width)

    def _fit_rows(self) -> None:
        """As many bytes on a line as fit now."""
        self.rows = HexRows.fit(self._data, self._masks, self.inner.width)
        self.update_count()
        if self.count:
            self.place_cursor(self.offset_at_cursor // self.rows.width)

    def on_resize(self) -> None:
        """See Pane; another number of bytes may fit."""
        super().on_resize()
        self._fit_rows()

    def go_to_byte(self, at: int) -> None:
        """Moves the cursor to a byte and tells it."""
        if self.count:
            self.offset_at_cursor = max(0, min(at, len(self._data) - 1))
            self.place_cursor(self.offset_at_cursor // self.rows.width)
            self.post_message(self.ByteSelection(self.offset_at_cursor))

    def move_cursor(self, line: int) -> None:
        """See Pane: the same column of another line."""
        line = max(0, min(line, self.count - 1))
        self.go_to_byte(line * self.rows.width + self.offset_at_cursor % self.rows.width)

    def handle_click(self, line: int, column: int) -> None:
        """See Pane."""
        at = self.rows.find_byte(line, column)
        if at is not None:
            self.go_to_byte(at)

    def _action_top(self) -> None:
        self.go_to_byte(0)

    def _action_bottom(self) -> None:
        self.go_to_byte(len(self._data) - 1)

    def _action_inward(self) -> None:
        self.go_to_byte(self.offset_at_cursor + 1)

    def _action_outward(self) -> None:
        self.go_to_byte(self.offset_at_cursor - 1)

    def _action_next_source(self) -> None:
        self.post_message(self.SourceTurn(1))

    def _action_previous_source(self) -> None:
        self.post_message(self.SourceTurn(-1))
