"""The time line above the list: it paints lines, and tells which span of them was brushed, moved or zoomed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui import keys
from tui.model.activity_line import BRUSH, WINDOW, ActivityLines
from tui.theme import Palette
from tui.widgets.painted import PaintedWidget, make_strip, overlay_strip

Cells = tuple[int, int]
"""A run of cells, the first and the one behind the last."""


class ActivityBar(PaintedWidget, can_focus=True):
    """Lines of the time line, with the cells of the list's window and of the brushed span.

    height: the lines that it wants; 0: it is hidden.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("time")

    @dataclass
    class CellsBrush(Message):
        """The mouse has brushed cells; is_done: the button was released."""

        cells: Cells
        is_done: bool

    @dataclass
    class CellClick(Message):
        """A cell was clicked."""

        cell: int

    @dataclass
    class Turn(Message):
        """A key or the wheel changes the span: brush, pan or zoom.

        what: the name of a method of the control. by: the number of steps; negative ones lead back.
        """

        what: str
        by: int
        cell: int | None = None

    class Resizing(Message):
        """The number of cells has changed."""

    def __init__(self, palette: Palette, height: int) -> None:
        super().__init__(id="time-line")
        self._styles_of = palette.styles
        self.height = height
        self.drawn = ActivityLines((), 0, 0)
        self._marked: Sequence[tuple[str, Cells | None]] = ()
        self._anchor: int | None = None
        self._at = 0

    def show(self, drawn: ActivityLines, window: Cells | None, brush: Cells | None) -> None:
        """Shows other lines, or other marked cells, if they have changed."""
        marked = ((BRUSH, brush), (WINDOW, window))
        if (drawn, marked) != (self.drawn, self._marked):
            self.drawn, self._marked = drawn, marked
            self.repaint()

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the lines; the list's window lies over the brushed span."""
        lines = [*self.drawn.lines[: size.height], *((),) * (size.height - len(self.drawn.lines))]
        strips = [make_strip(line, size.width, self._styles_of) for line in lines]
        for style, cells in self._marked:
            if cells is not None:
                strips = [overlay_strip(strip, [cells], self._styles_of[style]) for strip in strips]
        if self.has_focus:
            strips[-1:] = [overlay_strip(strips[-1], [(0, 1)], self._styles_of["byte"])] if strips else []
        return strips

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begins to brush."""
        if event.button == 1:
            self._anchor = self._at = event.x
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Brushes the cells up to the mouse."""
        if self._anchor is not None and event.x != self._at:
            self._at = event.x
            self.post_message(self.CellsBrush(self._find_brush(self._anchor), False))

    def _find_brush(self, anchor: int) -> Cells:
        return min(anchor, self._at), max(anchor, self._at) + 1

    def on_mouse_up(self) -> None:
        """Ends brushing; a click without a movement goes to a time."""
        anchor, self._anchor = self._anchor, None
        if anchor is None:
            return
        self.release_mouse()
        first, end = self._find_brush(anchor)
        self.post_message(self.CellClick(anchor) if end - first == 1 else self.CellsBrush((first, end), True))

    def on_mouse_release(self) -> None:
        """Ends brushing, also if the terminal did not report the release."""
        self._anchor = None

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zooms in around the mouse."""
        event.stop()
        self.post_message(self.Turn("zoom", 1, event.x))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zooms out around the mouse."""
        event.stop()
        self.post_message(self.Turn("zoom", -1, event.x))

    def on_resize(self) -> None:
        """Tells that the lines must be drawn for another width."""
        self.post_message(self.Resizing())

    def on_focus(self) -> None:
        """Repaints with the mark of the focus."""
        self.repaint()

    def on_blur(self) -> None:
        """Repaints without the mark of the focus."""
        self.repaint()

    def _action_turn(self, what: str, by: int) -> None:
        self.post_message(self.Turn(what, by))
