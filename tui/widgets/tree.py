"""The middle pane: notes and fields of one message, folded and unfolded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from analyzer.decode.jsonable import Limits
from analyzer.render.tree_text import node_line
from dissectors.field import Field
from tui import keys
from tui.model.detail import TreeNote
from tui.model.outline import FoldChoices, Outline
from tui.theme import Palette
from tui.widgets.cutting import Spans
from tui.widgets.pane import Pane


class TreePane(Pane):
    """Shows an Outline."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("tree")

    class FieldSelection(Message):
        """Another line is selected: what it shows, behind all around it."""

        def __init__(self, path: list[Field | TreeNote]) -> None:
            super().__init__()
            self.get_path = path

    class BytesRequest(Message):
        """Enter on a field without anything below it: its bytes are wanted."""

    def __init__(self, palette: Palette, limits: Limits, *, id: str) -> None:
        super().__init__(palette, id=id)
        self._limits = limits
        self._folds = FoldChoices()
        self.outline = Outline((), (), self._folds)

    @property
    def count(self) -> int:
        """See Pane."""
        return len(self.outline.lines)

    def get_spans(self, line: int) -> Spans:
        """See Pane."""
        what, depth, hidden = self.outline.lines[line]
        mark = "  " if not what.children else "▾ " if self.outline.is_open(line) else "▸ "
        said = node_line(what, self._limits, hidden) if isinstance(what, Field) else what.line
        return [("dim", "  " * depth + mark), *said]

    def show(self, notes: Sequence[TreeNote], fields: Sequence[Field]) -> None:
        """Another message; its first line is selected, and nobody told."""
        self.outline = Outline(notes, fields, self._folds)
        self.cursor = self.top = 0
        self.update_count()

    def reveal(self, path: Sequence[Field]) -> None:
        """Selects the last field of a path, unfolding what is around it; nobody is told."""
        line = self.outline.reveal(path)
        if line is not None:
            self.update_count()
            self.place_cursor(line)

    def get_path(self) -> list[Field | TreeNote]:
        """What is selected, behind all around it."""
        return self.outline.get_path(self.cursor) if self.count else []

    def handle_move(self) -> None:
        """See Pane."""
        self.post_message(self.FieldSelection(self.get_path()))

    def handle_click(self, line: int, column: int) -> None:
        """See Pane: a click on the mark folds."""
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

    def _action_fold(self) -> None:
        if self.count:
            self._fold(opened=not self.outline.is_open(self.cursor))

    def _action_inward(self) -> None:
        if not self.count or not self.outline.lines[self.cursor].node.children:
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
        """What was selected stays so, or what is around it."""
        around = self.get_path()
        self.outline.fold_all(opened=opened)
        self.update_count()
        line = next((at for what in reversed(around) if (at := self.outline.find_line(what)) is not None), 0)
        self.move_cursor(line)
