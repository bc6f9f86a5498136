"""Ticks of a pcapng interface to nanoseconds, with whole numbers only (pcapng, if_tsresol and if_tsoffset).

Theory. A double keeps 53 bits, a time in nanoseconds needs 61: so every step is an integer one. Binary fractions
finer than 2^-31 are multiplied in two halves, since ticks * 10^9 would not fit. Hostile ticks saturate; they never
raise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NS = 1_000_000_000
LONGEST = np.iinfo(np.int64).max // 2
"""Where times saturate: half of int64, so that differences fit as well."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`resolution`: the byte of if_tsresol (6: microseconds; bit 7: binary fractions); `offset`: seconds to add."""

    resolution: int = 6
    offset: int = 0

    @property
    def ticks(self) -> int:
        """Ticks per second."""
        exponent = self.resolution & 0x7F
        return 1 << exponent if self.resolution & 0x80 else 10**exponent

    def nanoseconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Nanoseconds since 1970 of `ticks` (n), rounded down."""
        ns = _binary(ticks, self.resolution & 0x7F) if self.resolution & 0x80 else _decimal(ticks, self.resolution)
        shift = max(-LONGEST // NS, min(self.offset, LONGEST // NS)) * NS
        since: NDArray[np.int64] = np.minimum(ns, np.uint64(LONGEST)).astype(np.int64)
        since += shift
        return since


def _decimal(ticks: NDArray[np.uint64], exponent: int) -> NDArray[np.uint64]:
    if exponent > 9:
        divisor = 10 ** (exponent - 9)
        return np.floor_divide(ticks, np.uint64(divisor)) if divisor < 1 << 64 else np.zeros_like(ticks)
    factor = 10 ** (9 - exponent)
    return np.minimum(ticks, np.uint64(LONGEST // factor)) * np.uint64(factor)


def _binary(ticks: NDArray[np.uint64], exponent: int) -> NDArray[np.uint64]:
    ns: NDArray[np.uint64]
    if exponent < 32:
        part = ticks & np.uint64((1 << exponent) - 1)
        ns = np.minimum(ticks >> np.uint64(exponent), np.uint64(LONGEST // NS)) * np.uint64(NS)
        ns += part * np.uint64(NS) >> np.uint64(exponent)
    else:
        high, low = ticks >> np.uint64(32), ticks & np.uint64(0xFFFF_FFFF)
        ns = high * np.uint64(NS) + (low * np.uint64(NS) >> np.uint64(32))
        # Shifting by more than 63 is not defined in C.
        ns >>= np.uint64(min(exponent - 32, 63))
    return ns
