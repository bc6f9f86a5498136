"""The bars around the three panes, and what each of them says."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.columns.text import safe_text
from tui.keys import Where
from tui.live import Wire
from tui.model.detail import Detail
from tui.screens.bars import Counts, Filtered, head_parts, keys_parts, status_parts, tab_parts, title_parts
from tui.theme import Palette
from tui.widgets.bar import Bar, Part
from tui.widgets.hexview import HexPane
from tui.widgets.pane import Pane
from tui.widgets.timeline import TimelinePane
from tui.widgets.tree import TreePane

BARS = {"title": "bar", "list-head": "head", "tree-head": "head", "hex-head": "head", "status": "bar", "keys": "bar"}
"""Bars by name, each with the style of what is empty in it."""

ZOOMED = " zoomed, z: all panes "

SCROLLS = {True: " ▼ newest ", False: " G: newest ", None: ""}
"""At the right of the list's head: whether it stays at the end as messages come in."""


class Frame:
    """The panes by the names that keys have for them, and the bars. Of the thread that paints."""

    def __init__(self, palette: Palette, listed: TimelinePane, tree: TreePane, hexes: HexPane) -> None:
        self.bars = {name: Bar(palette, base, id=name) for name, base in BARS.items()}
        self._list, self._tree, self._hex = listed, tree, hexes
        self.panes: dict[Where, Pane] = {"list": listed, "tree": tree, "hex": hexes}
        self.problem: str | None = None
        """Why a live capture ended: stands in the status line whenever nothing else is said there."""

    @property
    def focused(self) -> Pane:
        """The pane that has the focus; the list while none has."""
        return next((pane for pane in self.panes.values() if pane.has_focus), self._list)

    def status(self, parts: Sequence[Part]) -> None:
        """A sentence, until something else is selected; at the right, how many rows are marked."""
        said = self._list.said.marks.said
        self.bars["status"].say(parts, [Part("bar-title", f"{said} ")] if said else ())

    def say_title(self, opened: str, counts: Counts, filtered: Filtered | None, wire: Wire | None) -> None:
        """What is open, the filter in force, how much there is; how a live capture stands."""
        self.bars["title"].say(*title_parts(opened, counts, filtered, wire))

    def say_heads(
        self, detail: Detail | None, shown: str, source: int, *, zoomed: bool, scrolls: bool | None = None
    ) -> None:
        """The columns of the list, the message in the tree, the sources of the bytes, of which one is shown; zoomed:
        that the pane with the focus stands alone; scrolls: whether the list stays at its end, None where it has one.
        """
        focused = {name: pane.has_focus for name, pane in self.panes.items()}
        sources = () if detail is None else detail.tree.sources
        heads: dict[Where, list[Part]] = {
            "list": head_parts(self._list.columns.head()[self._list.left :], focused=focused["list"]),
            "tree": head_parts(shown, focused=focused["tree"]),
            "hex": tab_parts(sources, source, focused=focused["hex"]),
        }
        for name, parts in heads.items():
            base = "head-on" if focused[name] else "head"
            beside = ZOOMED if zoomed and focused[name] else SCROLLS[scrolls] if name == "list" else ""
            self.bars[f"{name}-head"].say(parts, [Part(base, beside)] if beside else (), base)

    def say_status(self, detail: Detail | None, source: int) -> None:
        """Where the selected field stands, unless the list has the focus: it says all itself."""
        path = () if self._list.has_focus or detail is None else self._tree.path()
        name = detail.tree.sources[source].name if detail is not None and source else None
        at = self._hex.at if self._hex.has_focus and self._hex.count else None
        problem = [Part("bar-error", f" {safe_text(self.problem)}")] if self.problem else []
        self.status(problem or status_parts(path, name, at))

    def say_keys(self) -> None:
        """The keys that matter in the pane that has the focus."""
        pane = self.focused
        self.bars["keys"].say(keys_parts(next(name for name, each in self.panes.items() if each is pane)))
