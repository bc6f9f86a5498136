"""Merges several captures into one timeline.

Theory. The order within a file is kept, also where its clock goes back: the place of a packet is the highest time of
its file so far. Of equal places the file named first comes first. Each step yields everything up to the earliest time
to which all files have been read, so the result does not depend on how the files were divided into blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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

    def give(self, count: int) -> tuple[RecordBlock, NDArray[np.int64]]:
        """Removes and returns the first `count` records and their places."""
        taken = self.records[:count], self.place[:count]
        self.records, self.place = self.records[count:], self.place[count:]
        return taken


def merge_captures(captures: Sequence[Iterator[RecordBlock]]) -> Iterator[RecordBlock]:
    """Yields the records of all captures in order of time; a single capture passes through unchanged.

    A capture that waits for packets (pipe, growing file) holds up the others, since its next packets are unknown.
    """
    if len(captures) == 1:
        yield from captures[0]
        return
    nothing = np.zeros(0, np.int64)
    lanes = [_Lane(blocks, make_empty_block(), nothing, np.iinfo(np.int64).min) for blocks in captures]
    lanes = [lane for lane in lanes if lane.load()]
    while lanes:
        behind = min(range(len(lanes)), key=lambda lane: lanes[lane].latest)
        horizon = lanes[behind].latest
        taken = [
            lane.give(int(np.searchsorted(lane.place, horizon, "right" if index <= behind else "left")))
            for index, lane in enumerate(lanes)
        ]
        order = np.argsort(np.concatenate([place for _, place in taken]), kind="stable")
        yield RecordBlock.concatenate([records for records, _ in taken])[order]
        if not lanes[behind].load():
            del lanes[behind]
