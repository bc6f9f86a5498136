"""Array types, null values in integer columns, and sorting, grouping and numbering of column values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dissectors.wire.fast_path import NULL, NULL64, SMALL, distinct

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class ArrayRows:
    """Base of slotted classes whose fields are arrays (or other ArrayRows) with one element for each of n rows."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(getattr(self, next(iter(type(self).__annotations__))))

    def __getitem__(self, rows: Array | slice) -> Self:
        """Returns the rows that an array of positions, a mask or a slice selects."""
        kind: Any = type(self)
        return kind(*[getattr(self, name)[rows] for name in kind.__annotations__])  # type: ignore[no-any-return]

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Returns the rows of several parts (at least one), in order; a single part is not copied."""
        if len(parts) == 1:
            return parts[0]
        columns: Any = [np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__]
        return cls(*columns)


def encode_null(value: int | None) -> int:
    """Returns the 32-bit cell of a value: NULL for None."""
    return NULL if value is None else value


def encode_null64(value: int | None, scoped: bool = False) -> int:
    """Returns the 64-bit cell of a value: NULL64 for None.

    `scoped` values are unsigned and wrap into the signed cell.
    """
    if value is None:
        return NULL64
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if scoped else value


def decode_null(cell: int) -> int | None:
    """Returns the value of a 32-bit cell: None for NULL."""
    return None if cell == NULL else cell


def decode_null64(cell: int, scoped: bool = False) -> int | None:
    """Returns the value of a 64-bit cell: None for NULL64.

    `scoped` cells are unsigned and never null.
    """
    if scoped:
        return cell % (1 << 64)
    return None if cell == NULL64 else cell


def find_runs(sorted_keys: Array) -> tuple[Ints, Ints]:
    """Returns the first position of each run of equal keys in a sorted array, and the position after its last one."""
    if not len(sorted_keys):
        empty = np.empty(0, np.int64)
        return empty, empty
    edges = np.flatnonzero(sorted_keys[1:] != sorted_keys[:-1]) + 1
    begin = np.concatenate(([0], edges))
    return begin, np.concatenate((edges, [len(sorted_keys)]))


def flag_run_starts(*columns: Array) -> Bools:
    """Returns which rows (bool, n) differ from the row before in one of the columns; the first row does."""
    found = np.ones(len(columns[0]), bool)
    found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found


def argsort_stable(numbers: Array) -> Ints:
    """Returns the positions (int64, n) that sort non-negative numbers; equal numbers keep their order.

    NumPy sorts 16-bit integers with a radix sort, which takes a quarter of the time.
    """
    small = not len(numbers) or int(numbers.max()) < 1 << 16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def rank_in_runs(count: Ints) -> Ints:
    """Returns 0, 1, ... for the elements of each run, where `count` has the length of each run."""
    return np.arange(int(count.sum()), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)


_MOST = 1 << 20
"""Maximum number of keys that are renumbered with a table; more are sorted."""


def make_group_keys(columns: Sequence[Array]) -> tuple[list[Array], Ints]:
    """Numbers the distinct rows of several columns: 0, 1, ... in the order of their tuples.

    Returns a table for each column, with its value for each key, and the key of each row (int64, n). Two columns make
    one key as two digits make a number. The keys are renumbered after each column, so they never overflow, and the
    table that translates them stays small.
    """
    values, keys = distinct(columns[0])
    tables: list[Array] = [values]
    for column in columns[1:]:
        more, places = distinct(column)
        width = max(len(more), 1)
        wide = keys * width + places
        if len(tables[0]) * width <= _MOST:
            seen = np.flatnonzero(np.bincount(wide, minlength=1)) if len(wide) else np.zeros(0, np.int64)
            back = np.zeros(int(seen.max(initial=0)) + 1, np.int64)
            back[seen] = np.arange(len(seen))
            keys = back[wide]
        else:
            seen, keys = np.unique(wide, return_inverse=True)
        tables = [*(table[seen // width] for table in tables), more[seen % width]]
    return tables, keys


def list_distinct(values: Array) -> Array:
    """Returns each of some values once, in ascending order, as np.unique does, which imports masked arrays (50 ms)."""
    if values.dtype.kind == "i" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < SMALL:
            seen = np.zeros(high - low + 1, bool)
            seen[values.astype(np.int64).ravel() - low] = True
            return (np.flatnonzero(seen) + low).astype(values.dtype)
    ordered = np.sort(values, axis=None)
    return ordered[flag_run_starts(ordered)]


def merge_rows(count: int, *parts: Ints) -> Ints:
    """Returns the numbers below `count` that are in any of the parts, each once, in ascending order."""
    there = np.zeros(count, bool)  # np.unique takes a hundred times as long
    for part in parts:
        there[part] = True
    return np.flatnonzero(there)


def iterate_groups(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Yields each key that occurs, with the positions of its rows in ascending order."""
    order = argsort_stable(keys)
    for begin, end in zip(*(edge.tolist() for edge in find_runs(keys[order])), strict=True):
        yield int(keys[order[begin]]), order[begin:end]
