"""The line between two panes, which the mouse can take hold of."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui.model.arrangement import Divider
from tui.theme import Palette
from tui.widgets.paint import make_strip
from tui.widgets.painted import PaintedWidget

UPRIGHT, LEVEL, JOINT = "│", "─", "┬"

REST, HELD = "dim", "partner"
"""Styles: of a line that is held, and of others."""


class Splitter(PaintedWidget):
    """One cell wide, or high. `divider`: what it stands for now; None while it is not needed."""

    class DividerDrag(Message):
        """The mouse holds it and is at this cell of the screen."""

        def __init__(self, splitter: Splitter, x: int, y: int) -> None:
            super().__init__()
            self.splitter, self.x, self.y = splitter, x, y

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self._styles_of = palette.styles
        self._held = False
        self.divider: Divider | None = None

    def set_divider(self, divider: Divider | None) -> None:
        """From now on it is this one."""
        self.divider = divider
        self.repaint()

    def make_strips(self, size: Size) -> list[Strip]:
        """See Painted."""
        divider, style = self.divider, HELD if self._held else REST
        if divider is None or divider.upright:
            return [make_strip(((style, UPRIGHT),), size.width, self._styles_of)] * size.height
        signs = LEVEL * size.width
        if divider.joint is not None:
            signs = f"{signs[: divider.joint]}{JOINT}{signs[divider.joint + 1 :]}"
        return [make_strip(((style, signs),), size.width, self._styles_of)] * size.height

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Takes hold of it."""
        if event.button == 1:
            self._held = True
            self.capture_mouse()
            self.repaint()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drags it; where the terminal did not tell that the button was let go, the next move does."""
        if self._held and event.button == 1:
            self.post_message(self.DividerDrag(self, *event.screen_offset))
        else:
            self.release()

    def on_mouse_up(self) -> None:
        """Lets go of it."""
        self.release()

    def release(self) -> None:
        """Where it is now it stays."""
        if self._held:
            self.release_mouse()

    def on_mouse_release(self) -> None:
        """It was let go, here or by the screen."""
        self._held = False
        self.repaint()
