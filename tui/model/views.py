"""What a page about the whole capture consists of: views, each of them lines that may lead somewhere.

Theory. A view is made by another thread and never changes; what the user did to it, sorted, narrowed, unfolded, is kept
beside it in a State. So when a newer view of the same things comes, it is seen in the same way. A line has a key, by
which the selection finds it again wherever it has gone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from analyzer.render.lines import Line
from tui.model.leads import Lead
from tui.model.table import Order

Heads = Sequence[tuple[str, str]]
"""Titles of columns in their places, and what they are alone; nothing for what is no column."""


class Item(NamedTuple):
    """A line. folds: whether something is unfolded beneath it, or would be."""

    line: Line
    lead: Lead | None = None
    key: Hashable = None
    folds: bool = False


@dataclass(slots=True)
class State:
    """How the user sees a view.

    opened: keys of what is unfolded; None until he has folded or unfolded anything. zoom: how often he has looked
    closer.
    """

    order: Order = field(default_factory=Order)
    opened: frozenset[Hashable] | None = None
    zoom: int = 0


class View(Protocol):
    """sorts: whether it can be sorted by its columns. foldable: what can be unfolded, opened: what is so at first.

    zooms: how often one can look closer.
    """

    name: str
    sorts: bool
    foldable: Sequence[Hashable]
    opened: frozenset[Hashable]
    zooms: int

    def head(self, width: int, state: State) -> Heads:
        """What stands above the lines."""

    def lines(self, width: int, state: State) -> Sequence[Item]:
        """The lines for a width in cells."""

    def place(self, key: Hashable, lines: Sequence[Item]) -> int | None:
        """Which of its lines has a key, or is nearest."""

    def above(self, width: int, height: int, state: State, key: Hashable) -> Sequence[Line]:
        """What stands above the head; `key` is that of the selected line, `height` the lines that there is room for."""

    def key_at(self, cell: int, width: int, state: State) -> Hashable:
        """The key of the line that a cell of what stands above stands for; None for none."""


class Said:
    """A view of one line, and the beginning of others."""

    def __init__(self, name: str, said: str) -> None:
        self.name, self.said = name, said
        self.sorts = False
        self.foldable: Sequence[Hashable] = ()
        self.opened: frozenset[Hashable] = frozenset()
        self.zooms = 0

    def head(self, width: int, state: State) -> Heads:
        """See View."""
        return ()

    def lines(self, width: int, state: State) -> Sequence[Item]:
        """See View."""
        return [Item((("dim", f" {self.said}"),))]

    def place(self, key: Hashable, lines: Sequence[Item]) -> int | None:
        """See View."""
        return next((place for place, item in enumerate(lines) if item.key == key), None)

    def above(self, width: int, height: int, state: State, key: Hashable) -> Sequence[Line]:
        """See View."""
        return ()

    def key_at(self, cell: int, width: int, state: State) -> Hashable:
        """See View."""
        return None
