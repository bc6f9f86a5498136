"""Positions in a list whose lines unfold: which line is the head of which item, and which lies beneath one.

Theory. There may be a million items, and each has one line, its head; only some are unfolded. So the list keeps the
unfolded heads only, in order, with the number of lines beneath each, and finds a line by bisection among them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from analyzer.render.lines import Line
from tui.model.leads import Lead


class FoldLine(NamedTuple):
    """A line: the item, and the offset beneath its head, from 1; 0 is the head itself."""

    head: int
    offset: int


class FoldList:
    """`heads` items, numbered from 0, of which some are unfolded."""

    def __init__(self, heads: int = 0) -> None:
        self.heads = heads
        self._unfolded: list[int] = []
        self._heights: list[int] = []
        self._begins: list[int] | None = []
        self._beneath = 0

    @property
    def lines(self) -> int:
        """The number of visible lines: heads, and the lines beneath unfolded ones."""
        return self.heads + self._beneath

    @property
    def unfolded(self) -> list[int]:
        """The indexes of the unfolded heads, in ascending order (a copy)."""
        return self._unfolded.copy()

    def get_height(self, head: int) -> int | None:
        """Returns the number of lines beneath a head; None while it is folded."""
        place = bisect_left(self._unfolded, head)
        found = place < len(self._unfolded) and self._unfolded[place] == head
        return self._heights[place] if found else None

    def unfold(self, head: int, height: int) -> int:
        """Puts `height` lines beneath a head, in place of those that are there; returns by how many there are more."""
        place = bisect_left(self._unfolded, head)
        self._begins = None
        if place < len(self._unfolded) and self._unfolded[place] == head:
            before, self._heights[place] = self._heights[place], height
            self._beneath += height - before
            return height - before
        self._beneath += height
        self._unfolded.insert(place, head)
        self._heights.insert(place, height)
        return height

    def fold(self, head: int) -> int:
        """Removes the lines beneath a head; returns their number."""
        place = bisect_left(self._unfolded, head)
        if place == len(self._unfolded) or self._unfolded[place] != head:
            return 0
        self._begins = None
        del self._unfolded[place]
        height = self._heights.pop(place)
        self._beneath -= height
        return height

    def find_line(self, head: int) -> int:
        """Returns the line of a head."""
        place = bisect_left(self._unfolded, head)
        if not place:
            return head
        return self._lines()[place - 1] + self._heights[place - 1] + head - self._unfolded[place - 1]

    def locate(self, line: int) -> FoldLine:
        """Returns what a line shows."""
        place = bisect_right(self._lines(), line) - 1
        if place < 0:
            return FoldLine(line, 0)
        behind = line - self._lines()[place]
        height = self._heights[place]
        if behind <= height:
            return FoldLine(self._unfolded[place], behind)
        return FoldLine(self._unfolded[place] + behind - height, 0)

    def _lines(self) -> list[int]:
        """Returns the line of each unfolded head."""
        if self._begins is None:
            above = accumulate(self._heights, initial=0)  # one more than is asked for
            self._begins = [head + lines for head, lines in zip(self._unfolded, above, strict=False)]
        return self._begins


class FoldContents:
    """The content of a page whose lines unfold, in `fold_list`; used by the thread that paints."""

    def __init__(self, heads: int = 0) -> None:
        self.fold_list = FoldList(heads)

    def make_head(self, head: int) -> Line:
        """Returns the head of an item."""
        raise NotImplementedError

    def make_child(self, head: int, at: int) -> Line:
        """Returns a line beneath an unfolded head, counted from 0."""
        raise NotImplementedError

    def can_unfold(self, head: int) -> bool:
        """Returns whether an item has lines beneath it."""
        return True

    def unfold(self, head: int) -> int:
        """Unfolds an item; returns the number of lines that were added. They may change before long."""
        raise NotImplementedError

    def fold(self, head: int) -> int:
        """Folds an item; returns the number of lines that were removed."""
        return self.fold_list.fold(head)

    def find_lead(self, line: FoldLine) -> Lead | None:
        """Returns the lead of a line, or None."""
        return None
