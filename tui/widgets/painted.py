"""A widget that makes its lines itself, and sends only those to the terminal that say something else.

Theory. Between a key and what it shows stands what is painted for it. Textual lays borders, padding, tints and opacity
over each line of a widget, and does so for all widgets that touch what has changed; our lines are whole as they are
made, so that work is left out (`render_lines`). And what was made is compared with what stands on the screen: a cursor
that goes down one line is two lines for the terminal, and the tree of a message like the last one is the lines that
differ.
"""

from __future__ import annotations

from itertools import groupby

from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui.crash_guard import CrashGuard


class PaintedWidget(CrashGuard, Widget, inherit_bindings=False):
    """Has neither border nor padding. A subclass makes the lines, and says when they are to be made anew."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._strips_shown: list[Strip] = []
        self._size_shown = Size(0, 0)
        self._is_asked = False
        self.is_placed = True

    def set_placed(self, placed: bool) -> None:
        """Says whether it is on the screen; while it is not, nothing is made."""
        if placed and not self.is_placed:
            self._size_shown = Size(-1, -1)
        self.is_placed = placed

    def make_strips(self, size: Size) -> list[Strip]:
        """All lines that are seen: as many strips as `size` is high, each as wide."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Lines are made anew, once, when what is being dealt with now is done."""
        if not self._is_asked:
            self._is_asked = True
            self.call_next(self._compare)

    def render_lines(self, crop: Region) -> list[Strip]:
        """See Textual's Widget."""
        if self._size_shown != self.size:
            self._make()
        lines = self._strips_shown[crop.y : crop.bottom]
        if crop.column_span == (0, self.size.width):
            return lines
        return [line.crop(*crop.column_span) for line in lines]

    def render_line(self, y: int) -> Strip:
        """See Textual's Widget."""
        (line,) = self.render_lines(Region(0, y, self.size.width, 1))
        return line

    def _make(self) -> None:
        self._size_shown = self.size
        self._strips_shown = self.make_strips(self.size)

    def _compare(self) -> None:
        self._is_asked = False
        if not self.is_placed:
            return
        before, size = self._strips_shown, self._size_shown
        self._make()
        if size != self._size_shown:
            self.refresh()
            return
        changed = [y for y, (old, new) in enumerate(zip(before, self._strips_shown, strict=True)) if old != new]
        for _, run in groupby(enumerate(changed), lambda pair: pair[1] - pair[0]):
            ys = [y for _, y in run]
            self.refresh(Region(0, ys[0], size.width, len(ys)))
