"""Assigns packets to TCP connections.

Theory. A flow is an unordered pair of addresses and ports; a stream is one connection of a flow. A SYN begins a new
stream if its sequence number is new to the current one. So does any packet after an hour of silence. A SYN whose number
is one below the first captured byte belongs to the current stream, because captures reorder packets. Streams are
numbered by their first packet. The sender of the SYN opened the stream. Without a SYN the client is unknown here, and
recognise.py decides by the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from analyzer.capture.packets import PacketBlock
from analyzer.columns.arrays import Array, Ints, argsort_stable, find_runs
from analyzer.columns.tables import ColumnTable

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
SILENCE_NS = 3600 * 10**9
UNKNOWN_SIDE = -1

SPARSE = 1 << 14
"""Minimum size in bytes of a column with its own pages, so that the memory of single streams can be freed."""


class StreamTable(ColumnTable):
    """Holds one row for each stream.

    `client` is the flow's side that opened it; `reuse` counts earlier streams of the flow. `closer` is the side that
    sent the first FIN or RST, UNKNOWN_SIDE while there is none. `sides` has a bit for each side that sent a packet.
    `protocol` is a number of the engine's dissectors, NO_PROTOCOL while it is unknown. Times are in ns.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "flow": np.int32,
        "reuse": np.int32,
        "client": np.int8,
        "protocol": np.int8,
        "first": np.int64,
        "packets": np.int64,
        "begin": np.int64,
        "end": np.int64,
        "closer": np.int8,
        "sides": np.int8,
    }
    PAGED: ClassVar[int] = SPARSE

    def set(self, name: str, row: int, value: int) -> None:
        """Sets the cell of the column `name` in one row of the table."""
        self.column(name)[row] = value


class StreamStart(NamedTuple):
    """Marks a stream that begins in this block, at `position` of the packets sorted by flow."""

    packet: int
    position: int
    flow: int


class FlowMemory(NamedTuple):
    """Holds the state of one flow that its next packets are compared with.

    By side: number of the SYN, number of the first packet, whether the side was seen.
    """

    last: int
    uses: int
    syn: tuple[int, int] = (-1, -1)
    first: tuple[int, int] = (-1, -1)
    seen: tuple[bool, bool] = (False, False)


class StreamAssigner:
    """Assigns a stream to each packet, and keeps the state with which the next SYN of each flow is compared."""

    def __init__(self, streams: StreamTable) -> None:
        self._streams = streams
        self._flows = _FlowStates()
        self.superseded: list[int] = []
        """Streams that another stream of their flow has replaced since the last call of assign()."""

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the state takes."""
        return self._flows.memory_bytes

    def current(self, flow: int) -> int:
        """Returns the number of a flow's current stream."""
        return int(self._flows.current[flow])

    def currents(self, flows: Ints) -> Ints:
        """Returns the current streams (int64, n) of n flows."""
        return self._flows.current[flows].astype(np.int64)

    def close(self, flow: int) -> None:
        """Ends the current stream of a flow: its next packet begins another one."""
        self._flows.current[flow] = -1

    def close_silent(self, before: int, but: Ints) -> None:
        """Ends the streams of all flows without a packet since a time (ns), except the streams in `but`."""
        flows = self._flows
        silent = (flows.last < before) & (flows.current >= 0)
        silent &= ~np.isin(flows.current, but)
        flows.current[silent] = -1

    @property
    def open_streams(self) -> Ints:
        """The current streams of all flows that have one."""
        return self._flows.current[self._flows.current >= 0].astype(np.int64)

    def memory(self, flow: int) -> FlowMemory:
        """Returns the state of a flow."""
        flows = self._flows
        syn, first, seen = (tuple(each[flow].tolist()) for each in (flows.syn, flows.first, flows.seen))
        return FlowMemory(int(flows.last[flow]), int(flows.uses[flow]), syn, first, seen)

    def resume(self, flow: int, memory: FlowMemory, cells: Mapping[str, int] | None) -> int:
        """Continues a flow of which no packet has come here yet; returns the number of its current stream.

        cells: of that stream, by StreamTable.TYPES; None if it has ended, so that the next packet begins another.
        """
        flows = self._flows
        flows.grow(flow + 1)
        flows.last[flow], flows.uses[flow] = memory.last, memory.uses
        flows.syn[flow], flows.first[flow], flows.seen[flow] = memory.syn, memory.first, memory.seen
        if cells is not None:
            flows.current[flow] = self._streams.append(1, {**cells, "flow": flow})
        return self.current(flow)

    def assign(self, block: PacketBlock) -> tuple[Array, Ints]:
        """Assigns the n packets of a block to streams.

        Returns `stream` (int32, n) and the positions (int64, n) that sort the packets by stream and time.
        """
        self.superseded = []
        by_flow = argsort_stable(block.flow)
        flow = block.flow[by_flow]
        begin, end = find_runs(flow)
        self._flows.grow(int(flow[-1]) + 1 if len(flow) else 0)
        splits = self._splits(block, by_flow, begin, end)
        stream_of_run = self._flows.current[flow[begin]].astype(np.int64) if len(begin) else np.empty(0, np.int64)
        stream: Ints = np.repeat(stream_of_run, end - begin)
        self._create(block, by_flow, splits, stream, end)
        self._flows.remember(block, by_flow, begin, end, flow, stream)
        back = np.empty(len(stream), np.int32)
        back[by_flow] = stream
        self._count(block, by_flow, stream)
        return back, by_flow[np.argsort(stream, kind="stable")]

    def _splits(self, block: PacketBlock, by_flow: Ints, begin: Ints, end: Ints) -> list[StreamStart]:
        """Returns the starts of streams: at the first packet of a new flow, at SYNs, after silences."""
        time, flags = block.time[by_flow], block.flags[by_flow]
        silent = np.zeros(len(time), bool)
        silent[1:] = time[1:] - time[:-1] > SILENCE_NS
        flows = block.flow[by_flow[begin]] if len(begin) else np.empty(0, np.int64)
        known = self._flows.current[flows] >= 0
        silent[begin] = known & (time[begin] - self._flows.last[flows] > SILENCE_NS) if len(begin) else False
        special = np.flatnonzero(silent | (flags & SYN != 0))
        marked = ~known
        marked[np.searchsorted(end, special, "right")] = True
        splits: list[StreamStart] = []
        for run in np.flatnonzero(marked).tolist():
            first, last = int(begin[run]), int(end[run])
            places = special[np.searchsorted(special, first) : np.searchsorted(special, last)]
            splits += self._walk(block, by_flow, int(flows[run]), first, places.tolist(), silent)
        return splits

    def _walk(
        self, block: PacketBlock, by_flow: Ints, flow: int, first: int, places: list[int], silent: Array
    ) -> list[StreamStart]:
        memory = self._flows
        begun, fresh = first, -1
        splits: list[StreamStart] = []

        def split(position: int) -> None:
            nonlocal begun, fresh
            begun = fresh = position
            memory.syn[flow] = memory.first[flow] = -1
            memory.seen[flow] = False
            splits.append(StreamStart(int(block.number[by_flow[position]]), position, flow))

        if memory.current[flow] < 0:
            split(first)
        for position in places:
            packet = by_flow[position]
            side, seq = int(block.direction[packet]), int(block.seq[packet])
            begins = bool(silent[position])
            if block.flags[packet] & SYN and memory.syn[flow, side] != seq:
                before = by_flow[begun:position]
                before = before[block.direction[before] == side]
                seen = bool(memory.seen[flow, side]) or len(before) > 0
                first = int(memory.first[flow, side])
                if first < 0 and len(before):
                    first = int(block.seq[before[0]])
                behind = memory.syn[flow, side] < 0 and first == seq + 1 & 0xFFFFFFFF
                begins |= seen and not behind
            if begins and fresh != position:
                split(position)
            if block.flags[packet] & SYN:
                memory.syn[flow, side] = seq
        return splits

    def _create(self, block: PacketBlock, by_flow: Ints, splits: list[StreamStart], stream: Ints, end: Ints) -> None:
        """Numbers new streams by first packet and writes the numbers into `stream` (sorted by flow)."""
        splits.sort()
        positions = np.array([split.position for split in splits], np.int64)
        ordered = np.append(np.sort(positions), len(stream))
        following = ordered[np.searchsorted(ordered, positions, "right")] if len(splits) else positions
        ends = np.minimum(end[np.searchsorted(end, positions, "right")], following).tolist()
        rows = []
        for number, (split, stop) in enumerate(zip(splits, ends, strict=True), len(self._streams)):
            stream[split.position : stop] = number
            rows.append(self._row(block, int(by_flow[split.position]), split.flow))
            self.superseded.append(int(self._flows.current[split.flow]))
            self._flows.current[split.flow] = number
        if rows:
            columns = np.array(rows, np.int64).T
            self._streams.append(len(rows), dict(zip(StreamTable.TYPES, columns, strict=True)))

    def _row(self, block: PacketBlock, packet: int, flow: int) -> tuple[int, ...]:
        """Returns the cells of a new stream, in the order of StreamTable.TYPES."""
        flags, side = int(block.flags[packet]), int(block.direction[packet])
        client = UNKNOWN_SIDE
        if flags & SYN:
            client = 1 - side if flags & ACK else side
        self._flows.uses[flow] += 1
        time = int(block.time[packet])
        reuse, number = int(self._flows.uses[flow]) - 1, int(block.number[packet])
        return flow, reuse, client, -1, number, 0, time, time, UNKNOWN_SIDE, 0

    def _count(self, block: PacketBlock, by_flow: Ints, stream: Ints) -> None:
        packets, end = self._streams.column("packets"), self._streams.column("end")
        np.add.at(packets, stream, 1)
        np.maximum.at(end, stream, block.time[by_flow])
        sides, direction = self._streams.column("sides"), block.direction[by_flow]
        for side in (0, 1):
            sides[stream[direction == side]] |= 1 << side
        closer = self._streams.column("closer")
        closing = np.flatnonzero(block.flags[by_flow] & (FIN | RST) != 0)[::-1]  # the first one is kept
        closing = closing[closer[stream[closing]] == UNKNOWN_SIDE]
        closer[stream[closing]] = block.direction[by_flow[closing]]


class _FlowStates:
    """Holds the current stream, SYN numbers, sides seen, last packet time and number of uses of each flow.

    `first`: sequence number of a side's first packet in the current stream, if its SYN was not seen.
    """

    def __init__(self) -> None:
        self.current = np.empty(0, np.int32)
        self.last = np.empty(0, np.int64)
        self.uses = np.empty(0, np.int32)
        self.syn = np.empty((0, 2), np.int64)
        self.first = np.empty((0, 2), np.int64)
        self.seen = np.empty((0, 2), bool)

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that all columns take."""
        return sum(each.nbytes for each in (self.current, self.last, self.uses, self.syn, self.first, self.seen))

    def grow(self, flows: int) -> None:
        known = len(self.current)
        if flows <= known:
            return
        more = max(flows, known * 5 // 4) - known
        self.current = np.concatenate((self.current, np.full(more, -1, np.int32)))
        self.last = np.concatenate((self.last, np.zeros(more, np.int64)))
        self.uses = np.concatenate((self.uses, np.zeros(more, np.int32)))
        self.syn = np.concatenate((self.syn, np.full((more, 2), -1, np.int64)))
        self.first = np.concatenate((self.first, np.full((more, 2), -1, np.int64)))
        self.seen = np.concatenate((self.seen, np.zeros((more, 2), bool)))

    def remember(self, block: PacketBlock, by_flow: Ints, begin: Ints, end: Ints, flow: Array, stream: Ints) -> None:
        """Stores the state at the end of a block; only the last stream of each flow matters from now on."""
        if not len(begin):
            return
        self.last[flow[begin]] = block.time[by_flow[end - 1]]
        current = np.flatnonzero(stream == self.current[flow])
        direction = flow[current] * 2 + block.direction[by_flow[current]]
        self.seen.reshape(-1)[direction] = True
        unknown = (self.syn.reshape(-1)[direction] < 0) & (self.first.reshape(-1)[direction] < 0)
        late = np.flatnonzero(unknown)[::-1]  # the first one is kept
        self.first.reshape(-1)[direction[late]] = block.seq[by_flow[current[late]]]
