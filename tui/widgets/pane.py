"""A pane: lines with a cursor, of which only those on the screen are ever made.

Theory. This is Textual's Line API: the widget knows how many lines there are, and is asked for one line at a time. A
subclass says how many (`count`) and what a line says (`spans`); moving, scrolling, mouse and cursor are the same in
all panes and are here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui import keys
from tui.theme import Palette
from tui.widgets.paint import Spans, strip


class Pane(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines 0..count-1, the one at `cursor` selected."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("pane")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Pane { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self.styles_of = palette.styles
        self.cursor = 0

    @property
    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def spans(self, line: int) -> Spans:
        """What a line says."""
        raise NotImplementedError

    def moved(self) -> None:
        """The cursor has come to another line by key or mouse."""

    def clicked(self, line: int, column: int) -> None:
        """The mouse was pressed on a line; the cursor is there already."""

    @property
    def inner(self) -> Size:
        """Width and height of what is seen."""
        return self.scrollable_content_region.size

    def render_line(self, y: int) -> Strip:
        """See Textual's Widget: one line of what is seen."""
        line = int(self.scroll_offset.y) + y
        width = self.inner.width
        if not 0 <= line < self.count:
            return strip((), width, self.styles_of)
        over = None
        if line == self.cursor:
            over = self.styles_of["cursor" if self.has_focus else "cursor-off"]
        return strip(self.spans(line), width, self.styles_of, over)

    def recount(self) -> None:
        """There are more or fewer lines: all is painted anew."""
        self.virtual_size = Size(self.inner.width, self.count)
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.refresh()

    def place_cursor(self, line: int) -> None:
        """Moves the cursor without telling anybody, and scrolls as little as shows it."""
        line = max(0, min(line, self.count - 1))
        before, self.cursor = self.cursor, line
        if not self._scroll_to_line(line):
            self.repaint((before, line))

    def repaint(self, lines: Iterable[int]) -> None:
        """Paints some lines anew."""
        for line in lines:
            self.refresh_line(line)

    def _scroll_to_line(self, line: int) -> bool:
        if not self.inner.height:
            return False  # not laid out yet: it is seen from its first line on
        top, height = int(self.scroll_offset.y), max(self.inner.height, 1)
        if top <= line < top + height:
            return False
        wanted = line if line < top else line - height + 1
        if abs(wanted - top) > 2 * height and 0 < line < self.count - 1:
            wanted = line - height // 2  # from afar: what is around it is wanted too
        self.scroll_to(y=max(wanted, 0), animate=False, force=True)
        return True

    def show_below(self, lines: int) -> None:
        """Scrolls so that of the lines below the cursor's as many are seen as there is room for."""
        self._scroll_to_line(min(self.cursor + lines, self.count - 1))
        self._scroll_to_line(self.cursor)

    def go(self, line: int) -> None:
        """Moves the cursor and tells it."""
        if self.count:
            self.place_cursor(line)
            self.moved()

    def _action_down(self) -> None:
        self.go(self.cursor + 1)

    def _action_up(self) -> None:
        self.go(self.cursor - 1)

    def _action_page_down(self) -> None:
        self.go(self.cursor + max(self.inner.height - 1, 1))

    def _action_page_up(self) -> None:
        self.go(self.cursor - max(self.inner.height - 1, 1))

    def _action_top(self) -> None:
        self.go(0)

    def _action_bottom(self) -> None:
        self.go(self.count - 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Selects what is under the mouse."""
        line = int(self.scroll_offset.y) + event.y
        if event.button == 1 and 0 <= event.x < self.inner.width and 0 <= line < self.count:
            self.go(line)
            self.clicked(line, event.x)

    def on_focus(self) -> None:
        """The cursor looks different now."""
        self.repaint((self.cursor,))

    def on_blur(self) -> None:
        """The same."""
        self.repaint((self.cursor,))
