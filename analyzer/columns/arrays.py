"""Array types, null values in integer columns, and sorting, grouping and numbering of column values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dissectors.wire.bulk import NULL, NULL64, distinct

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def encode_null(value: int | None) -> int:
    """How a 32-bit column holds a value that may be null."""
    return NULL if value is None else value


def encode_null64(value: int | None, scoped: bool = False) -> int:
    """The same for a 64-bit column; `scoped` values are unsigned and wrap."""
    if value is None:
        return NULL64
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if scoped else value


def decode_null(cell: int) -> int | None:
    """What a cell of a 32-bit column stands for."""
    return None if cell == NULL else cell


def decode_null64(cell: int, scoped: bool = False) -> int | None:
    """The same for a 64-bit column; `scoped` values are unsigned, and never null."""
    if scoped:
        return cell % (1 << 64)
    return None if cell == NULL64 else cell


def find_runs(sorted_keys: Array) -> tuple[Ints, Ints]:
    """Begin and end of each run of equal keys in a sorted array."""
    if not len(sorted_keys):
        empty = np.empty(0, np.int64)
        return empty, empty
    edges = np.flatnonzero(sorted_keys[1:] != sorted_keys[:-1]) + 1
    begin = np.concatenate(([0], edges))
    return begin, np.concatenate((edges, [len(sorted_keys)]))


def argsort_stable(numbers: Array) -> Ints:
    """The order that sorts numbers that are not negative, equal ones as they stand.

    Those of 16 bits are sorted without comparing them, at a quarter of the cost.
    """
    small = not len(numbers) or int(numbers.max()) < 1 << 16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def rank_in_runs(count: Ints) -> Ints:
    """0, 1, ... within each of a row of runs that have `count` elements."""
    return np.arange(int(count.sum()), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)


_MOST = 1 << 20
"""Keys beyond which they are made dense before another column is added."""


def make_group_keys(columns: Sequence[Array]) -> tuple[list[Array], Ints]:
    """The rows of several columns as keys 0, 1, ..., and for each column its number by key; keys rise as tuples do."""
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


def iterate_groups(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Each key that occurs, with the places of its rows, rising."""
    order = argsort_stable(keys)
    for begin, end in zip(*(edge.tolist() for edge in find_runs(keys[order])), strict=True):
        yield int(keys[order[begin]]), order[begin:end]
