"""Growing columns: what the analyzer keeps instead of objects.

Theory. A capture of a million messages must cost tens of bytes a message and no Python object. A Columns subclass names
its columns and their types; rows are appended a block at a time; an outgrown array is followed by one four times as
long, so that appending is linear. Large ones are pages of their own, not part of the heap: what is spare was never
touched and is not resident, and an array that was outgrown goes back to the system at once. A column takes less than
its type where its values do: numbers that hardly ever need 64 bits have 32 until one does, and a column of one value is
that value.

Who follows something that never ends forgets the oldest rows. Their pages go back to the system while the array keeps
its place, so row numbers and views stay: a forgotten cell reads as 0, and only writing to it would take memory again.
An array that has grown beyond its bound is followed by one in which nothing was written before the first row that is
kept; what that costs is address space, of which nobody has to be promised that there is as much memory.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from analyzer.columns.arrays import Array, Ints
from dissectors.wire.bulk import NULL

PAGED_BYTES = 1 << 18
"""Bytes from which on an array has pages of its own."""

_UNRESERVED = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Of mmap(2): a map may be larger than all memory, since most of it is never touched. Python names it from 3.13 on."""

_SLAB = 1 << 16
"""Rows that are looked at together where an array with holes is copied."""


class ColumnTable:
    """Rows 0..len-1 of the columns that `TYPES` names; `column(name)` is a view of the filled part.

    NARROW: columns of int64 that are int32 as long as their values allow it. USUAL: columns that mostly have one value,
    and that value; as long as they have no other, column() gives a view of it that cannot be written to. PAGED: bytes
    from which on an array has pages of its own.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]]
    NARROW: ClassVar[frozenset[str]] = frozenset()
    USUAL: ClassVar[Mapping[str, int]] = {}
    PAGED: ClassVar[int] = PAGED_BYTES

    def __init__(self) -> None:
        self._filled = 0
        self._first = 0
        self._holes: dict[str, int] = {}
        self._arrays: dict[str, Array] = {
            name: np.empty(0, np.int32 if name in self.NARROW else kind)
            for name, kind in self.TYPES.items()
            if name not in self.USUAL
        }

    def __len__(self) -> int:
        return self._filled

    @property
    def first(self) -> int:
        """The rows before it have been forgotten."""
        return self._first

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the rows take which are kept."""
        return sum(
            len(array) * array.itemsize
            if _map_of(array) is None
            else (self._filled - self._first) * array.itemsize - self._holes.get(name, 0)
            for name, array in tuple(self._arrays.items())
        )

    def column(self, name: str) -> Array:
        """A view of all rows of one column, valid until the next append; rows before `first` must not be looked at."""
        array = self._arrays.get(name)
        if array is None:
            return np.broadcast_to(np.array(self.USUAL[name], self.TYPES[name]), self._filled)
        return array[: self._filled]

    def cell(self, name: str, row: int) -> int:
        """One integer; IndexError for rows that are forgotten, or allocated but not filled."""
        if not self._first <= row < self._filled:
            raise IndexError(f"row {row} of {self._first} to {self._filled}")
        array = self._arrays.get(name)
        return self.USUAL[name] if array is None else int(array[row])

    def forget(self, before: int) -> None:
        """Gives back the memory of the rows before one; the numbers of the others stay."""
        before = min(before, self._filled)
        if before <= self._first:
            return
        first, self._first = self._first, before
        for array in self._arrays.values():
            begin, end = (row * array.itemsize // mmap.PAGESIZE for row in (first, before))
            _give_back(array, begin, end)

    def keep_only(self, rows: Ints) -> None:
        """Gives back the pages on which none of `rows` stands, rising ones; those that are still to come are kept.

        What the other rows are is not known any more, but none of them is outside the table.
        """
        for name, array in self._arrays.items():
            if _map_of(array) is None:
                continue
            on_page = mmap.PAGESIZE // array.itemsize
            last = self._filled // on_page
            kept = np.unique(rows // on_page)
            edges = np.concatenate(([-1], kept[kept < last], [last]))
            for place in np.flatnonzero(np.diff(edges) > 1).tolist():
                _give_back(array, int(edges[place]) + 1, int(edges[place + 1]))
            self._holes[name] = max(last - len(edges) + 2, 0) * mmap.PAGESIZE

    def append(self, count: int, values: Mapping[str, Array | int]) -> int:
        """Appends `count` rows, an array or one value for each column; returns the number of the first."""
        first, end = self._filled, self._filled + count
        for name in self.TYPES:
            value = values[name]
            if name in self._arrays or not bool(np.all(value == self.USUAL[name])):
                self._room(name, end, value)[first:end] = value
        self._filled = end
        return first

    def _room(self, name: str, rows: int, value: Array | int) -> Array:
        """The array of a column, long enough for `rows`, and of a type that holds `value`."""
        array = self._arrays.get(name)
        narrow = name in self.NARROW and (array is None or array.dtype == np.int32) and _narrow(value)
        kind = np.dtype(np.int32 if narrow else self.TYPES[name])
        if array is not None and rows <= len(array) and kind == array.dtype:
            return array
        grown = _empty(max(rows, 1024) if array is None else max(rows, self._ahead(array)), kind, self.PAGED)
        self._copy(name, grown)
        self._arrays[name] = grown
        return grown

    def _ahead(self, array: Array) -> int:
        """How long the array behind one is that was too short: what is kept fits into it four times."""
        if not self._first:
            return max(4 * len(array), 1024)
        return self._filled + max(3 * (self._filled - self._first), PAGED_BYTES // array.itemsize)

    def _copy(self, name: str, grown: Array) -> None:
        """Copies what is kept of a column, and touches nothing else."""
        column = self.column(name)
        if name not in self._holes:
            grown[self._first : self._filled] = column[self._first :]
            return
        for begin in range(0, self._filled, _SLAB):
            slab = column[begin : begin + _SLAB]
            if slab.any():
                grown[begin : begin + len(slab)] = slab


def _narrow(value: Array | int) -> bool:
    """Whether 32 bits are enough for `value`."""
    bounds = np.iinfo(np.int32)
    return not np.size(value) or bool(bounds.min <= np.min(value) and np.max(value) <= bounds.max)


def _empty(rows: int, kind: np.dtype[Any], paged: int) -> Array:
    size = rows * kind.itemsize
    if size < paged:
        return np.empty(rows, kind)
    return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _UNRESERVED), kind)


def _map_of(array: Array) -> mmap.mmap | None:
    """The pages of an array that has its own."""
    base: object = array.base
    source = base.obj if isinstance(base, memoryview) else None
    return source if isinstance(source, mmap.mmap) else None


def _give_back(array: Array, begin: int, end: int) -> None:
    """Returns pages of an array to the system, from `begin` to before `end`; they read as 0 from then on."""
    pages = _map_of(array)
    if pages is not None and begin < end:
        pages.madvise(mmap.MADV_DONTNEED, begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE)


FORGOTTEN = ""
"""Stands for a name that nobody has any more."""


class NameTable:
    """Strings as small numbers: number 0, 1, ... in order of first use. Bounded only by what the capture says."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def __len__(self) -> int:
        """Names that are known; `texts` has a place also for those that were forgotten."""
        return len(self._numbers)

    def intern(self, text: str | None) -> int:
        """The number of `text`, given now if it is new; NULL for None."""
        if text is None:
            return NULL
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found

    def find_number(self, text: str) -> int:
        """The number of `text`; -1, which is nobody's, where it was never given one."""
        return self._numbers.get(text, -1)

    def text(self, number: int) -> str | None:
        """The string of a number; None for NULL."""
        return None if number == NULL else self.texts[number]

    def keep_only(self, numbers: Collection[int]) -> None:
        """Forgets all other names; one that comes again gets another number."""
        for text, number in [each for each in self._numbers.items() if each[1] not in numbers]:
            del self._numbers[text]
            self.texts[number] = FORGOTTEN
