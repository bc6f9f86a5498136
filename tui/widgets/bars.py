"""Bars of one line whose named parts can be clicked, and an area of chart lines that does not scroll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from analyzer.columns.text import safe_text
from analyzer.render.lines import Line
from tui.theme import Palette
from tui.widgets.painted import PaintedWidget, make_strip, overlay_strip


class BarPart(NamedTuple):
    """A piece of a bar; a part with a name can be clicked."""

    style: str
    text: str
    name: str = ""


BLANK = BarPart("bar", "  ")


class Bar(PaintedWidget):
    """A line with a left part, cut where the right part begins. `base` is the style of empty cells.

    whole: named parts that do not fit are left out, so that none is cut in a word.
    """

    DEFAULT_CSS = "Bar { height: 1; }"

    @dataclass
    class PartClick(Message):
        """A named part was clicked."""

        bar: Bar
        name: str

        @property
        def control(self) -> Bar:
            """The bar that was clicked; Textual's `@on` selects messages by it."""
            return self.bar

    def __init__(self, palette: Palette, base: str, *, id: str, whole: bool = False) -> None:
        super().__init__(id=id)
        self._styles_of = palette.styles
        self._base, self._whole = base, whole
        self._left: tuple[BarPart, ...] = ()
        self._right: tuple[BarPart, ...] = ()

    def show(self, left: Sequence[BarPart], right: Sequence[BarPart] = (), base: str | None = None) -> None:
        """Shows these parts at the left and the right end of the bar, and paints it if they have changed."""
        parts = (tuple(left), tuple(right), base or self._base)
        if parts != (self._left, self._right, self._base):
            self._left, self._right, self._base = parts
            self.repaint()

    @property
    def text(self) -> str:
        """The text of all parts, for tests."""
        return "".join(part.text for part in (*self._left, *self._right))

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the text of the bar as one line, `size` cells wide."""
        return [self._line(size.width)] * size.height

    def _line(self, width: int) -> Strip:
        right = [(part.style, part.text) for part in self._right]
        needed = sum(cell_len(safe_text(text)) for _, text in right)
        if needed >= width:
            right, needed = [], 0
        styles = {**self._styles_of, "": self._styles_of[self._base]}
        left = self._left if not self._whole else _leave_out(self._left, width - needed)
        begin = make_strip([(part.style, part.text) for part in left], width - needed, styles)
        return Strip.join([begin, make_strip(right, needed, styles)]) if needed else begin

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Posts PartClick for the named part under the mouse."""
        at = 0
        for part in self._left:
            at += cell_len(safe_text(part.text))
            if event.x < at:
                if part.name:
                    self.post_message(self.PartClick(self, part.name))
                return


def _leave_out(parts: Sequence[BarPart], width: int) -> list[BarPart]:
    """Returns the parts up to the first name whose parts do not fit into `width` cells together, without a name all."""
    found: list[BarPart] = []
    used = 0
    for name, group in groupby(parts, lambda part: part.name):
        pieces = list(group)
        used += sum(cell_len(safe_text(part.text)) for part in pieces)
        if used > width and (name or not any(part.text.strip() for part in pieces)):
            break
        found += pieces
    return found


class ChartArea(PaintedWidget):
    """Lines above a pane, as high as their number; hidden without any."""

    @dataclass
    class CellClick(Message):
        """The mouse was pressed on a cell of a line."""

        cell: int

    @dataclass
    class CellsDrag(Message):
        """The mouse was dragged over cells, from the first one to before the last one."""

        first: int
        end: int

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self._styles_of = palette.styles
        self._lines: Sequence[Line] = ()
        self._marked: tuple[int, int] | None = None
        self._anchor: int | None = None
        self.display = False

    def show(self, lines: Sequence[Line]) -> None:
        """Shows other lines; causes a layout only if their number changes."""
        if len(lines) != len(self._lines):
            self.display = bool(lines)
            self.styles.height = len(lines)
        self._lines = lines
        self.repaint()

    def mark_cells(self, cells: tuple[int, int] | None) -> None:
        """Marks cells of all lines but the first, which is the title."""
        if cells != self._marked:
            self._marked = cells
            self.repaint()

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the lines of text, with empty lines below them up to the height of `size` (cells)."""
        lines = [*self._lines[: size.height], *((),) * (size.height - len(self._lines))]
        strips = [make_strip(line, size.width, self._styles_of) for line in lines]
        if self._marked is None:
            return strips
        style = self._styles_of["cursor"]
        return [*strips[:1], *(overlay_strip(strip, [self._marked], style) for strip in strips[1:])]

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Posts the cell under the mouse."""
        self._anchor = event.x
        self.capture_mouse()
        self.post_message(self.CellClick(event.x))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Posts the cells over which the mouse is dragged."""
        if self._anchor is not None:
            self.post_message(self.CellsDrag(min(self._anchor, event.x), max(self._anchor, event.x) + 1))

    def on_mouse_up(self) -> None:
        """Ends dragging."""
        self.release_mouse()

    def on_mouse_release(self) -> None:
        """Ends dragging, also if the terminal did not report the release."""
        self._anchor = None
