"""The two panes of the selected message: the tree of its notes and fields, and the bytes of one of its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from analyzer.decode.jsonable import Limits
from analyzer.decode.masking import Span
from analyzer.render.tree_text import format_node
from dissectors.field import Field
from tui import keys
from tui.model.detail import HexRows, TreeNote
from tui.model.drawing import Spans
from tui.model.outline import FoldChoices, Outline
from tui.theme import Palette
from tui.widgets.painted import overlay_strip
from tui.widgets.pane import Pane


class HexPane(Pane):
    """Shows HexRows.

    offset_at_cursor: the byte under the cursor. shown_source: row and source, or None.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("hex")

    @dataclass
    class ByteSelection(Message):
        """The cursor has moved to another byte."""

        offset: int

    @dataclass
    class SourceTurn(Message):
        """The user asks for another source, `by` tabs further."""

        by: int

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
        """The number of lines of the hex dump, for the scroll bar."""
        return self.rows.lines

    def get_spans(self, line: int) -> Spans:
        """Returns the bytes of a line, with the field's bytes marked."""
        return self.rows.make_line(line, self._marked)

    def get_strip(self, number: int) -> Strip:
        """Returns a line, with the byte under the cursor highlighted in hex and as a character."""
        found = super().get_strip(number)
        if number == self.cursor and self.count:
            first, text = (cell - self.left for cell in self.rows.find_columns(self.offset_at_cursor % self.rows.width))
            found = overlay_strip(found, ((first, first + 2), (text, text + 1)), self.palette_styles["byte"])
        return found

    def show(self, which: tuple[int, int] | None, data: bytes, masks: Sequence[Span]) -> None:
        """Shows another source with the cursor on its first byte; posts nothing."""
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
        """Moves the cursor to the first byte of a span, and scrolls as much of it into sight as fits."""
        self.offset_at_cursor = max(0, min(span[0], len(self._data) - 1))
        last = min(max(span[1] - 1, span[0]) // self.rows.width, span[0] // self.rows.width + self.inner.height - 1)
        self.place_cursor(last)
        self.place_cursor(self.offset_at_cursor // self.rows.width)

    def _fit_rows(self) -> None:
        """Chooses the number of bytes on a line."""
        self.rows = HexRows.fit(self._data, self._masks, self.inner.width)
        self.update_count()
        if self.count:
            self.place_cursor(self.offset_at_cursor // self.rows.width)

    def on_resize(self) -> None:
        """Scrolls the cursor into sight, and chooses the number of bytes on a line."""
        super().on_resize()
        self._fit_rows()

    def go_to_byte(self, at: int) -> None:
        """Moves the cursor to a byte and posts it."""
        if self.count:
            self.offset_at_cursor = max(0, min(at, len(self._data) - 1))
            self.place_cursor(self.offset_at_cursor // self.rows.width)
            self.post_message(self.ByteSelection(self.offset_at_cursor))

    def move_cursor(self, line: int) -> None:
        """Moves the cursor to the same column of another line."""
        line = max(0, min(line, self.count - 1))
        self.go_to_byte(line * self.rows.width + self.offset_at_cursor % self.rows.width)

    def handle_click(self, line: int, column: int) -> None:
        """Moves the cursor to the clicked byte."""
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


class TreePane(Pane):
    """A pane with the fields of a message as a tree whose nodes you can fold."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("tree")

    @dataclass
    class FieldSelection(Message):
        """Another line is selected; `path`: its node behind those around it."""

        path: list[Field | TreeNote]

    class BytesRequest(Message):
        """Enter was pressed on a field without children: the focus should go to its bytes."""

    def __init__(self, palette: Palette, limits: Limits, *, id: str) -> None:
        super().__init__(palette, id=id)
        self._limits = limits
        self._folds = FoldChoices()
        self.outline = Outline((), (), self._folds)

    @property
    def count(self) -> int:
        """The number of visible lines of the tree, for the scroll bar."""
        return len(self.outline.lines)

    def get_spans(self, line: int) -> Spans:
        """Returns a field or note, indented, with its fold mark."""
        what, depth, hidden = self.outline.lines[line]
        mark = "  " if not what.children else "▾ " if self.outline.is_open(line) else "▸ "
        spans = format_node(what, self._limits, hidden) if isinstance(what, Field) else what.line
        return [("dim", "  " * depth + mark), *spans]

    def show(self, notes: Sequence[TreeNote], fields: Sequence[Field]) -> None:
        """Shows another message with its first line selected; posts nothing."""
        self.outline = Outline(notes, fields, self._folds)
        self.cursor = self.top = 0
        self.update_count()

    def reveal(self, path: Sequence[Field]) -> None:
        """Selects the last field of a path, and unfolds what is around it; posts nothing."""
        line = self.outline.reveal(path)
        if line is not None:
            self.update_count()
            self.place_cursor(line)

    def get_path(self) -> list[Field | TreeNote]:
        """Returns the selected node behind those around it."""
        return self.outline.get_path(self.cursor) if self.count else []

    def handle_move(self) -> None:
        """Posts a FieldSelection with the path of the field at the cursor."""
        self.post_message(self.FieldSelection(self.get_path()))

    def handle_click(self, line: int, column: int) -> None:
        """Folds or unfolds the field if its mark was clicked."""
        if 0 <= column - 2 * self.outline.lines[line].depth < 2:
            self._action_fold()

    def _fold(self, *, opened: bool) -> None:
        before = self.count
        self.outline.fold(self.cursor, opened=opened)
        self.update_count()
        self.show_below(self.count - before if opened else 0)

    def _action_enter(self) -> None:
        if self.count and self.outline.lines[self.cursor].node.children:
            self._action_fold()
        else:
            self.post_message(self.BytesRequest())

    def _can_fold(self) -> bool:
        """Whether the field at the cursor has members; posts why not."""
        can = bool(self.count and self.outline.lines[self.cursor].node.children)
        if not can:
            self.post_message(self.Refusal("this line has no members to fold: Enter goes to its bytes"))
        return can

    def _action_fold(self) -> None:
        if self._can_fold():
            self._fold(opened=not self.outline.is_open(self.cursor))

    def _action_inward(self) -> None:
        if not self._can_fold():
            return
        if self.outline.is_open(self.cursor):
            self.move_cursor(self.cursor + 1)
        else:
            self._fold(opened=True)

    def _action_outward(self) -> None:
        if not self.count:
            return
        if self.outline.is_open(self.cursor):
            self._fold(opened=False)
        elif (parent := self.outline.find_parent(self.cursor)) is not None:
            self.move_cursor(parent)

    def _action_unfold_all(self) -> None:
        self._fold_all(opened=True)

    def _action_fold_all(self) -> None:
        self._fold_all(opened=False)

    def _fold_all(self, *, opened: bool) -> None:
        """Folds or unfolds all; the selected node, or the nearest one around it, stays selected."""
        around = self.get_path()
        self.outline.fold_all(opened=opened)
        self.update_count()
        line = next((at for what in reversed(around) if (at := self.outline.find_line(what)) is not None), 0)
        self.move_cursor(line)
