"""Several captures as one timeline.

Theory. Within a file the file's order is kept, also where its clock goes back: a packet's place is the running maximum of
its file's times. Ties go to the file named first. A step gives out everything up to the earliest time that one of the
files has been read to, so what comes out never depends on how the files were cut into blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.records import RecordBlock, join


@dataclass(slots=True)
class _Lane:
    """One file: what was read of it and not yet given out, each record with its place in time."""

    blocks: Iterator[RecordBlock]
    records: RecordBlock | None = None
    place: NDArray[np.int64] | None = None
    latest: int = np.iinfo(np.int64).min

    def load(self) -> bool:
        """Reads on; False at the end."""
        records = next(self.blocks, None)
        if records is None:
            return False
        place = np.maximum.accumulate(records.time)
        self.place = np.maximum(place, self.latest)
        self.latest = int(self.place[-1])
        self.records = records
        return True


def merge(captures: Sequence[Iterator[RecordBlock]]) -> Iterator[RecordBlock]:
    """The records of all captures in order of time; one capture passes through as it is.

    A capture that waits for its packets (pipe, growing file) holds up the others, since nobody knows what it will bring.
    """
    if len(captures) == 1:
        yield from captures[0]
        return
    lanes = [lane for lane in map(_Lane, captures) if lane.load()]
    while lanes:
        behind = min(range(len(lanes)), key=lambda lane: lanes[lane].latest)
        horizon = lanes[behind].latest
        parts, places = [], []
        for index, lane in enumerate(lanes):
            assert lane.records is not None and lane.place is not None
            side = "right" if index <= behind else "left"
            count = int(np.searchsorted(lane.place, horizon, side))
            parts.append(lane.records.take(slice(count)))
            places.append(lane.place[:count])
            lane.records, lane.place = lane.records.take(slice(count, None)), lane.place[count:]
        order = np.argsort(np.concatenate(places), kind="stable")
        yield join(parts).take(order)
        if not lanes[behind].load():
            del lanes[behind]
