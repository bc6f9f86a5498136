"""Exact percentiles of many groups of integers, and the buckets for distributions.

Theory. A percentile is by nearest rank: of n sorted values, p per cent is the one at position ceil(n * p / 100), from
1. So it is always a value that occurred, never a mean, and exact in nanoseconds. The caller sorts all values once.
Groups are then collected with a stable counting sort of their small numbers, without comparing values again.
Distributions for drawing are counted in buckets that grow with the numbers, four between each power of two and the
next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.columns.arrays import Ints, argsort_stable

STEPS = 4
"""Number of buckets from a power of two to the next."""

_EXACT = 1 << 53
"""Limit up to which a float represents each integer."""


def nearest_ranks(keys: Ints, values: Ints, size: int, thousandths: Sequence[int]) -> Ints:
    """Returns for each key 0 .. size - 1 a row: number of values, least, percentiles, greatest.

    keys, values: n each, sorted by value. thousandths: 500 is the median. Zeros for a key without values.
    """
    count = np.bincount(keys, minlength=size)
    found = np.zeros((size, len(thousandths) + 3), np.int64)
    found[:, 0] = count
    there = np.flatnonzero(count)
    if not len(there):
        return found
    ordered = values[argsort_stable(keys)]
    first, many = (np.cumsum(count) - count)[there], count[there]
    found[there, 1], found[there, -1] = ordered[first], ordered[first + many - 1]
    for place, each in enumerate(thousandths, 2):
        found[there, place] = ordered[first + np.maximum((many * each + 999) // 1000, 1) - 1]
    return found


def nearest_rank(ordered: Ints, thousandths: int) -> int:
    """Returns one percentile, by nearest rank, of sorted values; at least one value is needed."""
    return int(ordered[max((len(ordered) * thousandths + 999) // 1000, 1) - 1])


def sums(keys: Ints, values: Ints, size: int) -> list[int]:
    """Returns the exact sum of the values of each key; bincount() adds floats and would round large sums."""
    if len(values) * max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0)))) < _EXACT:
        found: list[int] = np.bincount(keys, values, size).astype(np.int64).tolist()
        return found
    parts = (np.bincount(keys, part, size).astype(np.int64).tolist() for part in (values >> 31, values & 0x7FFF_FFFF))
    return [(high << 31) + low for high, low in zip(*parts, strict=True)]


def _edges() -> Ints:
    """Returns where buckets begin: at 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ... up to 2^62."""
    powers = [1 << power for power in range(2, 62)]
    return np.array([0, 1, 2, 3, *(power + step * power // STEPS for power in powers for step in range(STEPS))])


EDGES = _edges()

ROUND: Ints = np.array(
    [
        *(0, *(unit << power for unit in (10**3, 10**6) for power in range(10))),
        *(*(10**9 << power for power in range(20)), np.iinfo(np.int64).max),
    ]
)
"""Edges for durations (ns) that people read, with one bucket from a power of two to the next. Powers begin anew with
each unit: 0, 1, 2, 4, ... 512 us, 1, 2, 4, ... 512 ms, 1, 2, 4, ... s. The last bucket holds all longer durations.
"""


def buckets(values: Ints, edges: Ints = EDGES) -> Ints:
    """Returns the bucket of each value: from edges[bucket] up to the next edge; negative values are in bucket 0."""
    return np.maximum(np.searchsorted(edges, values, "right") - 1, 0)
