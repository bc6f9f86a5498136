"""The arrangement of the panes: boxes for heads, panes and dividers in an area of any size.

Theory. A layout is a tree. Its leaves are panes; each part of a group has a name, by which its size is saved, so each
layout has its own sizes. A divider of one cell stands between neighbours. The size of a part is a weight, so all parts
grow with the terminal. Until the user moves a divider, weights follow from the width: the bytes get what one of their
lines needs, and the others share the rest. From then on weights are the cells that the parts had at the last move.
`auto` puts panes side by side only if the list keeps its standard columns and enough of the summary.
Moving a divider takes cells from one neighbour and gives them to the other; a hidden pane keeps its weight.

If the panes do not fit at their least sizes, only the one with the focus is shown, as a zoomed one is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeGuard

from dissectors.slotted import field, make_slotted
from tui.saved_state import SavedState

LEAST_WIDTH, LEAST_HEIGHT = 20, 5
"""The smallest terminal, in cells."""

TOO_SMALL = f"the terminal is too small: {LEAST_WIDTH} x {LEAST_HEIGHT} cells at least"

BYTES, MORE_BYTES = 44, 77
"""The columns of eight bytes, and of sixteen."""

LIST_WIDTH, TREE_WIDTH = 96, 40
"""The columns that list and tree need side by side: the list has time, operation, version, latency, and 40 of info."""

VAST = LIST_WIDTH + TREE_WIDTH + MORE_BYTES + 2
"""The columns from which a line has sixteen bytes beside the list; without the list below it, SIXTEEN."""

SIXTEEN = 160
"""The columns from which a line has sixteen bytes below the list."""

ABOVE = {"stacked.list": 4, "stacked.tree": 3, "stacked.hex": 3, "mixed.list": 1, "mixed.below": 1}
LIST_TO_TREE = 5, 3
"""Default weights: of parts one above the other, and of list and tree side by side."""

HEAVIEST = 1 << 20
"""The largest weight."""


class Box(NamedTuple):
    """Cells of the area, from its upper left corner."""

    x: int
    y: int
    width: int
    height: int


@make_slotted
class Divider:
    """A line between the panes `before` it and those `after` it.

    sizes: cells of all visible parts of its group, along it. index: the number of parts before it. least_sizes: of its
    two neighbours. joint: where another divider begins at it, in cells from its begin.
    """

    box: Box
    upright: bool
    before: frozenset[PaneName]
    after: frozenset[PaneName]
    sizes: Mapping[str, int]
    index: int
    least_sizes: tuple[int, int]
    joint: int | None = None

    @property
    def position(self) -> int:
        """The column of an upright divider, the line of a level one."""
        return self.box.x if self.upright else self.box.y


@make_slotted
class PaneLayout:
    """The boxes of an area: heads and panes by the pane's name, only visible ones."""

    heads: dict[PaneName, Box] = field(default_factory=dict)
    panes: dict[PaneName, Box] = field(default_factory=dict)
    dividers: list[Divider] = field(default_factory=list)

    def find_divider(self, pane: PaneName, *, upright: bool) -> Divider | None:
        """Returns the divider that changes a pane's size: behind it, or before it if it is the last one."""
        fitting = [divider for divider in self.dividers if divider.upright == upright]
        behind = next((divider for divider in fitting if pane in divider.before), None)
        return behind or next((divider for divider in fitting[::-1] if pane in divider.after), None)


@make_slotted
class Arrangement:
    """The user's choices.

    shares: weights of parts, of groups in which a divider was moved.
    """

    mode: LayoutMode = "auto"
    shares: Mapping[str, int] = field(default_factory=dict)
    hidden: frozenset[PaneName] = frozenset()
    zoomed: bool = False

    @classmethod
    def load(cls, saved_state: SavedState) -> Arrangement:
        """Loads the arrangement of the last run."""
        mode, hidden = saved_state.get("layout", "auto"), frozenset(filter(_is_name, saved_state.get("hidden", [])))
        weights = {name: int(weight) for name, weight in saved_state.get("shares", {}).items()}
        return cls(
            mode if mode in MODES else "auto",
            {name: weight for name, weight in weights.items() if 0 < weight <= HEAVIEST},
            hidden if len(hidden) < len(PANES) else frozenset(),
        )

    def save(self, saved_state: SavedState) -> None:
        """Saves the arrangement for the next run, without the zoom."""
        saved_state.set("layout", self.mode)
        saved_state.set("hidden", sorted(self.hidden))
        saved_state.set("shares", dict(self.shares))

    @property
    def visible_panes(self) -> list[PaneName]:
        """The panes that are not hidden, in the order of the focus."""
        return [name for name in PANES if name not in self.hidden]

    def with_next_mode(self) -> Arrangement:
        """Returns the arrangement with the next layout mode."""
        modes = list(MODES)
        return replace(self, mode=modes[(modes.index(self.mode) + 1) % len(modes)], zoomed=False)

    def with_pane(self, pane: PaneName, *, shown: bool) -> Arrangement:
        """Returns the arrangement with a pane shown or hidden; the last one stays."""
        hidden = self.hidden - {pane} if shown else self.hidden | {pane}
        return self if len(hidden) == len(PANES) else replace(self, hidden=hidden)

    def lay_out(self, width: int, height: int, focus: PaneName) -> PaneLayout:
        """Computes boxes for an area of at least one cell.

        focus: the pane that is shown if only one fits.
        """
        part = drop_hidden(self._choose_groups(width), self.hidden)
        needed = measure_least(part)
        if self.zoomed or needed[0] > width or needed[1] > height:
            part = self.visible_panes[0] if focus in self.hidden else focus
        found = PaneLayout()
        self._lay(part, Box(0, 0, width, height), found)
        return found

    def with_divider_at(self, divider: Divider, to: int, width: int) -> Arrangement:
        """Returns the arrangement with a divider moved, within its neighbours' least sizes.

        width: of the area.
        """
        names, sizes = list(divider.sizes), list(divider.sizes.values())
        first, second = divider.index - 1, divider.index
        both = sizes[first] + sizes[second]
        wanted = sizes[first] + to - divider.position
        sizes[first] = max(divider.least_sizes[0], min(wanted, both - divider.least_sizes[1]))
        sizes[second] = both - sizes[first]
        group = next(group for group in walk_groups(self._choose_groups(width)) if names[0] in group.parts)
        before = self._find_weights(group, width, sum(sizes))
        whole = sum(before[name] for name in names)
        shares = {name: max(1, min(weight * sum(sizes) // whole, HEAVIEST)) for name, weight in before.items()}
        return replace(self, shares={**self.shares, **shares, **dict(zip(names, sizes, strict=True))})

    def _choose_groups(self, width: int) -> PaneGroup:
        if self.mode != "auto":
            return GROUPS[self.mode]
        visible = self.visible_panes
        needed = sum(WIDTHS[name] for name in visible) + len(visible) - 1
        return GROUPS["beside" if width >= needed else "mixed"]

    def _lay(self, part: LayoutPart, box: Box, found: PaneLayout) -> None:
        """Adds the boxes of a part to `found`."""
        if isinstance(part, PaneGroup):
            self._lay_group(part, box, found)
        else:
            head = min(box.height - 1, 1)
            found.heads[part] = box._replace(height=head)
            found.panes[part] = box._replace(y=box.y + head, height=box.height - head)

    def _lay_group(self, group: PaneGroup, box: Box, found: PaneLayout) -> None:
        upright, parts = group.upright, list(group.parts.values())
        available = (box.width if upright else box.height) - len(parts) + 1
        smallest = [measure_least(part)[0 if upright else 1] for part in parts]
        sizes = apportion(available, list(self._find_weights(group, box.width, available).values()), smallest)
        named = dict(zip(group.parts, sizes, strict=True))
        for at, part in enumerate(parts):
            if at:
                sides = frozenset(walk_panes(parts[at - 1])), frozenset(walk_panes(part))
                line = _slice_box(box, upright, sum(sizes[:at]) + at - 1, 1)
                found.dividers.append(Divider(line, upright, *sides, named, at, (smallest[at - 1], smallest[at])))
            self._lay(part, _slice_box(box, upright, sum(sizes[:at]) + at, sizes[at]), found)
        if not upright:
            _mark_joints(found.dividers)

    def _find_weights(self, group: PaneGroup, width: int, available: int) -> dict[str, int]:
        """Returns the weights of a group's parts.

        width: of the area. available: cells that they share.
        """
        if all(name in self.shares for name in group.parts):
            return {name: self.shares[name] for name in group.parts}
        if not group.upright:
            return {name: ABOVE[name] for name in group.parts}
        panes = {next(walk_panes(part)): name for name, part in group.parts.items()}
        sizes = {"hex": min(_measure_bytes(panes, width), available * 3 // 5) if "hex" in panes else 0}
        left = available - sizes["hex"]
        if "list" in panes and "tree" in panes:
            least = LIST_WIDTH if left >= LIST_WIDTH + TREE_WIDTH else 0
            sizes["list"] = max(left * LIST_TO_TREE[0] // sum(LIST_TO_TREE), least)
            left -= sizes["list"]
        return {name: max(sizes.get(pane, left), 1) for pane, name in panes.items()}


def _measure_bytes(panes: Container[PaneName], width: int) -> int:
    """Returns the columns that bytes need beside these panes in an area of `width` columns."""
    return MORE_BYTES if width >= (VAST if "list" in panes else SIXTEEN) else BYTES


def _slice_box(box: Box, upright: bool, at: int, size: int) -> Box:
    """Cuts `size` columns or lines out of a box, from position `at` on."""
    if upright:
        return box._replace(x=box.x + at, width=size)
    return box._replace(y=box.y + at, height=size)


def _mark_joints(dividers: list[Divider]) -> None:
    """Sets the joint of level dividers at which an upright one begins."""
    for index, level in enumerate(dividers):
        below = [each.box.x - level.box.x for each in dividers if each.upright and each.box.y == level.box.y + 1]
        if not level.upright and below:
            dividers[index] = replace(level, joint=below[0])


def _is_name(text: str) -> TypeGuard[PaneName]:
    return text in PANES


PaneName = Literal["list", "tree", "hex"]
LayoutMode = Literal["auto", "beside", "stacked", "mixed"]

PANES: tuple[PaneName, ...] = ("list", "tree", "hex")
MODES: dict[LayoutMode, str] = {
    "auto": "as the width allows",
    "beside": "side by side",
    "stacked": "one above the other",
    "mixed": "the list above, tree and bytes below it",
}

WIDTHS: Mapping[PaneName, int] = {"list": LIST_WIDTH, "tree": TREE_WIDTH, "hex": BYTES}
"""The columns that panes need beside others, for `auto`."""

PANE_WIDTH, PANE_HEIGHT = 12, 2
"""The least size of a pane beside others, with its head."""


@make_slotted
class PaneGroup:
    """Parts by name: side by side if `upright`, as the dividers are then; else one above the other."""

    upright: bool
    parts: Mapping[str, LayoutPart]


LayoutPart = PaneName | PaneGroup

GROUPS: dict[LayoutMode, PaneGroup] = {
    "beside": PaneGroup(True, {"beside.list": "list", "beside.tree": "tree", "beside.hex": "hex"}),
    "stacked": PaneGroup(False, {"stacked.list": "list", "stacked.tree": "tree", "stacked.hex": "hex"}),
    "mixed": PaneGroup(
        False, {"mixed.list": "list", "mixed.below": PaneGroup(True, {"mixed.tree": "tree", "mixed.hex": "hex"})}
    ),
}
"""The panes of each layout mode; `auto` chooses one of them."""


def measure_least(part: LayoutPart) -> tuple[int, int]:
    """Returns the least width and height of a part with all its panes and dividers."""
    if not isinstance(part, PaneGroup):
        return PANE_WIDTH, PANE_HEIGHT
    widths, heights = zip(*map(measure_least, part.parts.values()), strict=True)
    between = len(widths) - 1
    if part.upright:
        return sum(widths) + between, max(heights)
    return max(widths), sum(heights) + between


def drop_hidden(group: PaneGroup, hidden: frozenset[PaneName]) -> LayoutPart:
    """Returns the group without hidden panes; a group of one part becomes that part."""
    parts: dict[str, LayoutPart] = {}
    for name, part in group.parts.items():
        if not hidden.issuperset(walk_panes(part)):
            parts[name] = drop_hidden(part, hidden) if isinstance(part, PaneGroup) else part
    return next(iter(parts.values())) if len(parts) == 1 else PaneGroup(group.upright, parts)


def walk_panes(part: LayoutPart) -> Iterator[PaneName]:
    """Yields all panes of a part."""
    if isinstance(part, PaneGroup):
        for each in part.parts.values():
            yield from walk_panes(each)
    else:
        yield part


def walk_groups(group: PaneGroup) -> Iterator[PaneGroup]:
    """Yields a group, and all groups in it."""
    yield group
    for part in group.parts.values():
        if isinstance(part, PaneGroup):
            yield from walk_groups(part)


def apportion(available: int, weights: Sequence[int], least: Sequence[int]) -> list[int]:
    """Divides `available` cells by positive weights, none below its least size."""
    sizes, left = list(least), dict(enumerate(weights))
    while True:
        free = available - sum(size for index, size in enumerate(sizes) if index not in left)
        whole = sum(left.values())
        short = [index for index, weight in left.items() if weight * free < least[index] * whole]
        if not short:
            break
        for index in short:
            del left[index]
    before = passed = 0
    for index, weight in left.items():
        passed += weight
        edge = (2 * passed * free + whole) // (2 * whole)  # rounded, so that what a part loses another gains
        sizes[index], before = edge - before, edge
    return sizes
