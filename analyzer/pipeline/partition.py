"""A partition's sorted pointers to rows: the second stage of a run.

Theory. Pointers come sorted by connection and then by time, so once the next connection begins all of the last one is
there. They are read in parts: connections of one capture, as many as make a part worth its while. A part is one
Analysis from its first block to its end. Connections end with it, as with a capture that ends there, unless they go on
(carry_over.py): in the next batch of a ring capture, or, if one alone is more than a part should hold, in the next
part.
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
from analyzer.capture.tcp_segments import UNKNOWN_WINDOW
from analyzer.columns.arrays import Ints
from analyzer.errors import UserError
from analyzer.messages.decode_as import make_rules, merge_rules
from analyzer.pipeline.carry_over import ConnectionCarrier
from analyzer.pipeline.ingest import PacketPointers, PointerQueue
from analyzer.pipeline.open_captures import LIBRARY, MissingFileError
from analyzer.pipeline.pointers import BEHIND, RECORD_BITS, RECORD_MASK, encode_ends, read_capture
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.state_file import STATE, BatchContext, StateCodec
from analyzer.pipeline.tls_secrets import find_secrets
from analyzer.pipeline.worker_setup import set_up_process
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import NOTES, TableBatch
from analyzer.tables.bodies import DecoderMemory
from analyzer.tables.options import Options
from analyzer.tables.origins import PacketOrigins, RowFilter
from analyzer.tables.table_builder import build_tables
from analyzer.tables.table_schemas import TABLES
from dissectors.finding import Finding

ENOUGH, MOST = 1 << 17, 1 << 18
"""Packets of a part, and at most where its last connection has more."""

_share_memory = lru_cache(maxsize=1)(DecoderMemory)
"""What bodies have taught this process, for one kind of run."""


def build_rows(
    batches: Iterable[pa.RecordBatch],
    files: Sequence[CaptureFile],
    options: Options,
    carry: BatchContext | None = None,
    named: Collection[str] = TABLES,
    wanted: RowFilter | None = None,
) -> Iterator[TableBatch]:
    """Yields the rows of the named tables of a partition, in batches, and the notes in it.

    carry: this is one of several batches; then also the state that is left for the next one (state_file.STATE).
    wanted: the messages and exchanges that are enough; None: all.
    """
    set_up_process()
    queue = PointerQueue(batches)
    try:
        for found in _split_partition(queue, files, options, carry or BatchContext("", close=True), named, wanted):
            if found.table != STATE or carry is not None:
                yield found
    except MissingFileError as error:
        queue.notes.append(json.dumps({"error": str(error), "gone": error.path}).encode())
    except UserError as error:
        queue.notes.append(json.dumps({"error": str(error)}).encode())
    if queue.notes:
        yield TableBatch(NOTES, pa.record_batch([queue.notes], ["note"]))


def _split_partition(
    queue: PointerQueue,
    files: Sequence[CaptureFile],
    options: Options,
    carry: BatchContext,
    named: Collection[str],
    wanted: RowFilter | None,
) -> Iterator[TableBatch]:
    """Part by part."""
    known, orders = make_rules(merge_rules(options.decode_as))
    codec = StateCodec(known.dissectors)
    names, folders = [file.name for file in files], {file.capture: file.capture_name for file in files}
    while (capture := queue.peek_capture()) is not None:
        today = {file.name: number for number, file in enumerate(files) if file.capture == capture}
        origins = PacketOrigins(folders[capture] if capture in folders else queue.idle[0][1].capture, names, today)
        part = PartitionPart(queue, capture, files, origins)
        secrets = find_secrets(options, files, [each for each in queue.secrets if files[each.file].capture == capture])
        with Analysis(part, known, orders=orders, secrets=secrets) as session:
            part.carrier = carrier = ConnectionCarrier(carry, codec, session, part, origins)
            session.load(carrier.list_ended_streams)
            final = carrier.select_final_rows()
            chosen = final if wanted is None else wanted.narrow(session, final)
            yield from build_tables(session, origins, options, chosen, named, _share_memory)
            yield TableBatch(STATE, carrier.save_states(queue.restore_state))
        # An analysis holds itself (its engine's walker, its part's carrier), and is too large to wait for a full round.
        del part, carrier, session
        gc.collect()
        LIBRARY.trim()


class PartitionPart:
    """Connections of one capture, some of which continue earlier parts: the blocks of one Analysis, of which nothing
    leaves before its end. Set `carrier` before blocks() is read.
    """

    carrier: ConnectionCarrier
    removed_before = 1

    def __init__(self, queue: PointerQueue, capture: int, files: Sequence[CaptureFile], origins: PacketOrigins) -> None:
        self.store, self.flows, self.findings = Store(), FlowTable(), list[Finding]()
        self._queue, self._capture, self._files, self._origins = queue, capture, files, origins
        self._count = 0
        self._sources: dict[int, int] = {}
        self._behind: Spool | None = None

    def blocks(self) -> Iterator[PacketBlock]:
        """Passes connections without packets to the next batch, then yields the blocks of the others.

        It ends when the queue is empty or the part is large enough.
        """
        idle, last = self._queue.idle, b""
        while idle and read_capture(idle[0][0]) == self._capture and self._count < ENOUGH:
            self.carrier.handle_idle(*idle.popleft())
        while (ahead := self._queue.peek()) is not None:
            full = self._count >= ENOUGH
            count = self._count_own(ahead, last if full else None)
            if not count:
                return
            if full and self._count >= MOST and self._is_cut(last):
                return
            pointers = self._queue.take_packets(count)
            yield self._build_block(pointers)
            last = pointers.names[pointers.connection[-1]]

    def _is_cut(self, connection: bytes) -> bool:
        """Whether the part ends in the middle of its last connection, which is too large for it."""
        if self.carrier.may_cut(connection):
            self.carrier.cut = connection
        return self.carrier.cut is not None

    def _count_own(self, ahead: PacketPointers, last: bytes | None) -> int:
        """How many of those ahead belong here: those of this capture, or of connection `last` if that is given."""
        starts = [0, *ahead.find_changes()]
        for start in starts:
            name = ahead.names[ahead.connection[start]]
            if read_capture(name) != self._capture or (last is not None and name != last):
                return start
        return len(ahead)

    def _build_block(self, pointers: PacketPointers) -> PacketBlock:
        starts = [0, *pointers.find_changes()]
        names = [pointers.names[each] for each in pointers.connection[starts].tolist()]
        for name in names:
            if (left := self._queue.pop_state(name)) is not None:
                self.carrier.resume(name, left)
        # They are sorted by connection, so those of a block are neighbours in `names`.
        used = range(int(pointers.connection[0]), int(pointers.connection[-1]) + 1)
        ends = np.array([encode_ends(pointers.names[each], self.flows) for each in used], np.uint64)
        ends = ends[pointers.connection - used.start]
        packets = pointers.packets
        forward = packets["forward"] == 1
        low, high = ends[:, 0], ends[:, 1]
        flow, direction = self.flows.number_flows(np.where(forward, low, high), np.where(forward, high, low))
        file = pointers.origin >> RECORD_BITS
        self._origins.add(file, pointers.origin & RECORD_MASK)
        before, self._count = self._count, self._count + len(pointers)
        self.carrier.names.update(zip(flow[starts].tolist(), names, strict=True))
        return PacketBlock(
            number=np.arange(before + 1, self._count + 1),
            time=packets["time"].copy(),
            flow=flow,
            direction=direction,
            seq=packets["seq"].copy(),
            ack=packets["ack"].copy(),
            flags=packets["flags"].copy(),
            at=self._locate_payloads(pointers, file),
            length=packets["length"].copy(),
            captured=packets["captured"].copy(),
            window=np.full(len(pointers), UNKNOWN_WINDOW, np.uint16),
        )

    def _locate_payloads(self, pointers: PacketPointers, file: Ints) -> Ints:
        at: Ints = pointers.packets["position"].copy()
        behind = at == BEHIND
        used, back = np.unique(file[~behind], return_inverse=True)
        sources = np.array([self._add_source(number) for number in used.tolist()], np.int64)
        at[~behind] |= sources[back] << SHIFT
        if bool(behind.any()):
            # With what lies between the payloads, in one piece: that is the records of their packets.
            first, last = pointers.find_payload_span()
            at[behind] = pointers.begin[behind] - first + self._append(pointers.data[first:last])
        return at

    def _add_source(self, file: int) -> int:
        found = self._sources.get(file)
        if found is None:
            found = self._sources[file] = self.store.add(LIBRARY.open_source(self._files[file].path))
        return found

    def _append(self, data: memoryview) -> int:
        if self._behind is None:
            self._behind = Spool()
            self._sources[BEHIND] = self.store.add(self._behind)
        return self._sources[BEHIND] << SHIFT | self._behind.append(data)

    def release(self, packet: int) -> None:
        """Does nothing: a part keeps all of its packets until it is closed."""

    def close(self) -> None:
        """Does nothing: the library closes the captures."""
        if self._behind is not None:
            self._behind.close()

    def find_flow(self, connection: bytes, lower: bool) -> int:
        """Finds the flow number of a connection by its encoded ends. lower: whether its side a is the lower end."""
        ends = np.array(encode_ends(connection, self.flows), np.uint64)
        source, destination = ends if lower else ends[::-1]
        flow, _ = self.flows.number_flows(np.array([source]), np.array([destination]))
        return int(flow[0])

    def is_lower(self, flow: int) -> bool:
        """Returns whether a flow's side a is the lower end."""
        first, second = ((self.flows.address(flow, side), self.flows.port(flow, side)) for side in (0, 1))
        return first <= second

    def number_packets(self, names: Sequence[str], file: Ints, record: Ints, *, today: bool) -> int:
        """Numbers n packets of an earlier part in this timeline, and returns the number before the first."""
        numbers = np.array([self._origins.number_file(name, today=today) for name in names], np.int64)
        self._origins.add(numbers[file], record)
        before, self._count = self._count, self._count + len(file)
        return before

    def store_bytes(self, data: bytes) -> int:
        """Keeps bytes that an earlier part has left, and returns their location."""
        return self._append(memoryview(data))
