"""A pane whose items take as many lines as they need, so that nothing is cut where the terminal is narrow."""

from __future__ import annotations

from textual.geometry import Size
from textual.strip import Strip

from analyzer.columns.text import safe_text
from analyzer.render.fitting import count_cells, wrap_spans
from analyzer.render.lines import Line
from tui.model.drawing import Spans
from tui.theme import Palette
from tui.widgets.pane import Pane

INDENT = 4
"""The cells before the further lines of an item whose first span is too wide to stand beside them."""


def wrap_line(line: Line, width: int) -> list[Line]:
    """Wraps a line at spaces; its further lines stand behind the width of its first span, if that is narrow."""
    safe = tuple((style, safe_text(text)) for style, text in line)
    if sum(count_cells(text) for _, text in safe) <= width:
        return [line]
    first, words = (safe[0], safe[1:]) if len(safe) > 1 else (("", ""), safe)
    head = count_cells(first[1]) if len(safe) > 1 else INDENT
    return list(wrap_spans(first, words, width, " " * (head if head <= width // 2 else min(INDENT, width // 2))))


class WrappingPane(Pane):
    """Shows items, each on one or more lines; the cursor is on the first line of an item."""

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self._wrapped: list[tuple[int, Line]] | None = None
        self._firsts: list[int] = []
        self._wrapped_width = 0

    @property
    def item_count(self) -> int:
        """The number of items. Each subclass must define it."""
        raise NotImplementedError

    def get_item(self, item: int) -> tuple[Line, str]:
        """Returns the line of an item, and the text at the right of its first line."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """The number of lines of all items at the present width."""
        return len(self._wrap())

    @property
    def item(self) -> int:
        """The item under the cursor."""
        lines = self._wrap()
        return lines[min(self.cursor, len(lines) - 1)][0] if lines else 0

    def place_item(self, item: int) -> None:
        """Moves the cursor to an item, or to the nearest one that there is."""
        self._wrap()
        if self._firsts:
            super().place_cursor(self._firsts[max(0, min(item, len(self._firsts) - 1))])

    def renew_items(self) -> None:
        """Wraps the items again after they have changed."""
        self._wrapped = None
        self.update_count()

    def place_cursor(self, line: int) -> None:
        """Moves the cursor to the item of a line; from an item down, to the next one."""
        lines = self._wrap()
        if lines:
            item = lines[max(0, min(line, len(lines) - 1))][0]
            self.place_item(item + (line > self.cursor and item == self.item))

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the visible lines; wraps the items for another width."""
        self._measure(size)
        if self.inner.width != self._wrapped_width:
            item, self._wrapped = self.item, None
            self._strips.clear()
            self.place_item(item)
        return super().make_strips(size)

    def get_spans(self, line: int) -> Spans:
        """Returns a line of an item."""
        return self._wrap()[line][1]

    def get_strip(self, number: int) -> Strip:
        """Returns a painted line; all lines of the item under the cursor look alike."""
        lines, cursor = self._wrap(), self.cursor
        if number < len(lines) and lines[number][0] == self.item:
            self.cursor = number
        try:
            return super().get_strip(number)
        finally:
            self.cursor = cursor

    def _wrap(self) -> list[tuple[int, Line]]:
        if self._wrapped is None:
            width = self._wrapped_width = self.inner.width
            self._wrapped, self._firsts = [], []
            for item in range(self.item_count):
                line, right = self.get_item(item)
                self._firsts.append(len(self._wrapped))
                parts = wrap_line(line, width - len(right) - 2 * bool(right)) if width else [line]
                if right and width:
                    blank = width - sum(count_cells(safe_text(text)) for _, text in parts[0]) - len(right) - 1
                    parts[0] = (*parts[0], ("", " " * max(blank, 1)), ("dim", right))
                self._wrapped += [(item, part) for part in parts]
        return self._wrapped
