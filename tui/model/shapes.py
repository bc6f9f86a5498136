"""The layouts there are: panes side by side, one above the other, or such a group in the place of a pane.

Theory. A layout is a tree. Its leaves are panes; what stands in a group has a name there, by which the user's choice of
its size is kept, so that each layout has sizes of its own. Sizes are made of weights and of what a part needs at least,
in whole numbers: what they sum up to is what there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from dissectors.slotted import slotted

Name = Literal["list", "tree", "hex"]
Mode = Literal["auto", "beside", "stacked", "mixed"]

PANES: tuple[Name, ...] = ("list", "tree", "hex")
MODES: dict[Mode, str] = {
    "auto": "as the width allows",
    "beside": "side by side",
    "stacked": "one above the other",
    "mixed": "the list above, tree and bytes below it",
}

PANE_WIDTH, PANE_HEIGHT = 12, 2
"""The least a pane has beside others, its head included."""


@slotted
class Group:
    """Parts by name: side by side if `upright`, for so the dividers between them are; else one above the other."""

    upright: bool
    parts: Mapping[str, Part]


Part = Name | Group

SHAPES: dict[Mode, Group] = {
    "beside": Group(True, {"beside.list": "list", "beside.tree": "tree", "beside.hex": "hex"}),
    "stacked": Group(False, {"stacked.list": "list", "stacked.tree": "tree", "stacked.hex": "hex"}),
    "mixed": Group(
        False, {"mixed.list": "list", "mixed.below": Group(True, {"mixed.tree": "tree", "mixed.hex": "hex"})}
    ),
}
"""What each mode is; `auto` is one of them."""


def least(part: Part) -> tuple[int, int]:
    """The least width and height that has room for all panes, and for the dividers between them."""
    if not isinstance(part, Group):
        return PANE_WIDTH, PANE_HEIGHT
    widths, heights = zip(*map(least, part.parts.values()), strict=True)
    between = len(widths) - 1
    if part.upright:
        return sum(widths) + between, max(heights)
    return max(widths), sum(heights) + between


def seen(group: Group, hidden: frozenset[Name]) -> Part:
    """The group without the panes that are hidden, which are not all; where one part is left, that part."""
    parts: dict[str, Part] = {}
    for name, part in group.parts.items():
        if not hidden.issuperset(panes(part)):
            parts[name] = seen(part, hidden) if isinstance(part, Group) else part
    return next(iter(parts.values())) if len(parts) == 1 else Group(group.upright, parts)


def panes(part: Part) -> Iterator[Name]:
    """All panes in it."""
    if isinstance(part, Group):
        for each in part.parts.values():
            yield from panes(each)
    else:
        yield part


def groups(group: Group) -> Iterator[Group]:
    """It, and all groups in it."""
    yield group
    for part in group.parts.values():
        if isinstance(part, Group):
            yield from groups(part)


def apportioned(room: int, weights: Sequence[int], least: Sequence[int]) -> list[int]:
    """`room` cells by weights, which are above 0, none below its least; these must have room together."""
    sizes, left = list(least), dict(enumerate(weights))
    while True:
        free = room - sum(size for index, size in enumerate(sizes) if index not in left)
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
