"""A pane: lines with a cursor, of which only those on the screen are made.

Theory. The widget knows the number of lines and asks for one line at a time. A subclass defines the number (`count`)
and the text of a line (`get_spans`). Moving, scrolling, mouse and cursor are the same in all panes and are here. The
pane keeps its scroll position (`top`, `left`) and draws its own scroll bar: Textual's would cause a layout of the whole
screen whenever a line comes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui import keys
from tui.model.drawing import Spans
from tui.theme import Palette
from tui.widgets.painted import PaintedWidget, make_strip

BAR = 1
"""The cells of the scroll bar, at the right edge."""

THUMB, TRACK = "█", " "

CURSOR_STYLES = ("", "cursor", "cursor-off")
"""The styles over a line: none, the cursor's with the focus, and without it."""

SCREENS_CACHED = 4
"""The number of screens whose painted lines are cached."""

WHEEL, SIDEWAYS = 3, 8
"""The lines and columns of a scroll step."""


class Pane(PaintedWidget, can_focus=True):
    """A scrollable list of the lines 0 to count-1, of which the one at `cursor` is selected.

    top: the first visible line; left: the first visible column.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("pane")

    class MenuRequest(Message):
        """The right mouse button was pressed on a line, which is selected now."""

    class SidewaysScroll(Message):
        """The visible columns have changed."""

    @dataclass
    class Refusal(Message):
        """A key has no effect here; `reason` says why."""

        reason: str

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self.palette_styles = palette.styles
        self.cursor = self.top = self.left = 0
        self.inner = Size(0, 0)
        """The visible width and height; Textual computes `size` again at each access."""
        self._strips: dict[tuple[int, str], Strip] = {}
        self._barred: dict[int, tuple[Strip, Strip, Strip]] = {}
        self._dragged: int | None = None

    @property
    def count(self) -> int:
        """The number of lines of the pane's content. Each subclass must define it."""
        raise NotImplementedError

    def get_spans(self, line: int) -> Spans:
        """Returns the text of a line."""
        raise NotImplementedError

    def get_cursor_spans(self, line: int) -> Spans:
        """Returns the text of a line when the cursor is on it."""
        return self.get_spans(line)

    def handle_move(self) -> None:
        """Called after key or mouse have moved the cursor."""

    def handle_click(self, line: int, column: int) -> None:
        """Called after a click on a line; the cursor is there already."""

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the visible lines with the scroll bar."""
        self._measure(size)
        thumb = [
            make_strip(((name, sign),), BAR, self.palette_styles) for name, sign in (("track", TRACK), ("thumb", THUMB))
        ]
        first, last = self._find_thumb()
        before, self._barred = self._barred, {}
        for y in range(size.height):
            line, bar = self.get_strip(self.top + y), thumb[first <= y <= last]
            stood = before.get(y)
            if stood is None or stood[0] is not line or stood[1] != bar:
                stood = line, bar, Strip.join((line, bar))
            self._barred[y] = stood
        return [whole for _, _, whole in self._barred.values()]

    def _measure(self, size: Size) -> None:
        self.inner = Size(max(size.width - BAR, 0), size.height)

    def get_strip(self, number: int) -> Strip:
        """Returns a painted line without the scroll bar."""
        over = CURSOR_STYLES[0 if number != self.cursor else 1 if self.has_focus else 2]
        found = self._strips.get((number, over))
        if found is None:
            if len(self._strips) > SCREENS_CACHED * self.inner.height:
                self._strips.clear()
            found = self._strips[number, over] = self.make_line_strip(number, over)
        return found

    def make_line_strip(self, line: int, over: str) -> Strip:
        """Paints a line without the scroll bar; `over` is a style of CURSOR_STYLES."""
        width = self.inner.width
        if not 0 <= line < self.count:
            return make_strip((), width, self.palette_styles)
        spans = self.get_cursor_spans(line) if over else self.get_spans(line)
        whole = make_strip(spans, width + self.left, self.palette_styles, self.palette_styles[over] if over else None)
        return whole.crop(self.left) if self.left else whole

    def _find_thumb(self) -> tuple[int, int]:
        """Returns the first and the last line of the scroll bar's thumb; none if all lines are visible."""
        height, count = self.inner.height, self.count
        if count <= height:
            return 0, -1
        length = max(height * height // count, 1)
        first = -(-self.top * (height - length) // (count - height))
        return first, first + length - 1

    def invalidate(self) -> None:
        """Makes all lines again, because their texts may have changed."""
        self._strips.clear()
        self.repaint()

    def invalidate_line(self, line: int) -> None:
        """Discards the cached text of one line, so that it is made and painted again."""
        for over in CURSOR_STYLES:
            self._strips.pop((line, over), None)
        self.repaint()

    def update_count(self) -> None:
        """Adapts cursor and scroll position to another number of lines."""
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self._scroll(self.top)
        self.invalidate()

    def _scroll(self, top: int) -> None:
        """Scrolls to the line `top`, or as near as possible."""
        self.top = max(0, min(top, self.count - self.inner.height))

    def set_top_line(self, top: int) -> None:
        """Scrolls to the line `top`, and paints."""
        self._scroll(top)
        self.repaint()

    def shift(self, left: int) -> None:
        """Scrolls sideways to column `left`."""
        left = max(0, left)
        if left != self.left:
            self.left = left
            self.invalidate()
            self.post_message(self.SidewaysScroll())

    def place_cursor(self, line: int) -> None:
        """Moves the cursor without handle_move(), and scrolls as little as needed."""
        self.cursor = max(0, min(line, self.count - 1))
        self._scroll_to_line(self.cursor)
        self.repaint()

    def _scroll_to_line(self, line: int) -> None:
        height = self.inner.height
        if not height or self.top <= line < self.top + height:
            return  # not laid out yet: it is seen from its first line on
        wanted = line if line < self.top else line - height + 1
        if abs(wanted - self.top) > 2 * height and 0 < line < self.count - 1:
            wanted = line - height // 2  # from afar: what is around it is wanted too
        self._scroll(wanted)

    def show_below(self, lines: int) -> None:
        """Scrolls so that as many of the lines below the cursor are visible as fit."""
        self._scroll_to_line(min(self.cursor + lines, self.count - 1))
        self._scroll_to_line(self.cursor)
        self.repaint()

    def move_cursor(self, line: int) -> None:
        """Moves the cursor and calls handle_move()."""
        if self.count:
            self.place_cursor(line)
            self.handle_move()

    def _action_down(self) -> None:
        self.move_cursor(self.cursor + 1)

    def _action_up(self) -> None:
        self.move_cursor(self.cursor - 1)

    def _action_page_down(self) -> None:
        self.move_cursor(self.cursor + max(self.inner.height - 1, 1))

    def _action_page_up(self) -> None:
        self.move_cursor(self.cursor - max(self.inner.height - 1, 1))

    def _action_top(self) -> None:
        self.move_cursor(0)

    def _action_bottom(self) -> None:
        self.move_cursor(self.count - 1)

    def _action_shift_right(self) -> None:
        self.shift(self.left + SIDEWAYS)

    def _action_shift_left(self) -> None:
        self.shift(self.left - SIDEWAYS)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Selects the line under the mouse, opens the menu, or takes hold of the scroll bar."""
        line = self.top + event.y
        if event.button == 1 and event.x >= self.inner.width:
            first, last = self._find_thumb()
            self._dragged = event.y - first if first <= event.y <= last else (last - first) // 2
            self.capture_mouse()
            self._drag(event.y)
        elif event.button == 1 and event.x >= 0 and 0 <= line < self.count:
            self.move_cursor(line)
            self.handle_click(line, event.x + self.left)
        elif event.button == 3 and 0 <= event.x < self.inner.width and 0 <= line < self.count:
            self.move_cursor(line)
            self.post_message(self.MenuRequest())

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drags the scroll bar's thumb."""
        if self._dragged is not None:
            self._drag(event.y)

    def _drag(self, y: int) -> None:
        first, last = self._find_thumb()
        track = self.inner.height - (last - first + 1)
        if self._dragged is not None and last >= first and track > 0:
            self.set_top_line((y - self._dragged) * (self.count - self.inner.height) // track)

    def on_mouse_up(self) -> None:
        """Ends dragging the scroll bar when the mouse button is released."""
        if self._dragged is not None:
            self.release_mouse()

    def on_mouse_release(self) -> None:
        """Ends dragging, also if the pane is not visible any more."""
        self._dragged = None

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scrolls down; with Shift to the right."""
        self._wheel(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scrolls up; with Shift to the left."""
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, way: int) -> None:
        event.stop()
        if event.shift:
            self.shift(self.left + way * SIDEWAYS)
        else:
            self.set_top_line(self.top + way * WHEEL)

    def on_mouse_scroll_right(self) -> None:
        """Scrolls the content one step to the right."""
        self._action_shift_right()

    def on_mouse_scroll_left(self) -> None:
        """Scrolls the content one step to the left."""
        self._action_shift_left()

    def on_resize(self) -> None:
        """Scrolls so that the cursor stays visible."""
        self._measure(self.size)
        self._scroll(self.top)
        self._scroll_to_line(self.cursor)
        self.invalidate()

    def on_focus(self) -> None:
        """Repaints: the cursor looks different with the focus."""
        self.repaint()

    def on_blur(self) -> None:
        """Repaints: the cursor looks different without the focus."""
        self.repaint()
