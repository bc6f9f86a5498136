"""Rows in portions to be decoded together: alike ones, and as many as make about as much memory full.

Theory. What rows have in common is worked out once for all of a portion, so the more of a kind it has, the less that
costs. Tables have no order to keep: within a window of the capture rows are taken kind by kind, which also lets a
Parquet file compress better and be passed over where another operation is asked for. How much a message becomes nobody
knows before (a kilobyte can be a megabyte of JSON), but those of a kind become about as much each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Array, Ints
from analyzer.columns.group_keys import packed
from analyzer.decode.rows import chunks
from analyzer.session import Analysis

WINDOW, WINDOW_BYTES = 1 << 18, 128 << 20
"""Rows among which alike ones are brought together, and bytes of their messages: what stays in the page cache."""

ROWS, MADE = 1 << 16, 12 << 20
"""Rows of a portion at most, and bytes that are to be made of it."""

READ = 16 << 20
"""Bytes of a portion's messages at most, but of one that has more."""

ROW = 400
"""Bytes that a row is made to besides its body."""

UNKNOWN = 16
"""How many times longer a body is taken to become before any of its kind was seen."""

_KIND = ("protocol", "role", "code", "version")


class Portions:
    """Row numbers, some at a time, each once; to be told what became of them.

    grows: how many times longer messages of a kind have become; what is told here is kept in it.
    """

    def __init__(self, session: Analysis, rows: Ints, grows: dict[tuple[int, ...], float]) -> None:
        self._session, self._rows, self._grows = session, rows, grows

    def __iter__(self) -> Iterator[Ints]:
        at = 0
        while at < len(self._rows):
            window = next(chunks(self._session, self._rows[at : at + WINDOW], WINDOW, WINDOW_BYTES))
            at += len(window)
            _, keys = self._kinds(window)
            yield from self._of_window(window[np.argsort(keys, kind="stable")])

    def _of_window(self, rows: Ints) -> Iterator[Ints]:
        length = self._session.rows.column("length")
        while len(rows):
            some = rows[:ROWS]
            kinds, keys = self._kinds(some)
            grows = np.array([self._grows.get(kind, UNKNOWN) for kind in kinds])[keys]
            full = np.cumsum(length[some] * grows + ROW) > MADE
            full |= np.cumsum(length[some], dtype=np.int64) > READ
            some = some[: max(int(np.argmax(full)), 1)] if full.any() else some
            yield some
            rows = rows[len(some) :]

    def _kinds(self, rows: Ints) -> tuple[list[tuple[int, ...]], Ints]:
        columns, keys = packed([self._session.rows.column(name)[rows] for name in _KIND])
        return list(zip(*(column.tolist() for column in columns), strict=True)), keys

    def made(self, rows: Ints, sizes: Array) -> None:
        """The bodies of rows became so many bytes each."""
        kinds, keys = self._kinds(rows)
        read, became = (np.bincount(keys, each) for each in (self._session.rows.column("length")[rows], sizes))
        for kind, grows in zip(kinds, (became / np.maximum(read, 1)).tolist(), strict=True):
            self._grows[kind] = grows
