"""Lines above a pane that do not scroll with it: a chart of what the pane lists."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from analyzer.render.lines import Line
from tui.theme import Palette
from tui.widgets.paint import make_strip
from tui.widgets.painted import PaintedWidget


class ChartArea(PaintedWidget):
    """As high as what it says; nothing where that is nothing."""

    class CellClick(Message):
        """The mouse was pressed on a cell of a line."""

        def __init__(self, cell: int) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self._styles_of = palette.styles
        self._lines: Sequence[Line] = ()
        self.display = False

    def show(self, lines: Sequence[Line]) -> None:
        """Shows other lines; a layout is made only where there are more or fewer of them."""
        if len(lines) != len(self._lines):
            self.display = bool(lines)
            self.styles.height = len(lines)
        self._lines = lines
        self.repaint()

    def make_strips(self, size: Size) -> list[Strip]:
        """See Painted."""
        lines = [*self._lines[: size.height], *((),) * (size.height - len(self._lines))]
        return [make_strip(line, size.width, self._styles_of) for line in lines]

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Tells where."""
        self.post_message(self.CellClick(event.x))
