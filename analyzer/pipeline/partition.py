"""A partition's sorted pointers to rows: the second stage of a run.

Theory. Pointers come sorted by connection and then by time, so once the next connection begins all of the last one is
there. They are read in parts: whole connections of one capture, as many as make a part worth its while. A part is one
Analysis from its first block to its end, like a capture that ends there. Only a connection larger than a part is
held longer, and of it the index alone.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from analyzer.capture.errors import CaptureError
from analyzer.capture.packets import FlowTable, PacketBlock
from analyzer.capture.sources import Spool
from analyzer.capture.store import SHIFT, Store
from analyzer.columns import Ints
from analyzer.decode_as import known_of, together
from analyzer.pipeline.batches import NOTES, Found, tables
from analyzer.pipeline.library import Library
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import Kept
from analyzer.pipeline.pointers import BEHIND, RECORD, RECORDS, Pointers, capture_of, ends_of
from analyzer.pipeline.sources import CaptureFile
from analyzer.session import Analysis
from dissectors.finding import Finding

ENOUGH = 1 << 17
"""Packets of a part, unless its last connection has more."""

_LIBRARY = Library()


def rows(batches: Iterable[pa.RecordBatch], files: Sequence[CaptureFile], options: Options) -> Iterator[Found]:
    """The tables' rows of a partition, in batches, and the notes in it."""
    _collect_seldom()
    queue = Queue(batches)
    (known, orders), names = known_of(together(options.decode_as)), [file.name for file in files]
    try:
        while (ahead := queue.ahead()) is not None:
            origins = Kept(files[int(ahead.origin[0]) >> RECORDS].folder, names)
            with Analysis(Part(queue, files, origins), known, orders=orders) as session:
                yield from tables(session.load(), origins, options)
            _LIBRARY.trim()
    except CaptureError as error:
        queue.notes.append(json.dumps({"error": str(error)}).encode())
    if queue.notes:
        yield Found(NOTES, pa.record_batch([queue.notes], ["note"]))


def _collect_seldom() -> None:
    """Decoded values are trees without cycles; looking for cycles costs a tenth of the time."""
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)


class Queue:
    """Pointers as they come, looked at before they are taken; notes go to `notes`."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._ahead: Pointers | None = None
        self.notes: list[bytes] = []

    def ahead(self) -> Pointers | None:
        """The next pointers, at least one; None at the end."""
        while self._ahead is None and (batch := next(self._batches, None)) is not None:
            # Notes have no connection, and so are sorted before all packets.
            notes = int(np.searchsorted(_lengths(batch.column(0)) > 0, True))
            self.notes += batch.column(3)[:notes].to_pylist()
            if notes < len(batch):
                self._ahead = Pointers.of(batch.slice(notes))
        return self._ahead

    def take(self, count: int) -> Pointers:
        """The first `count` of those ahead."""
        assert self._ahead is not None
        taken = self._ahead.take(0, count)
        self._ahead = self._ahead.take(count, len(self._ahead)) if count < len(self._ahead) else None
        return taken


class Part:
    """Whole connections of one capture: the Blocks of one Analysis."""

    def __init__(self, queue: Queue, files: Sequence[CaptureFile], origins: Kept) -> None:
        self.store, self.flows, self.findings = Store(), FlowTable(), list[Finding]()
        ahead = queue.ahead()
        assert ahead is not None
        self._queue, self._files, self._origins = queue, files, origins
        self._capture = capture_of(ahead.names[ahead.connection[0]])
        self._sources: dict[int, int] = {}
        self._behind: Spool | None = None

    def blocks(self) -> Iterator[PacketBlock]:
        """See Blocks.blocks."""
        taken, last = 0, b""
        while (ahead := self._queue.ahead()) is not None:
            count = self._mine(ahead, last if taken >= ENOUGH else None)
            if not count:
                return
            pointers = self._queue.take(count)
            yield self._block(pointers, taken)
            taken += count
            last = pointers.names[pointers.connection[-1]]

    def _mine(self, ahead: Pointers, last: bytes | None) -> int:
        """How many of those ahead belong here: those of this capture, or of connection `last` if that is given."""
        starts = [0, *ahead.changes()]
        for start in starts:
            name = ahead.names[ahead.connection[start]]
            if capture_of(name) != self._capture or (last is not None and name != last):
                return start
        return len(ahead)

    def _block(self, pointers: Pointers, before: int) -> PacketBlock:
        used, back = np.unique(pointers.connection, return_inverse=True)
        ends = np.array([ends_of(pointers.names[each], self.flows) for each in used.tolist()], np.uint64)[back]
        packets = pointers.packets
        forward = packets["forward"] == 1
        low, high = ends[:, 0], ends[:, 1]
        flow, direction = self.flows.number(np.where(forward, low, high), np.where(forward, high, low))
        file = pointers.origin >> RECORDS
        self._origins.add(file, pointers.origin & RECORD)
        return PacketBlock(
            number=np.arange(before + 1, before + 1 + len(pointers)),
            time=packets["time"].copy(),
            flow=flow,
            direction=direction,
            seq=packets["seq"].copy(),
            ack=packets["ack"].copy(),
            flags=packets["flags"].copy(),
            at=self._locations(pointers, file),
            length=packets["length"].copy(),
            captured=packets["captured"].copy(),
        )

    def _locations(self, pointers: Pointers, file: Ints) -> Ints:
        used, back = np.unique(file, return_inverse=True)
        sources = np.array([self._source(number) for number in used.tolist()], np.int64)
        at: Ints = sources[back] << SHIFT | pointers.packets["position"]
        for row in np.flatnonzero(pointers.packets["position"] == BEHIND).tolist():
            at[row] = self._append(pointers.behind.get(row, b""))
        return at

    def _source(self, file: int) -> int:
        found = self._sources.get(file)
        if found is None:
            found = self._sources[file] = self.store.add(_LIBRARY.source(self._files[file].path))
        return found

    def _append(self, data: bytes) -> int:
        if self._behind is None:
            self._behind = Spool()
            self._sources[BEHIND] = self.store.add(self._behind)
        return self._sources[BEHIND] << SHIFT | self._behind.append(data)

    def close(self) -> None:
        """The captures belong to the library."""
        if self._behind is not None:
            self._behind.close()


def _lengths(column: pa.Array) -> Ints:
    """Of each value of a binary column."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    return np.diff(offsets).astype(np.int64)
