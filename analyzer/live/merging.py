"""Packets of several taps in the order of their times.

Theory. Each tap gives its packets in order, but blocks of them, and later than they came: by up to HOLD. So what one
gave is kept back until every other one has given something later, or has had its time to. That is at most HOLD behind
what one tap alone would take.
"""

from __future__ import annotations

import ctypes

import numpy as np

from analyzer.live.pieces import MemoryPieces
from analyzer.live.taps import PacketBatch

HOLD = 90_000_000
"""Nanoseconds: three times the age at which the kernel hands over a block that is not full."""


class BatchMerger:
    """What taps gave and has not left again."""

    def __init__(self, taps: int) -> None:
        self._latest = [0] * taps
        self._kept: list[PacketBatch] = []

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self._kept)

    def add(self, tap: int, taken: PacketBatch) -> None:
        """Keeps a copy, for the tap's memory is its own. Without times, its packets all have that of the last."""
        self._latest[tap] = max(self._latest[tap], taken.last)
        self._kept.append(_copy(taken))

    def take_due(self, now: int) -> PacketBatch | None:
        """What no tap can come before any more; now: ns since 1970."""
        return self._up_to(min(max(latest, now - HOLD) for latest in self._latest))

    def take_rest(self) -> PacketBatch | None:
        """All there is, for no more will come."""
        return self._up_to(np.iinfo(np.int64).max)

    def _up_to(self, horizon: int) -> PacketBatch | None:
        gone: list[PacketBatch] = []
        kept: list[PacketBatch] = []
        for each in self._kept:
            assert each.times is not None
            due = int(np.searchsorted(each.times, horizon, side="right"))
            if due:
                gone.append(each.slice(0, due))
            if due < each.packets:
                kept.append(each.slice(due, each.packets))
        self._kept = kept
        return _merged(gone) if gone else None


def _copy(taken: PacketBatch) -> PacketBatch:
    """In memory of our own; times never go back, so that a tap's packets keep their order."""
    if isinstance(taken.blocks, MemoryPieces):
        data = b"".join(map(ctypes.string_at, *taken.blocks.rows.T.tolist()))
    else:
        data = bytes(taken.blocks)
    ends = np.asarray(taken.ends, np.int64)
    times = np.full(taken.packets, taken.last) if taken.times is None else np.maximum.accumulate(taken.times)
    rows = np.empty((taken.packets, 2), np.uintp)
    rows[:, 1] = np.diff(ends, prepend=0)
    rows[:, 0] = np.frombuffer(data, np.uint8).ctypes.data + ends - rows[:, 1].astype(np.int64)
    return PacketBatch(taken.packets, taken.size, taken.last, MemoryPieces(rows, data), ends, times)


def _merged(parts: list[PacketBatch]) -> PacketBatch:
    if len(parts) == 1:
        return parts[0]
    times = np.concatenate([each.times for each in parts if each.times is not None])
    pieces = [each.blocks for each in parts if isinstance(each.blocks, MemoryPieces)]
    order = np.argsort(times, kind="stable")
    rows = np.concatenate([each.rows for each in pieces])[order]
    ends = rows[:, 1].cumsum(dtype=np.int64)
    times = times[order]
    return PacketBatch(len(rows), int(ends[-1]), int(times[-1]), MemoryPieces(rows, pieces), ends, times)
