"""Sets of rows: those that the user has marked, ignored, or jumped to, and those that a page is about; their order.

Theory. Rows are kept by number, whatever the list shows. A row that a filter hides is skipped, and is there again
without the filter. A jump is kept with the row that it left; a step of the cursor is no jump. Going back keeps the rows
ahead; the next jump drops them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints


class RowMarks:
    """The rows that the user has marked, and those that he ignores."""

    def __init__(self) -> None:
        self.marked: set[int] = set()
        self.ignored: set[int] = set()

    def find_next(self, row: int, shows: Callable[[int], bool], *, forward: bool) -> int | None:
        """Returns the next marked and visible row behind or before `row`, round the end; None if there is none."""
        rows = sorted(self.marked)
        if not forward:
            cut = bisect_left(rows, row)
            return next(filter(shows, (*reversed(rows[:cut]), *reversed(rows[cut:]))), None)
        cut = bisect_right(rows, row)
        return next(filter(shows, (*rows[cut:], *rows[:cut])), None)

    def drop_ignored(self, rows: Ints) -> Ints:
        """Returns the ascending rows without ignored ones."""
        if not self.ignored or not len(rows):
            return rows
        ignored = np.array(sorted(self.ignored), np.int64)
        places = np.minimum(np.searchsorted(rows, ignored), len(rows) - 1)
        return np.delete(rows, places[rows[places] == ignored])

    def evict(self, before: int) -> None:
        """Drops the rows before one."""
        for rows in (self.marked, self.ignored):
            rows.difference_update([row for row in rows if row < before])

    @property
    def summary(self) -> str:
        """The numbers of marked and ignored rows as text, empty if there are none."""
        counted = ((len(self.marked), "marked"), (len(self.ignored), "ignored"))
        return ", ".join(f"{count:,} {what}" for count, what in counted if count)


def toggle_row(rows: set[int], row: int) -> bool:
    """Adds a row to a set or removes it; returns whether it is in now."""
    if row in rows:
        rows.remove(row)
        return False
    rows.add(row)
    return True


MOST_JUMPS = 100
"""Rows that the history keeps."""


class RowSorting(NamedTuple):
    """By which column the rows are sorted, by its name."""

    column: str
    descending: bool

    @property
    def key(self) -> str:
        """The sort key, as `list --sort` takes it."""
        return f"{self.column}:{'desc' if self.descending else 'asc'}"


class JumpHistory:
    """The rows of jumps, and the present position among them."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._at = 0

    def add_jump(self, left: int, to: int) -> None:
        """Adds a jump from one row to another."""
        before = self._rows[: self._at]
        if before and before[-1] == left:
            before.pop()
        self._rows = [*before, left, to][-MOST_JUMPS:]
        self._at = len(self._rows) - 1

    def go_back(self, row: int, shows: Callable[[int], bool]) -> int | None:
        """Returns the last visible row before; `row` is the present one.

        None if there is none.
        """
        return self._go(row, shows, range(self._at - 1, -1, -1))

    def go_forward(self, row: int, shows: Callable[[int], bool]) -> int | None:
        """Returns the next visible row that going back has left."""
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
    """The rows and streams that a page is about.

    ended: the input has ended, and the filter has examined all rows. matches: the rows that match the filter,
    ascending; None without one. filter: its text. ignored: rows to leave out. first: rows before it were evicted.
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
        """The number of rows in memory, from `first` on; ignored rows count."""
        return self.rows - self.first

    def make_mask(self) -> Bools | None:
        """Returns which of the rows from `first` on belong to the page; None: all."""
        if self.matches is None and not self.ignored:
            return None
        found = np.full(self.row_count, self.matches is None)
        if self.matches is not None:
            found[self.matches[(self.first <= self.matches) & (self.matches < self.rows)] - self.first] = True
        found[[row - self.first for row in self.ignored if self.first <= row < self.rows]] = False
        return found

    def list_rows(self) -> Ints:
        """Returns the rows of the page, ascending."""
        mask = self.make_mask()
        return np.arange(self.first, self.rows) if mask is None else self.first + np.flatnonzero(mask)

    def drop_ignored(self, rows: Ints) -> Ints:
        """Returns rows without ignored ones; the filter does not matter."""
        if not self.ignored:
            return rows
        return rows[~np.isin(rows, np.fromiter(self.ignored, np.int64, len(self.ignored)))]

    @property
    def description(self) -> str:
        """The limits of the page, for its title; empty if there are none."""
        return self._describe(() if self.filter is None else (f"that match {self.filter}",))

    @property
    def description_of_all(self) -> str:
        """The limits of a page for which a filter does not matter."""
        return self._describe(())

    def _describe(self, filtered: tuple[str, ...]) -> str:
        ignored = (f"without {len(self.ignored):,} ignored",) if self.ignored else ()
        left = (f"from message {self.first + 1:,} on",) if self.first else ()
        return ", ".join((*(() if self.ended else ("so far",)), *left, *filtered, *ignored))
