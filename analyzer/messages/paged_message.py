"""Reads a message that is too long for memory from the locations of its pieces."""

from __future__ import annotations

import numpy as np

from analyzer.capture.store import Store
from analyzer.columns.arrays import Ints

LONG = 1 << 20
"""Length in bytes above which a dissector reads a message through a PagedMessage."""


class PagedMessage:
    """A Window (dissectors.api) on pieces of a message, none of them lost; `at` are their locations."""

    def __init__(self, store: Store, at: Ints, length: Ints) -> None:
        self._store, self._at, self._length = store, at, length.astype(np.int64)
        self._ends: Ints = np.cumsum(self._length)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset` on; fewer at the message's end."""
        stop = min(offset + length, len(self))
        if offset >= stop:
            return b""
        first, last = np.searchsorted(self._ends, (offset, stop - 1), "right").tolist()
        at, size = self._at[first : last + 1].astype(np.int64), self._length[first : last + 1].copy()
        before = offset - int(self._ends[first] - self._length[first])
        at[0] += before
        size[0] -= before
        size[-1] -= int(self._ends[last]) - stop
        return self._store.read_joined(at, size)
