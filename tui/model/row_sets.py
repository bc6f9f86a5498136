"""Sets of rows: those that the user has marked, ignored, or jumped to, and those that a page is about.

Theory. Rows are kept by number, whatever the list shows. A row that a filter hides is skipped, and is there again
without the filter. A jump is kept with the row that it left; a step of the cursor is no jump. Going back keeps the rows
ahead; the next jump drops them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field

import numpy as np

from analyzer.columns.arrays import Bools, Ints


class RowMarks:
    """`marked` and `ignored` are read by all who ask for them; rows come and go one at a time."""

    def __init__(self) -> None:
        self.marked: set[int] = set()
        self.ignored: set[int] = set()

    def find_next(self, row: int, shows: Callable[[int], bool], *, forward: bool) -> int | None:
        """The next marked row that is shown, behind `row` or before it, round the end; None where there is none."""
        rows = sorted(self.marked)
        if not forward:
            cut = bisect_left(rows, row)
            return next(filter(shows, (*reversed(rows[:cut]), *reversed(rows[cut:]))), None)
        cut = bisect_right(rows, row)
        return next(filter(shows, (*rows[cut:], *rows[:cut])), None)

    def drop_ignored(self, rows: Ints) -> Ints:
        """Those of `rows`, which rise, that are not ignored."""
        if not self.ignored or not len(rows):
            return rows
        ignored = np.array(sorted(self.ignored), np.int64)
        places = np.minimum(np.searchsorted(rows, ignored), len(rows) - 1)
        return np.delete(rows, places[rows[places] == ignored])

    def evict(self, before: int) -> None:
        """The rows before one leave, and their marks with them."""
        for rows in (self.marked, self.ignored):
            rows.difference_update([row for row in rows if row < before])

    @property
    def summary(self) -> str:
        """How many there are, for people; nothing where there are none."""
        counted = ((len(self.marked), "marked"), (len(self.ignored), "ignored"))
        return ", ".join(f"{count:,} {what}" for count, what in counted if count)


def toggle_row(rows: set[int], row: int) -> bool:
    """Takes a row in, or out; whether it is in now."""
    if row in rows:
        rows.remove(row)
        return False
    rows.add(row)
    return True


MOST_JUMPS = 100
"""Places that are remembered."""


class JumpHistory:
    """A list of rows, and the place in it where the user is."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._at = 0

    def add_jump(self, left: int, to: int) -> None:
        """From one row to another, which are different ones."""
        before = self._rows[: self._at]
        if before and before[-1] == left:
            before.pop()
        self._rows = [*before, left, to][-MOST_JUMPS:]
        self._at = len(self._rows) - 1

    def go_back(self, row: int, shows: Callable[[int], bool]) -> int | None:
        """The last place before; `row` is where the user is now. None where there is none that is shown."""
        return self._go(row, shows, range(self._at - 1, -1, -1))

    def go_forward(self, row: int, shows: Callable[[int], bool]) -> int | None:
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


@dataclass(frozen=True, slots=True)
class PageScope:
    """So many rows and streams are there. kept: the rows that a filter keeps, rising; None without one.

    ended: nothing comes any more, and the filter has asked all. filter: its text. ignored: rows that the user wants to
    hear nothing of. first: rows before it have left.
    """

    rows: int
    streams: int
    ended: bool
    matches: Ints | None = None
    filter: str | None = None
    ignored: Set[int] = field(default_factory=frozenset)
    first: int = 0

    @property
    def row_count(self) -> int:
        """How many rows are there."""
        return self.rows - self.first

    def make_mask(self) -> Bools | None:
        """Which of the rows from `first` on count; None: all."""
        if self.matches is None and not self.ignored:
            return None
        found = np.full(self.row_count, self.matches is None)
        if self.matches is not None:
            found[self.matches[(self.first <= self.matches) & (self.matches < self.rows)] - self.first] = True
        found[[row - self.first for row in self.ignored if self.first <= row < self.rows]] = False
        return found

    def drop_ignored(self, rows: Ints) -> Ints:
        """Those of some rows that are not ignored; a filter does not matter."""
        if not self.ignored:
            return rows
        return rows[~np.isin(rows, np.fromiter(self.ignored, np.int64, len(self.ignored)))]

    @property
    def description(self) -> str:
        """What limits what a page says, for its title; nothing where nothing does."""
        return self._describe(() if self.filter is None else (f"of what fulfils {self.filter}",))

    @property
    def description_of_all(self) -> str:
        """The same of a page for which a filter does not matter."""
        return self._describe(())

    def _describe(self, filtered: tuple[str, ...]) -> str:
        ignored = (f"without {len(self.ignored):,} ignored",) if self.ignored else ()
        left = (f"from message {self.first + 1:,} on",) if self.first else ()
        return ", ".join((*(() if self.ended else ("so far",)), *left, *filtered, *ignored))
