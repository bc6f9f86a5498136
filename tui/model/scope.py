"""What a page about the capture speaks of: how much had been announced when it was made, and which rows count."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from analyzer.columns.arrays import Bools, Ints


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
