"""The base of all widgets: it makes its lines as Strips, and sends only changed lines to the terminal.

Theory. Texts of lines, (style name, text), become Strips here and nowhere else. Every text goes through safe_text as it
becomes a Segment. Segments know no markup, so `[/red]` and `[@click=...]` are plain text.

Painting stands between a key and its effect. Textual lays borders, padding, tints and opacity over each line of a
widget, for all widgets that touch a change; our lines are complete as they are made, so `render_lines` leaves that work
out. New lines are compared with those on the screen: a cursor that moves down one line sends two lines to the terminal,
and the tree of a similar message sends the lines that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui.crash_guard import CrashGuard
from tui.model.drawing import Spans, fit_spans


class PaintedWidget(CrashGuard, Widget, inherit_bindings=False):
    """A widget without border and padding that makes its own lines; a subclass requests repaints."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._strips_shown: list[Strip] = []
        self._size_shown = Size(0, 0)
        self._is_requested = False
        self.is_placed = True

    def set_placed(self, placed: bool) -> None:
        """Sets whether it is on the screen; otherwise nothing is made."""
        if placed and not self.is_placed:
            self._size_shown = Size(-1, -1)
        self.is_placed = placed

    def make_strips(self, size: Size) -> list[Strip]:
        """Makes all visible lines: as many strips as `size` is high, each as wide."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Makes the lines again, once, after the present event."""
        if not self._is_requested:
            self._is_requested = True
            self.call_next(self._compare)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Returns lines of the last make_strips(); makes them if the size has changed."""
        if self._size_shown != self.size:
            self._make()
        lines = self._strips_shown[crop.y : crop.bottom]
        if crop.column_span == (0, self.size.width):
            return lines
        return [line.crop(*crop.column_span) for line in lines]

    def render_line(self, y: int) -> Strip:
        """Renders the line at height `y` of the widget, as Textual asks for it."""
        (line,) = self.render_lines(Region(0, y, self.size.width, 1))
        return line

    def _make(self) -> None:
        self._size_shown = self.size
        self._strips_shown = self.make_strips(self.size)

    def _compare(self) -> None:
        self._is_requested = False
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


Styles = Mapping[str, Style]


def make_strip(spans: Spans, width: int, styles: Styles, over: Style | None = None) -> Strip:
    """Makes a line of exactly `width` cells; `over` is laid over all of it."""
    return Strip([Segment(text, _style(styles, name, over)) for name, text in fit_spans(spans, width)], max(width, 0))


def overlay_strip(line: Strip, places: Iterable[tuple[int, int]], style: Style) -> Strip:
    """Lays a style over some cells of a strip, given as (first, end)."""
    for first, end in places:
        if 0 <= first < end <= line.cell_length:
            marked = Strip([Segment(part.text, (part.style or Style.null()) + style) for part in line.crop(first, end)])
            line = Strip.join([part for part in (line.crop(0, first), marked, line.crop(end)) if part.cell_length])
    return line


def _style(styles: Styles, name: str, over: Style | None) -> Style:
    return styles[name] if over is None else styles[name] + over
