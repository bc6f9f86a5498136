"""Where the user has been: rows that he jumped to and from, as browsers remember pages.

Theory. A jump is remembered with the place that it left; a step of the cursor is none. Going back leaves what lies
ahead as it is; the next jump forgets it. A row that a filter hides is passed over, and is there again without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

MOST = 100
"""Places that are remembered."""


class Jumps:
    """A list of rows, and the place in it where the user is."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._at = 0

    def jumped(self, left: int, to: int) -> None:
        """From one row to another, which are different ones."""
        before = self._rows[: self._at]
        if before and before[-1] == left:
            before.pop()
        self._rows = [*before, left, to][-MOST:]
        self._at = len(self._rows) - 1

    def back(self, row: int, shows: Callable[[int], bool]) -> int | None:
        """The last place before; `row` is where the user is now. None where there is none that is shown."""
        return self._go(row, shows, range(self._at - 1, -1, -1))

    def forward(self, row: int, shows: Callable[[int], bool]) -> int | None:
        """The place that was last left by going back."""
        return self._go(row, shows, range(self._at + 1, len(self._rows)))

    def _go(self, row: int, shows: Callable[[int], bool], places: Iterable[int]) -> int | None:
        for place in places:
            there = self._rows[place]
            if there != row and shows(there):
                self._rows[self._at] = row
                self._at = place
                return there
        return None
