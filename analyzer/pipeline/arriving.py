"""Sorted rows as a partition gets them: notes, states of connections, pointers; each to those who want it.

Theory. Rows come sorted by connection, and in it by time. Notes have no connection and so come first; a state comes
before the packets of its connection, but in the same Arrow batch only if no batch ends between them. So a state whose
connection has no packet is known as idle once a later connection has come.

Bundles (pointers.py) are unpacked a few at a time, so that what is in memory does not depend on how many Spark gives at
once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from analyzer.pipeline.bundles import offsets_of
from analyzer.pipeline.merging import Merger, Pointers
from analyzer.pipeline.pointers import capture_of, packets_of
from analyzer.pipeline.states import Left

FRAGMENT = 8 << 20
"""Bytes of rows that are unpacked at a time, unless one row has more."""

UNPACKED = 128
"""What a packet weighs beside its bytes: a block of an analysis should have some ten thousand at most."""


class Queue:
    """Pointers as they come, looked at before they are taken.

    notes: what was told of files. idle: connections that have a state and no packet, as far as that is known.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = _portions(batches)
        self._merger = Merger()
        self._ahead: Pointers | None = None
        self._left: dict[bytes, Left] = {}
        self._unmet: list[bytes] = []
        self.notes: list[bytes] = []
        self.idle: deque[tuple[bytes, Left]] = deque()

    def ahead(self) -> Pointers | None:
        """The next pointers, at least one; None at the end."""
        while self._ahead is None and (batch := next(self._batches, None)) is not None:
            # Notes have no connection, and so are sorted before all packets.
            notes = int(np.searchsorted(np.diff(offsets_of(batch.column(0))) > 0, True))
            self.notes += batch.column(3)[:notes].to_pylist()
            if notes < len(batch):
                self._ahead = self._pointers(batch.slice(notes))
        if self._ahead is None:
            self._ahead = self._merger.add(None, None)
            self._settle(set(), b"")
        return self._ahead

    def capture(self) -> int | None:
        """The number of the capture that comes next; None at the end."""
        ahead = self.ahead()
        if self.idle:
            return capture_of(self.idle[0][0])
        return None if ahead is None else capture_of(ahead.names[ahead.connection[0]])

    def take(self, count: int) -> Pointers:
        """The first `count` of those ahead."""
        assert self._ahead is not None
        taken = self._ahead.take(0, count)
        self._ahead = self._ahead.take(count, len(self._ahead)) if count < len(self._ahead) else None
        return taken

    def state(self, connection: bytes) -> Left | None:
        """What the batch before left of a connection that has packets; once."""
        return self._left.pop(connection, None)

    def put_back(self, connection: bytes, left: Left) -> None:
        """A connection whose packets are ahead, with its state."""
        self._left[connection] = left

    def _pointers(self, batch: pa.RecordBatch) -> Pointers | None:
        """The packets that are ahead with a batch without notes; its states are put aside."""
        place, origin = (batch.column(each).to_numpy() for each in (1, 2))
        last = None if origin[-1] < 0 else (int(place[-1]), int(origin[-1]))
        states = np.flatnonzero(origin < 0)
        if not len(states) and not self._unmet:
            return self._merger.add(Pointers.of(batch), last)
        chosen = pa.array(states)
        for column in zip(*(batch.column(place).take(chosen).to_pylist() for place in (0, 3)), strict=True):
            self._left[column[0]] = Left.of(column[1])
            self._unmet.append(column[0])
        rest = batch.filter(pa.array(origin >= 0)) if len(states) else batch
        found = Pointers.of(rest) if len(rest) else None
        self._settle(set() if found is None else set(found.names), batch.column(0)[-1].as_py())
        return self._merger.add(found, last)

    def _settle(self, met: set[bytes], last: bytes) -> None:
        """Of the states without packets so far: which are `met` now, which are idle; of `last` nobody knows."""
        unmet = [name for name in self._unmet if name not in met]
        self._unmet = [name for name in unmet if name == last]
        self.idle += [(name, self._left.pop(name)) for name in unmet if name != last]


def _portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of at least one row, none of which has much more than others."""
    for batch in batches:
        weight = np.diff(offsets_of(batch.column(3))) + UNPACKED * packets_of(batch)
        before = np.concatenate(([0], np.cumsum(weight)))
        first = 0
        while first < len(batch):
            last = max(int(np.searchsorted(before, before[first] + FRAGMENT, "right")) - 1, first + 1)
            yield batch.slice(first, last - first)
            first = last
