"""Which rows a filter keeps, as far as they have been asked; and which are to be asked next.

Theory. Rows are asked a portion at a time, by another thread, outwards from where the user is: first those behind, then
those before. So what was asked is one run of rows, and where the cursor comes to stand is known early. A portion is as
large as can be asked in a moment, as the last one told.

What a row says may change while packets come: its answer closes later, a name is told later. So a request without its
answer is asked again when that has come, and all rows that were asked while the input was read once more at its end.
Rows that leave are forgotten, also where they are under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import CHUNK_BYTES
from analyzer.session import Analysis
from dissectors.wire.fast_path import NULL

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

Some: TypeAlias = "range | Ints"

MOMENT = 0.2
"""Seconds that a portion should take."""

FIRST, FIRST_OF_COLUMNS, MOST = 256, 1 << 18, 1 << 20
"""Rows of the first portion, where messages are read, and where they are not; and of the largest."""

_NONE: Ints = np.zeros(0, np.int64)


class Verdict(NamedTuple):
    """What came of asking `rows`. open: requests among them without an answer. final: nothing comes any more."""

    rows: Some
    kept: Ints
    open: Ints
    final: bool
    seconds: float


class FilterPass:
    """One filter over the rows of a session. `settled`: all rows that there were have been asked, at one time."""

    def __init__(self, wanted: Filter, session: Analysis, rows: int, start: int, first: int = 0) -> None:
        self.filter = wanted
        self.first, self.rows = first, rows
        self.kept: Ints = _NONE
        self.settled = False
        self._session = session
        self._reads = not all(field.is_cheap for field in wanted.fields)
        self._low = self._high = max(min(start, rows), first) if self._reads else first
        self._again: Ints = _NONE
        self._open: Ints = _NONE
        self._ended = False
        self._size = FIRST if self._reads else FIRST_OF_COLUMNS

    @property
    def is_new(self) -> bool:
        """Whether nothing has been asked yet."""
        return self._low == self._high

    @property
    def left(self) -> int:
        """Rows to be asked."""
        return self.rows - self.first - (self._high - self._low) + len(self._again)

    @property
    def percent(self) -> int:
        """How far it has come, 0 to 100."""
        asked = self._high - self._low
        return 100 * asked // max(asked + self.left, 1)

    def portion(self) -> Some | None:
        """The rows to be asked next; None while there are none."""
        if self._high < self.rows:
            rows = np.arange(self._high, min(self._high + self._size, self.rows))
            return range(self._high, self._high + self._fitting(rows))
        if self._low > self.first:
            rows = np.arange(max(self._low - self._size, self.first), self._low)
            return range(self._low - self._fitting(rows[::-1]), self._low)
        if len(self._again):
            rows = self._again[: self._size]
            return rows[: self._fitting(rows)]
        return None

    def _fitting(self, rows: Ints) -> int:
        """How many of them, one at least, are not too many bytes to be read in a moment."""
        if not self._reads:
            return len(rows)
        sizes = np.cumsum(self._session.rows.column("length")[rows], dtype=np.int64)
        return max(int(np.searchsorted(sizes, CHUNK_BYTES, "right")), 1)

    def take(self, verdict: Verdict) -> None:
        """Takes what came of asking a portion; the next one is as large as this one's pace allows."""
        rows = verdict.rows
        if isinstance(rows, range):
            self._low, self._high = min(self._low, rows.start), max(self._high, rows.stop)
            first, last = np.searchsorted(self.kept, [rows.start, rows.stop])
            self.kept = np.concatenate((self.kept[:first], verdict.kept, self.kept[last:]))
        else:
            self._again = np.setdiff1d(self._again, rows, assume_unique=True)
            self.kept = np.union1d(np.setdiff1d(self.kept, rows, assume_unique=True), verdict.kept)
        self._open = np.union1d(self._open, verdict.open)
        self._forget()
        if self._ended and not verdict.final:
            self._doubt(np.asarray(rows))
        self._size = max(1, min(int(len(rows) * MOMENT / max(verdict.seconds, 1e-4)), 4 * self._size, MOST))
        self.settled = self.settled or not self.left

    def leave(self, before: int) -> None:
        """The rows before one are asked no more."""
        self.first = before
        self._forget()
        self.settled = self.settled or not self.left

    def _forget(self) -> None:
        """What is known of rows that have left."""
        first = self.first
        self._low, self._high = max(self._low, first), max(self._high, first)
        self.kept, self._again, self._open = map(self._since_first, (self.kept, self._again, self._open))

    def _since_first(self, rows: Ints) -> Ints:
        return rows[np.searchsorted(rows, self.first) :]

    def grow(self, rows: int) -> None:
        """There are so many rows by now; answers may have come in for those that had none."""
        self.rows = rows
        answered = self._session.rows.column("partner")[self._open] != NULL
        self._doubt(self._open[answered])
        self._open = self._open[~answered]

    def end(self) -> None:
        """Nothing comes any more: what was asked before is asked once more."""
        self._ended = True
        self._open = _NONE
        self._doubt(np.arange(self._low, self._high))

    def _doubt(self, rows: Ints) -> None:
        rows = self._since_first(rows)
        if len(rows):
            self._again = np.union1d(self._again, rows)
