"""Rows grouped by stream, while both grow.

Theory. A stream's rows lie scattered over the index, and the fold view asks for the n-th row of a stream. So there is
one permutation: row numbers sorted by stream, ascending within it, four bytes a row. New rows are appended to their
streams by moving whole columns: the old permutation is shifted by what came in before each stream, the new one is put
into the gaps. That costs some ten milliseconds at a million rows, therefore it is done when somebody asks, not when
rows come: the flat view never pays for it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analyzer.columns import Ints, ranks

Rows32 = npt.NDArray[np.int32]


class ByStream:
    """The rows 0..`rows`-1 by stream. `counts` (int64, one for each stream): how many rows a stream has."""

    def __init__(self) -> None:
        self.rows = 0
        self.counts: Ints = np.zeros(0, np.int64)
        self._order: Rows32 = np.empty(0, np.int32)
        self._starts: Ints = np.zeros(0, np.int64)
        self._waiting: list[Rows32] = []

    def grow(self, stream: Rows32, streams: int) -> None:
        """Takes the `stream` (int32, n) of the next n rows; there are `streams` streams by now."""
        self.rows += len(stream)
        counts = np.bincount(stream, minlength=max(streams, len(self.counts)))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        if len(stream):
            self._waiting.append(stream)

    def row(self, stream: int, rank: int) -> int:
        """The `rank`-th row of a stream, from 0."""
        return int(self.picked(np.array([stream]), np.array([rank]))[0])

    def picked(self, streams: Ints, ranks_: Ints) -> Ints:
        """The same for many at once."""
        self._settle()
        found: Ints = self._order[self._starts[streams] + ranks_].astype(np.int64)
        return found

    def rank(self, stream: int, row: int) -> int:
        """How many rows of the stream come before `row`."""
        self._settle()
        first = int(self._starts[stream])
        return int(np.searchsorted(self._order[first : first + int(self.counts[stream])], row))

    def _settle(self) -> None:
        """Puts the rows that wait into the permutation."""
        if not self._waiting:
            return
        stream = np.concatenate(self._waiting)
        self._waiting.clear()
        counts = self.counts
        self._starts = starts = np.cumsum(counts) - counts
        fresh = np.argsort(stream, kind="stable").astype(np.int32)
        added = np.bincount(stream, minlength=len(counts))
        before = counts - added
        merged = np.empty(self.rows, np.int32)
        merged[np.repeat(starts, before) + ranks(before)] = self._order
        merged[np.repeat(starts + before, added) + ranks(added)] = fresh + np.int32(self.rows - len(stream))
        self._order = merged
