"""Merges several captures into one timeline.

Theory. The order within a file is kept, also where its clock goes back: the place of a packet is the highest time of
its file so far. Of equal places the file named first comes first. Each step yields everything up to the earliest time
to which all files have been read, so the result does not depend on how the files were divided into blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.records import RecordBlock, make_empty_block
from dissectors.slotted import make_slotted


@make_slotted(frozen=False)
class _Lane:
    """Holds what was read of one file and not yielded yet, each record with its place in time."""

    blocks: Iterator[RecordBlock]
    records: RecordBlock
    place: NDArray[np.int64]
    latest: int

    def load(self) -> bool:
        """Reads on when everything was yielded; returns False at the end."""
        records = next(self.blocks, None)
        if records is None:
            return False
        self.records = records
        self.place = np.maximum(np.maximum.accumulate(records.time), self.latest)
        self.latest = int(self.place[-1])
        return True

    def count_until(self, place: int, inclusive: bool) -> int:
        """Counts the records before a place in time, or up to it."""
        return int(np.searchsorted(self.place, place, "right" if inclusive else "left"))

    def give(self, count: int) -> tuple[RecordBlock, NDArray[np.int64]]:
        """Removes and returns the first `count` records and their places."""
        taken = self.records[:count], self.place[:count]
        self.records, self.place = self.records[count:], self.place[count:]
        return taken


def merge_captures(captures: Sequence[Iterator[RecordBlock]], least: int = 1) -> Iterator[RecordBlock]:
    """Yields the records of all captures in order of time; a single capture passes through unchanged.

    least: records of a block of several captures, unless it is the last one. A capture that waits for packets (pipe,
    growing file) holds up the others, since its next packets are unknown.
    """
    if len(captures) == 1:
        yield from captures[0]
        return
    parts: list[RecordBlock] = []
    count = 0
    for part in _merge_steps(captures):
        parts.append(part)
        count += len(part)
        if count >= least:
            yield RecordBlock.concatenate(parts)
            parts, count = [], 0
    if parts:
        yield RecordBlock.concatenate(parts)


def _merge_steps(captures: Sequence[Iterator[RecordBlock]]) -> Iterator[RecordBlock]:
    """Yields what lies between the ends of two blocks. Two heaps find the lanes that have to do with a step."""
    nothing = np.zeros(0, np.int64)
    lanes = [_Lane(blocks, make_empty_block(), nothing, np.iinfo(np.int64).min) for blocks in captures]
    loaded = [number for number, lane in enumerate(lanes) if lane.load()]
    lasts = [(lanes[number].latest, number) for number in loaded]
    firsts = [(int(lanes[number].place[0]), number) for number in loaded]
    heapify(lasts)
    heapify(firsts)
    while lasts:
        horizon, behind = lasts[0]
        chosen = []
        while firsts and firsts[0] <= (horizon, behind):
            chosen.append(heappop(firsts)[1])
        chosen.sort()
        taken = [lanes[number].give(lanes[number].count_until(horizon, number <= behind)) for number in chosen]
        records = RecordBlock.concatenate([records for records, _ in taken])
        if len(taken) > 1:
            records = records[np.argsort(np.concatenate([place for _, place in taken]), kind="stable")]
        yield records
        if lanes[behind].load():
            heapreplace(lasts, (lanes[behind].latest, behind))
        else:
            heappop(lasts)
        for number in chosen:
            if len(place := lanes[number].place):
                heappush(firsts, (int(place[0]), number))
