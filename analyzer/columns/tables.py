"""Tables of growing columns, which the analyzer uses instead of objects.

Theory. A million messages must cost tens of bytes each and no Python object. A ColumnTable subclass names its columns
and their types. Rows are appended a block at a time. An array that becomes too short is replaced by one of four times
its length, so appending takes linear time. A large array has memory pages of its own. Pages that were never written
take no memory, and the system gets back the pages of a replaced array at once. A column takes less memory than its type
if its values allow that: 64-bit columns hold 32 bits until a value needs more, and a column in which all rows have the
usual value takes nothing.

An analysis of an endless input drops its oldest rows. Their pages go back to the system while the array stays in place,
so row numbers and views remain valid. A dropped cell reads as 0. If an array that has dropped rows becomes too short,
the longer array is not written before the first remaining row, so that part costs only address space.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from analyzer.columns.arrays import Array, Ints, list_distinct
from dissectors.wire.fast_path import NULL

PAGED_BYTES = 1 << 18
"""Minimum size in bytes of an array with pages of its own."""

_UNRESERVED = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Flag of mmap(2): the map may exceed all memory, since most of it is never touched. Python 3.13 names it."""

_SLAB = 1 << 16
"""Rows that are copied together from an array with pages that were returned to the system."""


class ColumnTable:
    """Holds rows of the columns that `TYPES` names.

    NARROW: int64 columns that hold int32 while their values allow it. USUAL: columns in which most rows have one value,
    and that value; while no row has another value, column() returns a read-only view of it. PAGED: minimum size in
    bytes of an array with pages of its own.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]]
    NARROW: ClassVar[frozenset[str]] = frozenset()
    USUAL: ClassVar[Mapping[str, int]] = {}
    PAGED: ClassVar[int] = PAGED_BYTES

    def __init__(self) -> None:
        self._filled = 0
        self._first = 0
        self._freed_bytes: dict[str, int] = {}
        self._arrays: dict[str, Array] = {
            name: np.empty(0, np.int32 if name in self.NARROW else kind)
            for name, kind in self.TYPES.items()
            if name not in self.USUAL
        }

    def __len__(self) -> int:
        return self._filled

    @property
    def first(self) -> int:
        """Number of the first row that has not been forgotten."""
        return self._first

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the remaining rows take."""
        return sum(
            len(array) * array.itemsize
            if _map_of(array) is None
            else (self._filled - self._first) * array.itemsize - self._freed_bytes.get(name, 0)
            for name, array in tuple(self._arrays.items())
        )

    def column(self, name: str) -> Array:
        """Returns a view of all rows of one column, valid until the next append.

        Rows before `first` have undefined values.
        """
        array = self._arrays.get(name)
        if array is None:
            return np.broadcast_to(np.array(self.USUAL[name], self.TYPES[name]), self._filled)
        return array[: self._filled]

    def cell(self, name: str, row: int) -> int:
        """Returns one integer. Raises IndexError for rows that were forgotten or never appended."""
        if not self._first <= row < self._filled:
            raise IndexError(f"row {row} of {self._first} to {self._filled}")
        array = self._arrays.get(name)
        return self.USUAL[name] if array is None else int(array[row])

    def forget(self, before: int) -> None:
        """Frees the memory of the rows before a number; the other rows keep their numbers."""
        before = min(before, self._filled)
        if before <= self._first:
            return
        first, self._first = self._first, before
        for array in self._arrays.values():
            begin, end = (row * array.itemsize // mmap.PAGESIZE for row in (first, before))
            _give_back(array, begin, end)

    def keep_only(self, rows: Ints) -> None:
        """Frees the pages that hold none of `rows` (ascending), and keeps the pages after the last row.

        The other rows then have undefined values.
        """
        for name, array in self._arrays.items():
            if _map_of(array) is None:
                continue
            on_page = mmap.PAGESIZE // array.itemsize
            last = self._filled // on_page
            used_pages = list_distinct(rows // on_page)
            edges = np.concatenate(([-1], used_pages[used_pages < last], [last]))
            for place in np.flatnonzero(np.diff(edges) > 1).tolist():
                _give_back(array, int(edges[place]) + 1, int(edges[place + 1]))
            self._freed_bytes[name] = max(last - len(edges) + 2, 0) * mmap.PAGESIZE

    def append(self, count: int, values: Mapping[str, Array | int]) -> int:
        """Appends `count` rows, with an array or one value for each column; returns the number of the first new row."""
        first, end = self._filled, self._filled + count
        for name in self.TYPES:
            value = values[name]
            if name in self._arrays or not bool(np.all(value == self.USUAL[name])):
                self._reserve(name, end, value)[first:end] = value
        self._filled = end
        return first

    def _reserve(self, name: str, rows: int, value: Array | int) -> Array:
        """Returns the array of a column, long enough for `rows` and of a type that can hold `value`."""
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
        """Returns the length of the array that replaces one that is too short."""
        if not self._first:
            return max(4 * len(array), 1024)
        return self._filled + max(3 * (self._filled - self._first), PAGED_BYTES // array.itemsize)

    def _copy(self, name: str, grown: Array) -> None:
        """Copies the remaining rows of a column without touching other pages."""
        column = self.column(name)
        if name not in self._freed_bytes:
            grown[self._first : self._filled] = column[self._first :]
            return
        for begin in range(0, self._filled, _SLAB):
            slab = column[begin : begin + _SLAB]
            if slab.any():
                grown[begin : begin + len(slab)] = slab


def _narrow(value: Array | int) -> bool:
    """Returns whether 32 bits are enough for `value`."""
    bounds = np.iinfo(np.int32)
    return not np.size(value) or bool(bounds.min <= np.min(value) and np.max(value) <= bounds.max)


def _empty(rows: int, kind: np.dtype[Any], paged: int) -> Array:
    size = rows * kind.itemsize
    if size < paged:
        return np.empty(rows, kind)
    return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _UNRESERVED), kind)


def _map_of(array: Array) -> mmap.mmap | None:
    """Returns the memory map of an array that has pages of its own."""
    base: object = array.base
    source = base.obj if isinstance(base, memoryview) else None
    return source if isinstance(source, mmap.mmap) else None


def _give_back(array: Array, begin: int, end: int) -> None:
    """Returns the pages from `begin` to before `end` of an array to the system; they then read as 0."""
    pages = _map_of(array)
    if pages is not None and begin < end:
        pages.madvise(mmap.MADV_DONTNEED, begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE)


FORGOTTEN = ""
"""The table's entry for a dropped name."""


class NameTable:
    """Numbers strings 0, 1, ... in order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def __len__(self) -> int:
        """Number of names that were not dropped; `texts` also has an entry for each dropped one."""
        return len(self._numbers)

    def intern(self, text: str | None) -> int:
        """Returns the number of `text`, or the next one if it is new; NULL for None."""
        if text is None:
            return NULL
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found

    def find_number(self, text: str) -> int:
        """Returns the number of `text`, or -1 if it has none."""
        return self._numbers.get(text, -1)

    def text(self, number: int) -> str | None:
        """Returns the string of a number; None for NULL."""
        return None if number == NULL else self.texts[number]

    def keep_only(self, numbers: Collection[int]) -> None:
        """Drops all names except those with these numbers; a dropped name gets a new number if it occurs again."""
        for text, number in [each for each in self._numbers.items() if each[1] not in numbers]:
            del self._numbers[text]
            self.texts[number] = FORGOTTEN
