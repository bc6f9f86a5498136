"""Buckets are where their formula says that they are, for numbers that floats get wrong, too."""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.tables.summaries import find_bucket

POWERS = [1 << exponent for exponent in range(63)]
NUMBERS = sorted({*range(3000), *(power + near for power in POWERS for near in (-1, 0, 1)), (1 << 63) - 1})


def plain(ns: int) -> int:
    return ns if ns < 8 else 8 * (ns.bit_length() - 3) + (ns >> ns.bit_length() - 4) - 8


def least_of(bucket: Ints) -> Ints:
    """The formula of docs/reference/tables.md."""
    return np.where(bucket < 8, bucket, bucket % 8 + 8 << np.maximum(bucket // 8 - 1, 0))


def test_every_number_has_its_bucket() -> None:
    found = find_bucket(np.array(NUMBERS))
    assert found.tolist() == list(map(plain, NUMBERS))
    assert find_bucket(np.array([-5])).tolist() == [0]


def test_buckets_tile_the_numbers() -> None:
    """Each begins where the one before ends, and is at most an eighth as wide as its least number is large."""
    least = least_of(np.arange(488))
    assert find_bucket(least).tolist() == list(range(488))
    assert find_bucket(least[1:] - 1).tolist() == list(range(487))
    wide = np.diff(least)
    assert (wide[8:] * 8 <= least[8:-1]).all()
