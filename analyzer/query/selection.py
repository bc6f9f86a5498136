"""Which rows are printed, and in which order: as many as are read, of these the wanted ones, ordered, cut.

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
from analyzer.decode.rows import Rows
from dissectors.slotted import make_slotted

if TYPE_CHECKING:
    from analyzer.query.filter import Filter
    from analyzer.query.ordering import SortKey

FIRST, LARGEST = 1024, 1 << 16
"""Rows of the first window that is looked at, and of the largest."""

_NOTHING = np.zeros(0, np.int64)


@make_slotted
class Selection:
    """What is wanted of rows; the order of the fields is that in which they act.

    count: rows that are read. wanted: a filter. order: what they are sorted by. head: how many of the first ones then
    stay, and tail: how many of the last ones of these. None: all.
    """

    count: int | None = None
    wanted: Filter | None = None
    order: tuple[SortKey, ...] = ()
    head: int | None = None
    tail: int | None = None

    def read(self, growth: Iterable[range]) -> Iterator[range]:
        """Rows as they close, and of them the first `count`; what grows is asked no further."""
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

    def of(self, reader: Rows, count: int) -> Iterator[Ints]:
        """The rows to print of the first `count`, all of which have been read."""
        if not self.order and self.head is None and self.tail is not None:
            yield self._last(reader, count)
        else:
            size = FIRST if self.head is not None else LARGEST
            yield from self.as_they_come(reader, _windows(count, size, reader.session.rows.first))

    @property
    def divisible(self) -> bool:
        """Whether windows of rows can be looked at apart from one another: there is no order, head or tail."""
        return not self.order and self.head is None and self.tail is None

    def passing(self, reader: Rows, rows: range) -> Ints:
        """Those of a window of rows that pass the filter."""
        numbers = np.arange(rows.start, rows.stop)
        return numbers if self.wanted is None else self.wanted.rows(reader, numbers)

    def as_they_come(self, reader: Rows, growth: Iterable[range]) -> Iterator[Ints]:
        """The same while rows close; ends when no further ones will be printed."""
        if not self.order and self.tail is None:
            yield from self._first(reader, growth)
        else:
            yield self._cut(reader, self._gathered(reader, growth))

    def _gathered(self, reader: Rows, growth: Iterable[range]) -> Ints:
        """What passes of rows that grow, but for what has left by the end; of a mere tail no more is remembered."""
        some = self.tail if not self.order and self.head is None else None
        found, count = deque[Ints](), 0
        for rows in growth:
            if len(mine := self.passing(reader, rows)):
                found.append(mine)
                count += len(mine)
            while found and (
                found[0][-1] < reader.session.rows.first or (some is not None and count - len(found[0]) >= some)
            ):
                count -= len(found.popleft())
        every = _joined(found)
        return every[every >= reader.session.rows.first]

    def _first(self, reader: Rows, growth: Iterable[range]) -> Iterator[Ints]:
        left = self.head
        if left == 0:
            return
        for rows in growth:
            found = self.passing(reader, rows)
            if left is not None:
                found = found[:left]
                left -= len(found)
            yield found
            if left == 0:
                return

    def _last(self, reader: Rows, count: int) -> Ints:
        assert self.tail is not None
        found: list[Ints] = []
        left, first = self.tail, reader.session.rows.first
        for rows in _windows(count - first, FIRST) if left else ():
            mine = self.passing(reader, range(max(count - rows.stop, first), max(count - rows.start, first)))
            found.append(mine[max(len(mine) - left, 0) :])
            left -= len(found[-1])
            if not left:
                break
        return _joined(reversed(found))

    def _cut(self, reader: Rows, rows: Ints) -> Ints:
        if self.order:
            from analyzer.query.ordering import ordered  # who sorts nothing does not pay for it

            rows = ordered(reader, rows, self.order)
        rows = rows[: self.head]
        return rows if self.tail is None else rows[max(len(rows) - self.tail, 0) :]


def _windows(count: int, first: int, begin: int = 0) -> Iterator[range]:
    """Runs of rows from `begin` to `count`, each up to four times as long as the one before."""
    size = first
    while begin < count:
        yield range(begin, min(begin + size, count))
        begin, size = begin + size, min(4 * size, max(LARGEST, first))


def _joined(parts: Iterable[Ints]) -> Ints:
    return np.concatenate([_NOTHING, *parts])
