"""Equal intervals of time that begin at whole multiples of their length, counted from 1970 in UTC.

Theory. Aligned intervals stand for the same times in every capture, so two captures can be compared. Their length is a
usual unit of time, the shortest with which they fit into a line.
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints
from dissectors.slotted import make_slotted

SECOND = 10**9
MOST = 60
"""Number of intervals that fit into a line of a screen."""

LIMIT = 10_000
"""Number of intervals above which those without a message are left out."""

_SMALL = [step * 10**power for power in range(9) for step in (1, 2, 5)]
_LARGE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400]
LENGTHS = (*_SMALL, *(seconds * SECOND for seconds in _LARGE))


@make_slotted
class Intervals:
    """Consecutive intervals of time, each `length` ns long."""

    length: int

    @classmethod
    def fitting(cls, first: int, last: int, most: int = MOST) -> Intervals:
        """Chooses the shortest usual length with which `most` intervals span the time between two times (ns)."""
        for length in LENGTHS:
            if last // length - first // length < most:
                return cls(length)
        day = LENGTHS[-1]
        return cls(day * -(-(last // day - first // day + 1) // (most - 1)))

    def number_times(self, times: Ints) -> tuple[Ints, list[int]]:
        """Returns the interval of each time, numbered from 0, and the beginning of each interval (ns)."""
        if not len(times):
            return np.zeros(0, np.int64), []
        numbers = times // self.length
        first, last = int(numbers.min()), int(numbers.max())
        if last - first < LIMIT:
            return numbers - first, [number * self.length for number in range(first, last + 1)]
        there, keys = np.unique(numbers, return_inverse=True)
        return keys, (there * self.length).tolist()
