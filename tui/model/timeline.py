"""Which line of the left pane shows what: streams with their messages folded beneath, or one flat timeline.

Theory. A line is a place: a stream's own line, or a row. In the flat view line n is the n-th row shown. In the fold
view a stream takes one line, and one more for each of its rows while it is open; the running sum of that says where
each stream ends, so finding a line is a binary search and opening a stream costs a sum over the streams, never over the
rows. Rows are only ever those that were announced (see tui.loader), so nothing here looks at what is still being
written.

A filter leaves some of the rows. They are counted among themselves, so all of that stays as it is: what is grouped by
stream are the ranks of the rows that are kept. A stream without any has no line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analyzer.columns import Array, Bools, Ints
from tui.model.by_stream import ByStream

FLAT = "flat"
"""The name under which is remembered that the list is a flat timeline."""


class Place(NamedTuple):
    """What a line shows: a row of a stream, or with `row` None the stream itself."""

    stream: int
    row: int | None = None


class Timeline:
    """The lines; `flat` chooses the view. `stream_of` gives the streams (n) of rows (n)."""

    def __init__(self, stream_of: Callable[[Ints], Array]) -> None:
        self.flat = False
        self.kept: Ints | None = None
        """The rows that a filter keeps, rising; None without one."""
        self._stream_of = stream_of
        self._all = self._grouped = ByStream()
        self._open: Bools = np.zeros(0, bool)
        self._sizes: Ints = np.zeros(0, np.int64)
        self._ends: Ints = np.zeros(0, np.int64)

    @property
    def rows(self) -> int:
        """Rows announced."""
        return self._all.rows

    @property
    def shown(self) -> Ints:
        """The rows that have a line, or would have one if their streams were open."""
        return np.arange(self.rows) if self.kept is None else self.kept

    @property
    def streams(self) -> int:
        """Streams announced."""
        return len(self._open)

    @property
    def lines(self) -> int:
        """Lines of the chosen view."""
        if self.flat:
            return self._grouped.rows
        return int(self._ends[-1]) if len(self._ends) else 0

    def grow(self, rows: int, streams: int) -> None:
        """There are `rows` rows and `streams` streams by now. New streams are folded, new rows not among the kept."""
        self._all.grow(self._stream_of(np.arange(self.rows, rows)), streams)
        if self._grouped is not self._all:
            self._grouped.grow(np.zeros(0, np.int32), streams)
        self._open = np.concatenate((self._open, np.zeros(streams - len(self._open), bool)))
        self._recount()

    def keep(self, rows: Ints | None) -> None:
        """Only these rows are shown, rising; None: all."""
        self.kept = rows
        self._grouped = self._all
        if rows is not None:
            self._grouped = ByStream()
            self._grouped.grow(self._stream_of(rows), self.streams)
        self._recount()

    def count(self, stream: int) -> int:
        """Rows of a stream that are shown."""
        return int(self._grouped.counts[stream])

    def messages(self, stream: int) -> int:
        """Rows of a stream."""
        return int(self._all.counts[stream])

    def first_row(self, stream: int) -> int | None:
        """The stream's first row that is shown; None while it has none."""
        return self._row(self._grouped.row(stream, 0)) if self.count(stream) else None

    def begin(self, stream: int) -> int:
        """The stream's first row; 0 while it has none."""
        return self._all.row(stream, 0) if self.messages(stream) else 0

    def shows(self, row: int) -> bool:
        """Whether an announced row is shown."""
        rank = self._rank(row)
        return self.kept is None or (rank < len(self.kept) and int(self.kept[rank]) == row)

    def is_open(self, stream: int) -> bool:
        """Whether the stream's rows are shown in the fold view."""
        return bool(self._open[stream])

    def fold(self, stream: int, *, opened: bool) -> None:
        """Shows a stream's rows beneath it, or hides them."""
        self._open[stream] = opened
        self._recount()

    def fold_all(self, *, opened: bool) -> None:
        """The same for all streams."""
        self._open[:] = opened
        self._recount()

    def window(self, first: int, count: int) -> list[Place]:
        """The places of `count` lines from `first`, fewer at the ends."""
        lines = np.arange(max(first, 0), min(first + count, self.lines))
        if self.flat:
            rows = lines if self.kept is None else self.kept[lines]
            return list(map(Place, self._stream_of(rows).tolist(), rows.tolist()))
        stream = np.searchsorted(self._ends, lines, "right")
        rank = lines - (self._ends[stream] - self._sizes[stream]) - 1
        row = np.full(len(lines), -1)
        inside = np.flatnonzero(rank >= 0)
        if len(inside):
            picked = self._grouped.picked(stream[inside], rank[inside])
            row[inside] = picked if self.kept is None else self.kept[picked]
        return [Place(s, None if r < 0 else r) for s, r in zip(stream.tolist(), row.tolist(), strict=True)]

    def at(self, line: int) -> Place | None:
        """What a line shows; None outside."""
        found = self.window(line, 1)
        return found[0] if line >= 0 and found else None

    def near(self, place: Place) -> Place | None:
        """The place itself if it is shown, else the next one of its kind, else the one before; None while there is
        nothing.
        """
        if self.kept is None:
            return place
        if not len(self.kept):
            return None
        if place.row is None:
            there = np.flatnonzero(self._grouped.counts)
            return Place(int(there[min(int(np.searchsorted(there, place.stream)), len(there) - 1)]))
        row = self._row(min(self._rank(place.row), len(self.kept) - 1))
        return Place(int(self._stream_of(np.array([row]))[0]), row)

    def line_of(self, place: Place) -> int:
        """The line of a place that is shown; of a row that is folded away, its stream's; in the flat view of a stream,
        its first row's.
        """
        if self.flat:
            row = self.first_row(place.stream) if place.row is None else place.row
            return 0 if row is None else self._rank(row)
        head = int(self._ends[place.stream] - self._sizes[place.stream])
        if place.row is None or not self._open[place.stream]:
            return head
        return head + 1 + self._grouped.rank(place.stream, self._rank(place.row))

    def _rank(self, row: int) -> int:
        """How many shown rows come before a row."""
        return row if self.kept is None else int(np.searchsorted(self.kept, row))

    def _row(self, rank: int) -> int:
        return rank if self.kept is None else int(self.kept[rank])

    def _recount(self) -> None:
        counts = self._grouped.counts
        self._sizes = 1 + np.where(self._open, counts, 0)
        if self.kept is not None:
            self._sizes[counts == 0] = 0
        self._ends = np.cumsum(self._sizes)
