"""What Spark carries of a packet: which connection, which place in time, and where its payload lies.

Theory. Four columns are all that Spark has to know: it groups by `connection` and sorts by `place` and `origin`;
`packet` is a record of fixed width that only the two ends look into. So the Java side copies four values a packet
instead of fifteen. Payload that lies in no file (reassembled IP fragments), or in one that the other end may not be
able to open, follows its record. A row without a connection is no packet but a note (JSON) about a file; notes take
the same road, so that they come exactly once.

`connection` begins with capture and ports, because sorting compares the first eight bytes cheaply.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.capture.packets import FlowTable, PacketBlock
from analyzer.capture.rows import gather_rows
from analyzer.capture.store import POSITION, SHIFT, Store
from analyzer.columns import Ints
from analyzer.pipeline.payloads import cut_out

COLUMNS = "connection BINARY, place BIGINT, origin BIGINT, packet BINARY"
"""`place`: the highest packet time of the file so far, ns. `origin`: file << RECORDS | record number from 1."""

RECORDS = 40
RECORD = (1 << RECORDS) - 1
BATCH = 1 << 16
"""Packets in one Arrow batch."""

HEAVY = 8 << 20
"""Bytes of payload in one Arrow batch, unless one packet has more; the offsets of a batch end at 2 GiB."""

PACKET = np.dtype(
    [
        ("time", "<i8"),
        ("position", "<i8"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("length", "<i4"),
        ("captured", "<i4"),
        ("flags", "u1"),
        ("forward", "u1"),
    ]
)
"""`position`: of the payload in its file (unpacked), BEHIND if it follows. `forward`: the lower end sent it."""

BEHIND = -1
SCHEMA = pa.schema(
    [("connection", pa.binary()), ("place", pa.int64()), ("origin", pa.int64()), ("packet", pa.binary())]
)
_HEAD = struct.Struct(">IHH")
_IPV4 = _HEAD.size + 8


class Connections:
    """The `connection` of each flow of one file."""

    def __init__(self, capture: int, flows: FlowTable) -> None:
        self._capture, self._flows = capture, flows
        self._names: list[bytes] = []
        self._lower: list[int] = []

    def of(self, flow: npt.NDArray[np.int32]) -> tuple[pa.Array, npt.NDArray[np.int64]]:
        """For n packets' flows: their connection, and which side of the flow is its lower end."""
        for number in range(len(self._names), len(self._flows)):
            ends = [(self._flows.address(number, side), self._flows.port(number, side)) for side in (0, 1)]
            (low, low_port), (high, high_port) = sorted(ends)
            self._names.append(_HEAD.pack(self._capture, low_port, high_port) + low + high)
            self._lower.append(int(ends[0] > ends[1]))
        used, back = np.unique(flow, return_inverse=True)
        names = pa.array([self._names[number] for number in used.tolist()], pa.binary())
        return names.take(pa.array(back)), np.array(self._lower, np.int64)[flow]


def packed(
    block: PacketBlock, place: Ints, file: int, connections: Connections, store: Store, *, shuffled: bool = False
) -> Iterator[pa.RecordBatch]:
    """The pointers of a block of one file, which is source 0 of its store; `place` for each of its packets.

    shuffled: all payload follows.
    """
    for rows in _portions(block, shuffled=shuffled):
        names, lower = connections.of(block.flow[rows])
        packets = np.empty(len(names), PACKET)
        for name in ("time", "seq", "ack", "length", "captured", "flags"):
            packets[name] = getattr(block, name)[rows]
        at = block.at[rows]
        packets["position"] = BEHIND if shuffled else np.where(at >> SHIFT == 0, at & POSITION, BEHIND)
        packets["forward"] = block.direction[rows] == lower
        origin = file << RECORDS | block.number[rows]
        yield pa.record_batch([names, place[rows], origin, _records(packets, at, store)], schema=SCHEMA)


def _portions(block: PacketBlock, *, shuffled: bool) -> Iterator[slice]:
    """Rows for one Arrow batch each."""
    carried = np.cumsum(block.captured, dtype=np.int64) if shuffled else np.zeros(len(block), np.int64)
    first = before = 0
    while first < len(block):
        last = min(first + BATCH, max(int(np.searchsorted(carried, before + HEAVY, "right")), first + 1))
        yield slice(first, last)
        first, before = last, int(carried[last - 1])


def _records(packets: npt.NDArray[Any], at: Ints, store: Store) -> pa.Array:
    """The column `packet`."""
    offsets = np.arange(len(packets) + 1, dtype=np.int32) * PACKET.itemsize
    records = pa.Array.from_buffers(
        pa.binary(), len(packets), [None, pa.py_buffer(offsets), pa.py_buffer(packets.tobytes())]
    )
    behind = np.flatnonzero(packets["position"] == BEHIND)
    if not len(behind):
        return records
    payloads = cut_out(at[behind], packets["captured"][behind].astype(np.int64), store)
    if len(behind) < len(packets):
        rows = np.zeros(len(packets), np.int64)
        rows[behind] = np.arange(1, len(behind) + 1)
        payloads = pa.concat_arrays([pa.array([b""], pa.binary()), payloads]).take(pa.array(rows))
    return pc.binary_join_element_wise(records, payloads, b"")


def note(file: int, what: dict[str, Any]) -> pa.RecordBatch:
    """Something to be told of a file."""
    return pa.record_batch([[b""], [0], [file << RECORDS], [json.dumps(what).encode()]], schema=SCHEMA)


@dataclass(slots=True)
class Pointers:
    """Pointers of n packets, unpacked: `connection` counts in `names`.

    `data` has the payloads that follow: in `begin` where each would start, in `behind` how many bytes it has (n).
    """

    names: list[bytes]
    connection: npt.NDArray[np.int32]
    origin: Ints
    packets: npt.NDArray[Any]
    data: memoryview
    begin: Ints
    behind: Ints

    def __len__(self) -> int:
        return len(self.origin)

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Self:
        """What packed() put into a batch; no notes among them."""
        names = batch.column(0).dictionary_encode()
        column = batch.column(3)
        offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1].astype(np.int64)
        data = memoryview(column.buffers()[2])
        packets = gather_rows(data, offsets[:-1], PACKET.itemsize).view(PACKET)[:, 0]
        begin = offsets[:-1] + PACKET.itemsize
        numbers, origin = names.indices.to_numpy(), batch.column(2).to_numpy()
        return cls(names.dictionary.to_pylist(), numbers, origin, packets, data, begin, offsets[1:] - begin)

    def take(self, first: int, last: int) -> Self:
        """The rows from `first` to before `last`."""
        rows = slice(first, last)
        connection, origin, packets = self.connection[rows], self.origin[rows], self.packets[rows]
        return type(self)(self.names, connection, origin, packets, self.data, self.begin[rows], self.behind[rows])

    def changes(self) -> list[int]:
        """Rows at which another connection begins than the row before has."""
        found: list[int] = (np.flatnonzero(np.diff(self.connection)) + 1).tolist()
        return found


def capture_of(connection: bytes) -> int:
    """The number of its capture."""
    return int.from_bytes(connection[:4])


def ends_of(connection: bytes, flows: FlowTable) -> tuple[int, int]:
    """A connection's lower and higher end, as `flows` numbers endpoints."""
    _, *ports = _HEAD.unpack_from(connection)
    addresses = np.frombuffer(connection, np.uint8, offset=_HEAD.size).reshape(2, -1)
    codes = flows.ipv4(addresses) if len(connection) == _IPV4 else flows.ipv6(addresses)
    low, high = (code << 16 | port for code, port in zip(codes.tolist(), ports, strict=True))
    return low, high
