"""Selects the rows to print: applies a filter, an order and a limit while rows are read.

Theory. Messages are read for as few rows as possible. Without an order, a head is searched from the front and a tail
from the back, in growing windows of rows; the other rows are never decoded. An order needs all rows first, and so
does the tail of a stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from dissectors.slotted import make_slotted

if TYPE_CHECKING:
    from analyzer.query.filter import Filter
    from analyzer.query.ordering import SortKey

FIRST, LARGEST = 1024, 1 << 16
"""Rows of the first window, and of the largest one."""

_NOTHING = np.zeros(0, np.int64)


@make_slotted
class Selection:
    """Says which rows to print; the fields apply in their order.

    count: number of rows that are read. wanted: a filter. order: the sort keys. head: number of first rows that remain.
    tail: number of last rows of these that remain. None: all.
    """

    count: int | None = None
    wanted: Filter | None = None
    order: tuple[SortKey, ...] = ()
    head: int | None = None
    tail: int | None = None

    def limit_rows(self, growth: Iterable[range]) -> Iterator[range]:
        """Yields rows as they close, but only the first `count`; then stops reading."""
        left = self.count
        if left == 0:
            return
        for rows in growth:
            if left is None:
                yield rows
                continue
            yield rows[:left]
            left -= len(rows)
            if left <= 0:
                return

    def select_rows(self, reader: RowReader, count: int) -> Iterator[Ints]:
        """Yields the rows to print of the first `count`, all of which have been read."""
        if not self.order and self.head is None and self.tail is not None:
            yield self._find_last(reader, count)
        else:
            size = FIRST if self.head is not None else LARGEST
            yield from self.iterate_selected(reader, split_windows(count, size, reader.session.rows.first))

    @property
    def divisible(self) -> bool:
        """Whether windows of rows can be processed independently: there is no order, head or tail."""
        return not self.order and self.head is None and self.tail is None

    def filter_rows(self, reader: RowReader, rows: range) -> Ints:
        """Returns the rows of a window that match the filter."""
        numbers = np.arange(rows.start, rows.stop)
        return numbers if self.wanted is None else self.wanted.select_rows(reader, numbers)

    def iterate_selected(self, reader: RowReader, growth: Iterable[range]) -> Iterator[Ints]:
        """Yields rows to print while rows come in; ends when no further ones will be printed."""
        if not self.order and self.tail is None:
            yield from self._iterate_first(reader, growth)
        else:
            yield self._sort_and_cut(reader, self._gather_rows(reader, growth))

    def _gather_rows(self, reader: RowReader, growth: Iterable[range]) -> Ints:
        """Returns the matching rows of a growing input, without evicted ones; for a tail, only as many as needed."""
        some = self.tail if not self.order and self.head is None else None
        found, count = deque[Ints](), 0
        for rows in growth:
            if len(mine := self.filter_rows(reader, rows)):
                found.append(mine)
                count += len(mine)
            while found and (
                found[0][-1] < reader.session.rows.first or (some is not None and count - len(found[0]) >= some)
            ):
                count -= len(found.popleft())
        every = _join_rows(found)
        return every[every >= reader.session.rows.first]

    def _iterate_first(self, reader: RowReader, growth: Iterable[range]) -> Iterator[Ints]:
        left = self.head
        if left == 0:
            return
        for rows in growth:
            found = self.filter_rows(reader, rows)
            if left is not None:
                found = found[:left]
                left -= len(found)
            yield found
            if left == 0:
                return

    def _find_last(self, reader: RowReader, count: int) -> Ints:
        assert self.tail is not None
        found: list[Ints] = []
        left, first = self.tail, reader.session.rows.first
        for rows in split_windows(count - first, FIRST) if left else ():
            mine = self.filter_rows(reader, range(max(count - rows.stop, first), max(count - rows.start, first)))
            found.append(mine[max(len(mine) - left, 0) :])
            left -= len(found[-1])
            if not left:
                break
        return _join_rows(reversed(found))

    def _sort_and_cut(self, reader: RowReader, rows: Ints) -> Ints:
        if self.order:
            from analyzer.query.ordering import sort_rows  # not needed without an order

            rows = sort_rows(reader, rows, self.order)
        rows = rows[: self.head]
        return rows if self.tail is None else rows[max(len(rows) - self.tail, 0) :]


def split_windows(count: int, first: int, begin: int = 0) -> Iterator[range]:
    """Yields runs of rows from `begin` to `count`, each up to four times as long as the one before."""
    size = first
    while begin < count:
        yield range(begin, min(begin + size, count))
        begin, size = begin + size, min(4 * size, max(LARGEST, first))


def _join_rows(parts: Iterable[Ints]) -> Ints:
    return np.concatenate([_NOTHING, *parts])
