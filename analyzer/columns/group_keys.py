"""Several small numbers of each row as one: what rows are grouped by.

Theory. Rows are counted by np.bincount, which wants keys 0, 1, ... without many gaps. Numbers that lie near to each
other are made dense by a table, as far ones are by sorting them, and the keys of two columns are one key as the digits
of a number are. Keys are made dense again before they get large, so that they never overflow and tables stay small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analyzer.columns.arrays import Array, Ints, argsort_stable, find_runs
from dissectors.wire.fast_path import distinct

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
