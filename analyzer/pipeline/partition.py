"""A partition's sorted pointers to rows: the second stage of a run.

Theory. Pointers come sorted by connection and then by time, so once the next connection begins all of the last one is
there. They are read in parts: connections of one capture, as many as make a part worth its while. A part is one
Analysis from its first block to its end. Connections end with it, as with a capture that ends there, unless they go on
(carrier.py): in the next batch of a ring capture, or, if one alone is more than a part should hold, in the next part.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from analyzer.capture.packets import FlowTable, PacketBlock
from analyzer.capture.sources import Spool
from analyzer.capture.store import SHIFT, Store
from analyzer.columns.arrays import Ints
from analyzer.errors import UserError
from analyzer.messages.decode_as import make_rules, merge_rules
from analyzer.pipeline.arriving import Queue
from analyzer.pipeline.batches import NOTES, Found, tables
from analyzer.pipeline.bodies import Learned
from analyzer.pipeline.carrier import Carrier, Desk, desk_of
from analyzer.pipeline.library import Gone, Library
from analyzer.pipeline.merging import Pointers
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import Grown, Kept
from analyzer.pipeline.pointers import BEHIND, RECORD, RECORDS, capture_of, ends_of
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.states import STATE, Carry
from analyzer.pipeline.tables import TABLES
from analyzer.pipeline.worker import settle
from analyzer.session import Analysis
from dissectors.finding import Finding

ENOUGH, MOST = 1 << 17, 1 << 18
"""Packets of a part, and at most where its last connection has more."""

_LIBRARY = Library()

_learned = lru_cache(maxsize=1)(Learned)
"""What bodies have taught this process, for one kind of run."""


def rows(
    batches: Iterable[pa.RecordBatch],
    files: Sequence[CaptureFile],
    options: Options,
    carry: Carry | None = None,
    named: Collection[str] = TABLES,
) -> Iterator[Found]:
    """The rows of the named tables of a partition, in batches, and the notes in it.

    carry: this is one of several batches; then also the state that is left for the next one (states.STATE).
    """
    settle()
    queue = Queue(batches)
    known, _ = make_rules(merge_rules(options.decode_as))
    try:
        with desk_of(carry, known.dissectors) as desk:
            for found in _parts(queue, files, options, desk, named):
                if found.table != STATE or carry is not None:
                    yield found
    except Gone as error:
        queue.notes.append(json.dumps({"error": str(error), "gone": error.path}).encode())
    except UserError as error:
        queue.notes.append(json.dumps({"error": str(error)}).encode())
    if queue.notes:
        yield Found(NOTES, pa.record_batch([queue.notes], ["note"]))


def _parts(
    queue: Queue, files: Sequence[CaptureFile], options: Options, desk: Desk, named: Collection[str]
) -> Iterator[Found]:
    """Part by part."""
    known, orders = make_rules(merge_rules(options.decode_as))
    names, folders = [file.name for file in files], {file.capture: file.capture_name for file in files}
    while (capture := queue.capture()) is not None:
        today = {file.name: number for number, file in enumerate(files) if file.capture == capture}
        origins = Grown(folders[capture] if capture in folders else queue.idle[0][1].capture, names, today)
        part = CarriedPart(queue, capture, files, origins)
        with Analysis(part, known, orders=orders) as session:
            part.carrier = carrier = Carrier(desk, session, part, origins)
            session.load(carrier.ended)
            yield from tables(session, origins, options, carrier.chosen(), named, _learned)
            yield Found(STATE, carrier.states(queue.put_back))
        # An analysis holds itself (its engine's walker, its part's carrier), and is too large to wait for a full round.
        del part, carrier, session
        gc.collect()
        _LIBRARY.trim()


class Part:
    """Connections of one capture: the Blocks of one Analysis, of which nothing leaves before its end."""

    removed_before = 1

    def __init__(self, queue: Queue, capture: int, files: Sequence[CaptureFile], origins: Kept) -> None:
        self.store, self.flows, self.findings = Store(), FlowTable(), list[Finding]()
        self._queue, self._capture, self._files, self._origins = queue, capture, files, origins
        self._count = 0
        self._sources: dict[int, int] = {}
        self._behind: Spool | None = None

    def blocks(self) -> Iterator[PacketBlock]:
        """See Blocks.blocks."""
        last = b""
        while (ahead := self._queue.ahead()) is not None:
            full = self._count >= ENOUGH
            count = self._mine(ahead, last if full else None)
            if not count:
                return
            if full and self._count >= MOST and self._cut(last):
                return
            pointers = self._queue.take(count)
            yield self._block(pointers)
            last = pointers.names[pointers.connection[-1]]

    def _cut(self, connection: bytes) -> bool:
        """Whether the part ends in the middle of its last connection, which is too large for it."""
        return False

    def _mine(self, ahead: Pointers, last: bytes | None) -> int:
        """How many of those ahead belong here: those of this capture, or of connection `last` if that is given."""
        starts = [0, *ahead.changes()]
        for start in starts:
            name = ahead.names[ahead.connection[start]]
            if capture_of(name) != self._capture or (last is not None and name != last):
                return start
        return len(ahead)

    def _block(self, pointers: Pointers) -> PacketBlock:
        # They are sorted by connection, so those of a block are neighbours in `names`.
        used = range(int(pointers.connection[0]), int(pointers.connection[-1]) + 1)
        ends = np.array([ends_of(pointers.names[each], self.flows) for each in used], np.uint64)
        ends = ends[pointers.connection - used.start]
        packets = pointers.packets
        forward = packets["forward"] == 1
        low, high = ends[:, 0], ends[:, 1]
        flow, direction = self.flows.number_flows(np.where(forward, low, high), np.where(forward, high, low))
        file = pointers.origin >> RECORDS
        self._origins.add(file, pointers.origin & RECORD)
        before, self._count = self._count, self._count + len(pointers)
        return PacketBlock(
            number=np.arange(before + 1, self._count + 1),
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
        at: Ints = pointers.packets["position"].copy()
        behind = at == BEHIND
        used, back = np.unique(file[~behind], return_inverse=True)
        sources = np.array([self._source(number) for number in used.tolist()], np.int64)
        at[~behind] |= sources[back] << SHIFT
        if bool(behind.any()):
            # With what lies between the payloads, in one piece: that is the records of their packets.
            first, last = pointers.span()
            at[behind] = pointers.begin[behind] - first + self._append(pointers.data[first:last])
        return at

    def _source(self, file: int) -> int:
        found = self._sources.get(file)
        if found is None:
            found = self._sources[file] = self.store.add(_LIBRARY.source(self._files[file].path))
        return found

    def _append(self, data: memoryview) -> int:
        if self._behind is None:
            self._behind = Spool()
            self._sources[BEHIND] = self.store.add(self._behind)
        return self._sources[BEHIND] << SHIFT | self._behind.append(data)

    def release(self, packet: int) -> None:
        """See Blocks."""

    def close(self) -> None:
        """The captures belong to the library."""
        if self._behind is not None:
            self._behind.close()


class CarriedPart(Part):
    """The same with what earlier parts have left of them. `carrier` is to be set before blocks() is read."""

    carrier: Carrier

    def __init__(self, queue: Queue, capture: int, files: Sequence[CaptureFile], origins: Grown) -> None:
        super().__init__(queue, capture, files, origins)
        self._known = origins

    def blocks(self) -> Iterator[PacketBlock]:
        """See Blocks.blocks. First come connections of which there is no packet."""
        idle = self._queue.idle
        while idle and capture_of(idle[0][0]) == self._capture and self._count < ENOUGH:
            self.carrier.idle(*idle.popleft())
        yield from super().blocks()

    def _cut(self, connection: bytes) -> bool:
        if self.carrier.may_cut(connection):
            self.carrier.cut = connection
        return self.carrier.cut is not None

    def _block(self, pointers: Pointers) -> PacketBlock:
        starts = [0, *pointers.changes()]
        names = [pointers.names[each] for each in pointers.connection[starts].tolist()]
        for name in names:
            if (left := self._queue.state(name)) is not None:
                self.carrier.resume(name, left)
        block = super()._block(pointers)
        self.carrier.names.update(zip(block.flow[starts].tolist(), names, strict=True))
        return block

    def flow_of(self, connection: bytes, lower: bool) -> int:
        """See suspending.Depot."""
        ends = np.array(ends_of(connection, self.flows), np.uint64)
        source, destination = ends if lower else ends[::-1]
        flow, _ = self.flows.number_flows(np.array([source]), np.array([destination]))
        return int(flow[0])

    def is_lower(self, flow: int) -> bool:
        """Whether a flow's side a is the lower end."""
        first, second = ((self.flows.address(flow, side), self.flows.port(flow, side)) for side in (0, 1))
        return first <= second

    def number(self, names: Sequence[str], file: Ints, record: Ints, *, today: bool) -> int:
        """See suspending.Depot."""
        numbers = np.array([self._known.called(name, today=today) for name in names], np.int64)
        self._origins.add(numbers[file], record)
        before, self._count = self._count, self._count + len(file)
        return before

    def keep(self, data: bytes) -> int:
        """See suspending.Depot."""
        return self._append(memoryview(data))
