"""Growing columns: what the analyzer keeps instead of objects.

Theory. A capture of a million messages must cost tens of bytes a message and no Python object. A Columns subclass
names its columns and their types; rows are appended a block at a time; the arrays grow by half, so that appending is
linear and at most a third of the memory is spare (and never touched, so never resident).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dissectors.wire.bulk import NULL, NULL64

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Columns:
    """Rows 0..len-1 of the columns that `TYPES` names; `column(name)` is a view of the filled part."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]]

    def __init__(self) -> None:
        self._filled = 0
        self._arrays: dict[str, Array] = {name: np.empty(0, kind) for name, kind in self.TYPES.items()}

    def __len__(self) -> int:
        return self._filled

    def column(self, name: str) -> Array:
        """A view of all rows of one column; valid until the next append."""
        return self._arrays[name][: self._filled]

    def cell(self, name: str, row: int) -> int:
        """One integer; IndexError outside 0..len-1, also for rows that are allocated but not filled."""
        if not 0 <= row < self._filled:
            raise IndexError(f"row {row} of {self._filled}")
        return int(self._arrays[name][row])

    def append(self, count: int, values: Mapping[str, Array | int]) -> int:
        """Appends `count` rows, an array or one value for each column; returns the number of the first."""
        first, end = self._filled, self._filled + count
        for name, array in self._arrays.items():
            if end > len(array):
                grown = np.empty(max(end, len(array) * 3 // 2, 1024), array.dtype)
                grown[:first] = array[:first]
                self._arrays[name] = array = grown
            array[first:end] = values[name]
        self._filled = end
        return first


class Names:
    """Strings as small numbers: number 0, 1, ... in order of first use. Bounded only by what the capture says."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def number(self, text: str | None) -> int:
        """The number of `text`, given now if it is new; NULL for None."""
        if text is None:
            return NULL
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found

    def text(self, number: int) -> str | None:
        """The string of a number; None for NULL."""
        return None if number == NULL else self.texts[number]


def stored(value: int | None) -> int:
    """How a 32-bit column holds a value that may be null."""
    return NULL if value is None else value


def stored64(value: int | None, scoped: bool = False) -> int:
    """The same for a 64-bit column; `scoped` values are unsigned and wrap."""
    if value is None:
        return NULL64
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if scoped else value


def given(cell: int) -> int | None:
    """What a cell of a 32-bit column stands for."""
    return None if cell == NULL else cell


def given64(cell: int, scoped: bool = False) -> int | None:
    """The same for a 64-bit column; `scoped` values are unsigned, and never null."""
    if scoped:
        return cell % (1 << 64)
    return None if cell == NULL64 else cell


def runs(sorted_keys: Array) -> tuple[Ints, Ints]:
    """Begin and end of each run of equal keys in a sorted array."""
    if not len(sorted_keys):
        empty = np.empty(0, np.int64)
        return empty, empty
    edges = np.flatnonzero(sorted_keys[1:] != sorted_keys[:-1]) + 1
    begin = np.concatenate(([0], edges))
    return begin, np.concatenate((edges, [len(sorted_keys)]))


def ranks(count: Ints) -> Ints:
    """0, 1, ... within each of a row of runs that have `count` elements."""
    return np.arange(int(count.sum()), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
