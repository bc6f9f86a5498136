"""Several captures as one timeline.

Theory. Within a file the file's order is kept, also where its clock goes back: a packet's place is the running
maximum of its file's times. Ties go to the file named first. A step gives out everything up to the earliest time that
one of the files has been read to, so what comes out never depends on how the files were cut into blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.records import RecordBlock, concatenate_blocks, make_empty_block
from dissectors.slotted import slotted


@slotted(frozen=False)
class _Lane:
    """One file: what was read of it and not yet given out, each record with its place in time."""

    blocks: Iterator[RecordBlock]
    records: RecordBlock
    place: NDArray[np.int64]
    latest: int

    def load(self) -> bool:
        """Reads on, when all is given out; False at the end."""
        records = next(self.blocks, None)
        if records is None:
            return False
        self.records = records
        self.place = np.maximum(np.maximum.accumulate(records.time), self.latest)
        self.latest = int(self.place[-1])
        return True

    def give(self, count: int) -> tuple[RecordBlock, NDArray[np.int64]]:
        """The first `count` records and their places, which are then gone from here."""
        given = self.records.take(slice(count)), self.place[:count]
        self.records, self.place = self.records.take(slice(count, None)), self.place[count:]
        return given


def merge_captures(captures: Sequence[Iterator[RecordBlock]]) -> Iterator[RecordBlock]:
    """The records of all captures in order of time; one capture passes through as it is.

    A capture that waits for its packets (pipe, growing file) holds up the others: nobody knows what it will bring.
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
        given = [
            lane.give(int(np.searchsorted(lane.place, horizon, "right" if index <= behind else "left")))
            for index, lane in enumerate(lanes)
        ]
        order = np.argsort(np.concatenate([place for _, place in given]), kind="stable")
        yield concatenate_blocks([records for records, _ in given]).take(order)
        if not lanes[behind].load():
            del lanes[behind]
