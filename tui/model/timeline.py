"""Which line of the list shows what: streams with their messages folded beneath, or one flat timeline.

Theory. A line shows a stream or a row. In the flat view, line n is the n-th visible row. In the fold view a stream
takes one line, and one more for each of its rows while it is open. The running sum of these says where each stream
ends, so finding a line is a binary search, and opening a stream costs a sum over the streams, never over the rows. All
rows here were announced (see tui.loader), so nothing here reads rows that are still being written.

A filter keeps some of the rows. They are numbered among themselves, and the rest stays as it is: the ranks of matching
rows are grouped by stream. A stream without any has no line.

The flat view may have another order than that of time: `order_rows` takes a permutation of the visible rows. It ends
when other rows become visible, because only who sorts knows their places.

In a live capture the oldest rows are evicted. Numbers stay: line n of the flat view is row `first` + n then. A stream
has a line as long as it has a row; arrays by stream are indexed by its slot (StreamSlots).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from tui.model.stream_groups import StreamGroups, StreamSlots

FLAT_KEY = "flat"
"""The key under which the view of the list is saved."""


class ListPlace(NamedTuple):
    """The content of a line: a row of a stream, or, if `row` is None, the stream itself."""

    stream: int
    row: int | None = None


class Timeline:
    """The lines of the list; `flat` chooses the view.

    stream_of: returns the streams (n) of rows (n).
    """

    def __init__(self, stream_of: Callable[[Ints], Array]) -> None:
        self.flat = False
        self.matches: Ints | None = None
        """The rows that a filter keeps, ascending; None without one."""
        self.first = 0
        """The first row that was not evicted."""
        self.order: Ints | None = None
        """The visible rows in the order of the flat view; None: that of time."""
        self._lines = np.empty(0, np.int32)
        """The line of each row from `first` on, if there is an order."""
        self._stream_of = stream_of
        self._slots = StreamSlots()
        self._evicted: Ints = np.zeros(0, np.int64)
        self._all = self._grouped = StreamGroups()
        self._open: Bools = np.zeros(0, bool)
        self._sizes: Ints = np.zeros(0, np.int64)
        self._ends: Ints = np.zeros(0, np.int64)

    @property
    def rows(self) -> int:
        """The number of announced rows, with evicted ones."""
        return self._all.rows

    @property
    def visible_rows(self) -> Ints:
        """The rows that have a line, or would have one if their streams were open."""
        return np.arange(self.first, self.rows) if self.matches is None else self.matches

    @property
    def streams(self) -> int:
        """The number of announced streams."""
        return self._slots.streams

    @property
    def lines(self) -> int:
        """The number of lines of the present view."""
        if self.flat:
            return self._grouped.rows - self._grouped.first
        return int(self._ends[-1]) if len(self._ends) else 0

    def grow(self, rows: int, streams: int) -> None:
        """Takes the numbers of announced rows and streams; new streams are folded, new rows do not match the filter."""
        self._slots.grow(streams)
        if rows > self.rows:
            self.order = None
        new = self._stream_of(np.arange(self.rows, rows))
        self._make_places(self._slots.add_streams(new))
        places = len(self._slots)
        self._all.grow(self._slots.find_places(new).astype(np.int32), places)
        if self._grouped is not self._all:
            self._grouped.grow(np.zeros(0, np.int32), places)
        self._open = np.concatenate((self._open, np.zeros(places - len(self._open), bool)))
        self._evicted = np.concatenate((self._evicted, np.zeros(places - len(self._evicted), np.int64)))
        self._recount()

    def _make_places(self, places: Ints) -> None:
        """Inserts slots of streams that had none."""
        if len(places):
            self._open, self._evicted = np.insert(self._open, places, False), np.insert(self._evicted, places, 0)
            self._all.insert_streams(places)
            if self._grouped is not self._all:
                self._grouped.insert_streams(places)

    def evict(self, before: int) -> None:
        """Drops the rows before one."""
        if before <= self.first:
            return
        self._evicted += self._all.evict(before)
        self.first = self._all.first
        there = np.flatnonzero(self._all.counts)
        self._all.keep_streams(there)
        self._slots.keep(there)
        self._open, self._evicted = self._open[there], self._evicted[there]
        self.filter_rows(None if self.matches is None else self.matches[np.searchsorted(self.matches, self.first) :])

    def filter_rows(self, rows: Ints | None) -> None:
        """Shows only these rows, ascending; None: all rows."""
        self.matches, self.order = rows, None
        self._grouped = self._all
        if rows is not None:
            self._grouped = StreamGroups()
            self._grouped.grow(self._slots.find_places(self._stream_of(rows)).astype(np.int32), len(self._slots))
        self._recount()

    def order_rows(self, order: Ints | None) -> None:
        """Puts the visible rows of the flat view into another order; None: that of time."""
        self.order = order
        if order is not None:
            self._lines = np.zeros(self.rows - self.first, np.int32)
            self._lines[order - self.first] = np.arange(len(order), dtype=np.int32)

    def count_rows(self, stream: int) -> int:
        """Returns the number of visible rows of a stream."""
        place = self._slots.find_place(stream)
        return 0 if place is None else int(self._grouped.counts[place])

    def count_messages(self, stream: int) -> int:
        """Returns the number of rows of a stream with evicted ones; 0 if all were evicted."""
        place = self._slots.find_place(stream)
        return 0 if place is None else int(self._all.counts[place] + self._evicted[place])

    def count_evicted(self, stream: int) -> int:
        """Returns the number of evicted rows of a stream that has others."""
        place = self._slots.find_place(stream)
        return 0 if place is None else int(self._evicted[place])

    def find_first_row(self, stream: int) -> int | None:
        """Returns the first visible row of a stream, or None."""
        place = self._slots.find_place(stream)
        if place is None or not self._grouped.counts[place]:
            return None
        found = self._grouped.find_row(place, 0)
        return found if self.matches is None else int(self.matches[found])

    def list_rows(self, stream: int) -> Ints:
        """Returns all rows of a stream that were not evicted, ascending, whatever the filter keeps."""
        place = self._slots.find_place(stream)
        return np.zeros(0, np.int64) if place is None else self._all.list_rows(place)

    def find_begin(self, stream: int) -> int:
        """Returns the first row of a stream, or the first row of all if it has none."""
        place = self._slots.find_place(stream)
        return self.first if place is None or not self._all.counts[place] else self._all.find_row(place, 0)

    def is_shown(self, row: int) -> bool:
        """Returns whether an announced row is visible."""
        if self.matches is None:
            return row >= self.first
        rank = self._find_rank(row)
        return rank < len(self.matches) and int(self.matches[rank]) == row

    def is_open(self, stream: int) -> bool:
        """Returns whether a stream is unfolded in the fold view."""
        place = self._slots.find_place(stream)
        return place is not None and bool(self._open[place])

    def fold(self, stream: int, *, opened: bool) -> None:
        """Unfolds or folds a stream."""
        place = self._slots.find_place(stream)
        if place is not None:
            self._open[place] = opened
            self._recount()

    def fold_all(self, *, opened: bool) -> None:
        """Unfolds or folds all streams."""
        self._open[:] = opened
        self._recount()

    def list_places(self, first: int, count: int) -> list[ListPlace]:
        """Returns the places of `count` lines from `first` on, fewer at the ends."""
        lines = np.arange(max(first, 0), min(first + count, self.lines))
        if self.flat:
            rows = self._find_flat_rows(lines)
            return list(map(ListPlace, self._stream_of(rows).tolist(), rows.tolist()))
        place = np.searchsorted(self._ends, lines, "right")
        rank = lines - (self._ends[place] - self._sizes[place]) - 1
        row = np.full(len(lines), -1)
        inside = np.flatnonzero(rank >= 0)
        if len(inside):
            grouped_rows = self._grouped.find_rows(place[inside], rank[inside])
            row[inside] = grouped_rows if self.matches is None else self.matches[grouped_rows]
        streams = self._slots.get_numbers(place).tolist()
        return [ListPlace(s, None if r < 0 else r) for s, r in zip(streams, row.tolist(), strict=True)]

    def find_place(self, line: int) -> ListPlace | None:
        """Returns what a line shows; None outside."""
        found = self.list_places(line, 1)
        return found[0] if line >= 0 and found else None

    def find_nearest(self, place: ListPlace) -> ListPlace | None:
        """Returns the place if it is visible, else the next one of its kind, else the one before.

        None while there is nothing.
        """
        if place.row is None:
            return self._find_nearest_stream(place.stream)
        if self.matches is None and place.row >= self.first:
            return place
        count = self._grouped.rows - self._grouped.first
        if not count:
            return self._find_nearest_stream(place.stream) if self.matches is None and not self.flat else None
        row = self._find_row(max(min(self._find_rank(place.row), count - 1), 0))
        return ListPlace(int(self._stream_of(np.array([row]))[0]), row)

    def _find_nearest_stream(self, stream: int) -> ListPlace | None:
        """Returns a stream that has a line: this one, else the next, else the one before."""
        there = np.flatnonzero(self._sizes)
        if not len(there):
            return None
        at = min(int(np.searchsorted(there, self._slots.find_nearest(stream))), len(there) - 1)
        return ListPlace(self._slots.get_number(int(there[at])))

    def find_line(self, place: ListPlace) -> int:
        """Returns the line of a visible place.

        A row that is folded away has its stream's line; in the flat view a stream has its first row's.
        """
        if self.flat:
            row = self.find_first_row(place.stream) if place.row is None else place.row
            if row is None:
                return 0
            return self._find_rank(row) if self.order is None else int(self._lines[row - self.first])
        at = self._slots.find_nearest(place.stream)
        head = int(self._ends[at] - self._sizes[at])
        if place.row is None or not self._open[at]:
            return head
        among = place.row if self.matches is None else self._find_rank(place.row)
        return head + 1 + self._grouped.find_rank(at, among)

    def _find_flat_rows(self, lines: Ints) -> Ints:
        """Returns the rows of lines of the flat view."""
        if self.order is not None:
            return self.order[lines]
        return self.first + lines if self.matches is None else self.matches[lines]

    def _find_rank(self, row: int) -> int:
        """Returns how many visible rows come before a row."""
        return row - self.first if self.matches is None else int(np.searchsorted(self.matches, row))

    def _find_row(self, rank: int) -> int:
        return self.first + rank if self.matches is None else int(self.matches[rank])

    def _recount(self) -> None:
        counts = self._grouped.counts
        self._sizes = 1 + np.where(self._open, counts, 0)
        if self.matches is not None:
            self._sizes[counts == 0] = 0
        self._ends = np.cumsum(self._sizes)
