"""How long something took, many times: the median and the longest, in little memory.

Theory. Durations are counted by their seven leading bits, so those that are counted together differ by less than one in
64. Of each such group one is kept, so the median is a duration that was there, and one of a single duration is exact.
There are a few hundred groups, however many durations.
"""

from __future__ import annotations

_BITS = 7


class DurationStatistics:
    """ns; longest: None without any."""

    __slots__ = ("_groups", "count", "longest")

    def __init__(self) -> None:
        self._groups: dict[int, tuple[int, int]] = {}
        self.count = 0
        self.longest: int | None = None

    def add(self, lasted: int) -> None:
        """One more; clocks of two interfaces may differ, so one below nothing is none."""
        lasted = max(lasted, 0)
        shift = max(lasted.bit_length() - _BITS, 0)
        group = lasted >> shift << shift
        count, kept = self._groups.get(group, (0, lasted))
        self._groups[group] = count + 1, kept
        self.count += 1
        self.longest = lasted if self.longest is None else max(self.longest, lasted)

    @property
    def median(self) -> int | None:
        """The middle one, of two the smaller; see the module."""
        below = 0
        for group in sorted(self._groups):
            count, kept = self._groups[group]
            below += count
            if 2 * below >= self.count:
                return kept
        return None
