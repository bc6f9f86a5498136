"""The area of the main screen: bars, the panes as they are arranged, and the dividers between them.

Theory. tui.model.pane_layout computes boxes; this module places widgets in them. A widget without a box is not on the
screen, but it keeps its state and its focus, and it costs nothing, because it is not painted. A layout is requested
when the arrangement or the size of the terminal changes, and when the focus moves while one pane is shown alone; never
for a key that moves a cursor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap

from textual import events, on
from textual.geometry import Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui.crash_guard import CrashGuard
from tui.model.activity_height import limit_height
from tui.model.pane_layout import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    PANES,
    TOO_SMALL,
    Arrangement,
    Box,
    Divider,
    PaneLayout,
    PaneName,
)
from tui.saved_state import SavedState
from tui.theme import Palette
from tui.widgets.activity_bar import ActivityBar
from tui.widgets.painted import PaintedWidget, make_strip
from tui.widgets.pane import Pane

ABOVE, BELOW = ("title",), ("status", "keys")
"""The bars above and below the panes."""


UPRIGHT, LEVEL, JOINT = "│", "─", "┬"

REST, DRAGGED = "dim", "partner"
"""The styles of a divider, and of one that is being dragged."""


class Splitter(PaintedWidget):
    """A line of one cell that the mouse can drag.

    divider: the divider that it shows; None while it is not needed.
    """

    @dataclass
    class DividerDrag(Message):
        """The mouse drags the divider to a cell of the screen."""

        splitter: Splitter
        x: int
        y: int

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self._styles_of = palette.styles
        self._is_dragged = False
        self.divider: Divider | None = None

    def set_divider(self, divider: Divider | None) -> None:
        """Sets the divider between two panes that this widget draws, and paints it."""
        self.divider = divider
        self.repaint()

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the line, with a joint where another divider meets it."""
        divider, style = self.divider, DRAGGED if self._is_dragged else REST
        if divider is None or divider.upright:
            return [make_strip(((style, UPRIGHT),), size.width, self._styles_of)] * size.height
        signs = LEVEL * size.width
        if divider.joint is not None:
            signs = f"{signs[: divider.joint]}{JOINT}{signs[divider.joint + 1 :]}"
        return [make_strip(((style, signs),), size.width, self._styles_of)] * size.height

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Takes hold of the divider."""
        if event.button == 1:
            self._is_dragged = True
            self.capture_mouse()
            self.repaint()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drags the divider; releases it if the terminal did not report the release."""
        if self._is_dragged and event.button == 1:
            self.post_message(self.DividerDrag(self, *event.screen_offset))
        else:
            self.release()

    def on_mouse_up(self) -> None:
        """Ends dragging the divider when the mouse button is released."""
        self.release()

    def release(self) -> None:
        """Releases the divider at its present position."""
        if self._is_dragged:
            self.release_mouse()

    def on_mouse_release(self) -> None:
        """Ends dragging, also if the screen released the mouse."""
        self._is_dragged = False
        self.repaint()


class TooSmallNotice(PaintedWidget):
    """The text that replaces everything on a terminal that is too small."""

    def __init__(self, palette: Palette) -> None:
        super().__init__(id="too-small")
        self._styles_of = palette.styles

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the message that the terminal is too small, wrapped to `size` (cells)."""
        lines = [*wrap(TOO_SMALL, max(size.width, 1)), *[""] * size.height]
        return [make_strip((("bar-warning", line),), size.width, self._styles_of) for line in lines[: size.height]]


class BoxLayout(Layout):
    """A layout that asks PaneArea for the regions."""

    name = "boxes"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Places the children that have a region."""
        assert isinstance(parent, PaneArea)
        regions = parent.place_widgets(size)
        return [
            WidgetPlacement(regions[child], child.styles.offset.resolve(size, size), child.styles.margin, child)
            for child in children
            if child in regions
        ]


class PaneArea(CrashGuard, Widget, inherit_bindings=False):
    """Holds panes and bars by name; a pane's head is `NAME-head`."""

    BLANK = True
    DEFAULT_CSS = "PaneArea { height: 1fr; overflow: hidden; }"

    class LayoutChange(Message):
        """Panes have moved, or the zoom has changed."""

    def __init__(
        self,
        palette: Palette,
        panes: Mapping[PaneName, Pane],
        bars: Mapping[str, PaintedWidget],
        saved_state: SavedState,
        time_line: ActivityBar,
    ) -> None:
        self._panes, self._bars, self._time_line = panes, bars, time_line
        self._splitters = [Splitter(palette, id=f"splitter-{number}") for number in range(len(panes) - 1)]
        self._note = TooSmallNotice(palette)
        self._saved_state = saved_state
        self.arrangement = Arrangement.load(saved_state)
        self._focus: PaneName = self.arrangement.visible_panes[0]
        super().__init__(*bars.values(), time_line, *panes.values(), *self._splitters, self._note, id="desk")
        self._boxes = BoxLayout()

    @property
    def layout(self) -> Layout:
        """The layout that places panes and dividers; Textual reads it."""
        return self._boxes

    @property
    def focus_first(self) -> Pane:
        """The pane that gets the focus at the start."""
        return self._panes[self.arrangement.visible_panes[0]]

    @property
    def area(self) -> Region:
        """The region of the panes, between the bars."""
        return self._find_area(self.size)

    @property
    def pane_layout(self) -> PaneLayout:
        """The boxes of panes and dividers, relative to `area`."""
        return self._lay_out(self.size)

    def _lay_out(self, size: Size) -> PaneLayout:
        if size.width < LEAST_WIDTH or size.height < LEAST_HEIGHT:
            return PaneLayout()
        area = self._find_area(size)
        return self.arrangement.lay_out(area.width, area.height, self._focus)

    @property
    def focused(self) -> PaneName:
        """The name of the pane that has the focus, or had it last."""
        focused = self.screen.focused
        return next((name for name, pane in self._panes.items() if pane is focused), self._focus)

    def _find_area(self, size: Size) -> Region:
        """Returns the region of the panes; a low terminal has no time line."""
        above = len(ABOVE) + (limit_height(self._time_line.height, size.height))
        return Region(0, above, size.width, max(size.height - above - len(BELOW), 0))

    def turn_focus(self, by: int) -> None:
        """Moves the focus by `by` visible panes."""
        shown = self.arrangement.visible_panes
        at = shown.index(self.focused) if self.focused in shown else 0
        self.screen.set_focus(self._panes[shown[(at + by) % len(shown)]])

    def rearrange(self, arrangement: Arrangement) -> None:
        """Changes the arrangement, also for the next run."""
        if arrangement == self.arrangement:
            return
        self.arrangement = arrangement
        arrangement.save(self._saved_state)
        self._focus = self.focused
        if self._focus in arrangement.hidden:
            after = PANES[PANES.index(self._focus) :] + PANES
            self._focus = next(name for name in after if name not in arrangement.hidden)
            self.screen.set_focus(self._panes[self._focus])
        self.refresh_layout_soon()
        self.post_message(self.LayoutChange())

    def refresh_layout_soon(self) -> None:
        """Makes Textual ask for the layout again: it caches the layout until a child requests one."""
        self._note.refresh(layout=True)

    def place_widgets(self, size: Size) -> dict[Widget, Region]:
        """Returns the regions of all visible widgets for a size."""
        regions: dict[Widget, Region] = {}
        arranged, area = self._lay_out(size), self._find_area(size)
        if not arranged.panes:
            regions[self._note] = size.region
        else:
            lines = dict(zip((*ABOVE, *BELOW), (0, size.height - 2, size.height - 1), strict=True))
            regions |= {self._bars[name]: Region(0, y, size.width, 1) for name, y in lines.items()}
            if area.y > len(ABOVE):
                regions[self._time_line] = Region(0, len(ABOVE), size.width, area.y - len(ABOVE))
            regions |= {self._bars[f"{name}-head"]: _make_region(box, area) for name, box in arranged.heads.items()}
            regions |= {self._panes[name]: _make_region(box, area) for name, box in arranged.panes.items()}
            regions |= {
                splitter: _make_region(divider.box, area)
                for splitter, divider in zip(self._splitters, arranged.dividers, strict=False)
            }
        dividers = [*arranged.dividers, *[None] * len(self._splitters)]
        for splitter, divider in zip(self._splitters, dividers, strict=False):
            splitter.set_divider(divider)
        for child in self.children:
            if isinstance(child, PaintedWidget):
                child.set_placed(child in regions)
            if child not in regions and self.app.mouse_captured is child:
                child.release_mouse()
        return regions

    @on(events.DescendantFocus)
    def _follow(self, event: events.DescendantFocus) -> None:
        """Shows a hidden pane that gets the focus."""
        name = next((name for name, pane in self._panes.items() if pane is event.widget), None)
        if name is None or name == self._focus or event.widget is not self.screen.focused:
            return
        self._focus = name
        if name in self.arrangement.hidden:
            self.rearrange(self.arrangement.with_pane(name, shown=True))
        elif not self._panes[name].is_placed:
            self.refresh_layout_soon()

    @on(events.DescendantBlur)
    def _keep_focus(self) -> None:
        """Returns the focus to its pane: Textual removes it after a click beside the screen."""
        if self.screen.focused is None and self.app.app_focus:
            self.screen.set_focus(self._panes[self._focus])

    @on(Splitter.DividerDrag)
    def _drag(self, message: Splitter.DividerDrag) -> None:
        index, dividers, area = self._splitters.index(message.splitter), self.pane_layout.dividers, self.area
        if index < len(dividers):
            divider = dividers[index]
            place = message.x - self.region.x - area.x if divider.upright else message.y - self.region.y - area.y
            self.rearrange(self.arrangement.with_divider_at(divider, place, area.width))

    def on_resize(self) -> None:
        """Releases the dividers, which are elsewhere now."""
        for splitter in self._splitters:
            splitter.release()


def _make_region(box: Box, area: Region) -> Region:
    return Region(*box).translate(area.offset)
