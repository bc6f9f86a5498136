"""Selects the rows to print: applies a filter, an order and a limit while rows are read.

Theory. Whatever needs messages is asked of as few rows as will do. A head without an order is found from the front, a
tail from the back, a window of rows at a time, each larger than the one before; nobody decodes what lies behind. An
order, and the tail of what still comes, need all rows first.
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
"""Rows of the first window that is looked at, and of the largest."""

_NOTHING = np.zeros(0, np.int64)


@make_slotted
class Selection:
    """Which rows to print; the fields apply in their order.

    count: rows that are read. wanted: a filter. order: what they are sorted by. head: how many of the first ones then
    stay, and tail: how many of the last ones of these. None: all.
    """

    count: int | None = None
    wanted: Filter | None = None
    order: tuple[SortKey, ...] = ()
    head: int | None = None
    tail: int | None = None

    def limit_rows(self, growth: Iterable[range]) -> Iterator[range]:
        """Yields rows as they close, and of them the first `count`; what grows is asked no further."""
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
        """Returns the rows to print of the first `count`, all of which have been read."""
        if not self.order and self.head is None and self.tail is not None:
            yield self._find_last(reader, count)
        else:
            size = FIRST if self.head is not None else LARGEST
            yield from self.iterate_selected(reader, _split_windows(count, size, reader.session.rows.first))

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
        """What passes of rows that grow, but for what has left by the end; of a mere tail no more is remembered."""
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
        for rows in _split_windows(count - first, FIRST) if left else ():
            mine = self.filter_rows(reader, range(max(count - rows.stop, first), max(count - rows.start, first)))
            found.append(mine[max(len(mine) - left, 0) :])
            left -= len(found[-1])
            if not left:
                break
        return _join_rows(reversed(found))

    def _sort_and_cut(self, reader: RowReader, rows: Ints) -> Ints:
        if self.order:
            from analyzer.query.ordering import sort_rows  # who sorts nothing does not pay for it

            rows = sort_rows(reader, rows, self.order)
        rows = rows[: self.head]
        return rows if self.tail is None else rows[max(len(rows) - self.tail, 0) :]


def _split_windows(count: int, first: int, begin: int = 0) -> Iterator[range]:
    """Runs of rows from `begin` to `count`, each up to four times as long as the one before."""
    size = first
    while begin < count:
        yield range(begin, min(begin + size, count))
        begin, size = begin + size, min(4 * size, max(LARGEST, first))


def _join_rows(parts: Iterable[Ints]) -> Ints:
    return np.concatenate([_NOTHING, *parts])
