"""What Spark carries of packets: which connection, which place in time, and where their payload lies.

Theory. Spark groups by `connection` and sorts by `place` and `origin`. A row is a bundle: `packet` has the records of
the packets of one connection out of one piece of a file, in the order of the file. `place` and `origin` are those of
its first packet, and no other packet of the bundle comes before that. So bundles of one file follow one another, and
those of several files are merged where they arrive (ingest.py). `payload` has the bytes that lie in no file
(reassembled IP fragments), or in one that the other end may not be able to open. A row without a connection is a note
(JSON) about a file. Notes travel with the bundles, so that they come exactly once. Where key logs lie in captures is
told in notes of their own, and all who make rows need to know. Their connection is a number in place of an address, and
they come before all bundles.

`connection` begins with capture and ports, because sorting compares the first eight bytes cheaply.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyzer.capture.packets import FlowTable, PacketBlock
from analyzer.capture.store import POSITION, SHIFT, Store
from analyzer.columns.arrays import Bools, Ints, argsort_stable, find_runs, rank_in_runs

POINTER_COLUMNS = "connection BINARY, place BIGINT, origin BIGINT, packet BINARY, payload BINARY"
"""`place`: the highest packet time of the file so far, ns. `origin`: file << RECORDS | record number from 1."""

RECORD_BITS = 40
RECORD_MASK = (1 << RECORD_BITS) - 1
BATCH = 1 << 16
"""Packets in one Arrow batch."""

BUNDLE_PACKETS = 1 << 12
"""Packets in one bundle: who merges bundles has one of each file that has packets at that time."""

HEAVY = 8 << 20
"""Bytes of payload in one Arrow batch, unless one packet has more; the offsets of a batch end at 2 GiB."""

PACKET = np.dtype(
    [
        ("time", "<i8"),
        ("late", "<i8"),
        ("position", "<i8"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("length", "<i4"),
        ("captured", "<i4"),
        ("after", "<u4"),
        ("flags", "u1"),
        ("forward", "u1"),
    ]
)
"""`late`: by how much its place exceeds its time, ns. `position`: of the payload in its file (unpacked), BEHIND if it
is in the column `payload`. `after`: its record number less that of the bundle's first packet. `forward`: the lower end
sent it."""

BEHIND = -1
POINTER_SCHEMA = pa.schema(
    [
        *(("connection", pa.binary()), ("place", pa.int64()), ("origin", pa.int64())),
        *(("packet", pa.binary()), ("payload", pa.binary())),
    ]
)
_HEAD = struct.Struct(">IHH")
_IPV4 = _HEAD.size + 8
"""Bytes of the shortest connection."""

SECRETS_KEY = struct.Struct(">II")
"""The connection of a row that says where key logs are: 0 in place of a capture, and any number."""


class ConnectionKeys:
    """The `connection` of each flow of one file."""

    def __init__(self, capture: int, flows: FlowTable) -> None:
        self._capture, self._flows = capture, flows
        self._names: list[bytes] = []
        self._lower: list[int] = []

    def list_keys(self, flow: npt.NDArray[np.int32]) -> pa.Array:
        """Returns the connection of each flow."""
        for number in range(len(self._names), len(self._flows)):
            ends = [(self._flows.address(number, side), self._flows.port(number, side)) for side in (0, 1)]
            (low, low_port), (high, high_port) = sorted(ends)
            self._names.append(_HEAD.pack(self._capture, low_port, high_port) + low + high)
            self._lower.append(int(ends[0] > ends[1]))
        return pa.array([self._names[number] for number in flow.tolist()], pa.binary())

    def list_lower_sides(self, flow: npt.NDArray[np.int32]) -> Ints:
        """Returns which side of each flow is its connection's lower end; of() has seen the flow."""
        return np.array(self._lower, np.int64)[flow]


def pack_block(
    block: PacketBlock, place: Ints, file: int, connections: ConnectionKeys, store: Store, *, shuffled: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yields the bundles of a block of one file, which is source 0 of its store; `place` for each of its packets.

    shuffled: all payload goes along.
    """
    for rows in _split_block(block, shuffled=shuffled):
        order = argsort_stable(block.flow[rows]) + rows.start
        flow = block.flow[order]
        begin, end = find_runs(flow)
        begin = np.flatnonzero(rank_in_runs(end - begin) % BUNDLE_PACKETS == 0)
        count = np.diff(begin, append=len(order))
        names, places, number, at = (
            connections.list_keys(flow[begin]),
            place[order],
            block.number[order],
            block.at[order],
        )
        packets = np.empty(len(order), PACKET)
        for name in ("time", "seq", "ack", "length", "captured", "flags"):
            packets[name] = getattr(block, name)[order]
        packets["late"] = places - packets["time"]
        packets["after"] = number - np.repeat(number[begin], count)
        packets["position"] = BEHIND if shuffled else np.where(at >> SHIFT == 0, at & POSITION, BEHIND)
        packets["forward"] = block.direction[order] == connections.list_lower_sides(flow)
        offsets = np.concatenate(([0], np.cumsum(count)))
        payload, behind = pa.repeat(pa.scalar(b""), len(count)), packets["position"] == BEHIND
        if bool(behind.any()):
            size = np.where(behind, packets["captured"], 0).astype(np.int64)
            data = store.read_joined(at[behind], size[behind])
            payload = _build_binary(np.concatenate(([0], np.cumsum(size)))[offsets], data)
        bundles = _build_binary(offsets * PACKET.itemsize, packets.view(np.uint8))
        columns = [names, places[begin], file << RECORD_BITS | number[begin], bundles, payload]
        yield pa.record_batch(columns, schema=POINTER_SCHEMA)


def _split_block(block: PacketBlock, *, shuffled: bool) -> Iterator[slice]:
    """Rows for one Arrow batch each."""
    carried = np.cumsum(block.captured, dtype=np.int64) if shuffled else np.zeros(len(block), np.int64)
    first = before = 0
    while first < len(block):
        last = min(first + BATCH, max(int(np.searchsorted(carried, before + HEAVY, "right")), first + 1))
        yield slice(first, last)
        first, before = last, int(carried[last - 1])


def build_note(file: int, what: dict[str, Any]) -> pa.RecordBatch:
    """Builds the row of a note about a file."""
    row = [b""], [0], [file << RECORD_BITS], [json.dumps(what).encode()], [b""]
    return pa.record_batch(list(row), schema=POINTER_SCHEMA)


class SecretsPlace(NamedTuple):
    """Where a key log lies: the number of its file, and location and length there (unpacked)."""

    file: int
    at: int
    length: int


def build_secrets_note(places: Sequence[SecretsPlace], keys: Sequence[int] = (0,)) -> pa.RecordBatch:
    """Builds a row that says where key logs are for each of the keys."""
    count, note = len(keys), json.dumps(places).encode()
    columns = [[SECRETS_KEY.pack(0, key) for key in keys], [0] * count, [0] * count, [note] * count, [b""] * count]
    return pa.record_batch(columns, schema=POINTER_SCHEMA)


def read_secrets_note(note: bytes) -> list[SecretsPlace]:
    """Reads the column `packet` of such a row."""
    return [SecretsPlace(*place) for place in json.loads(note)]


def flag_secrets_notes(connections: pa.Array) -> Bools:
    """Returns which rows say where key logs are."""
    found: Bools = np.diff(read_offsets(connections)) == SECRETS_KEY.size
    return found


def count_packets(batch: pa.RecordBatch) -> Ints:
    """Returns the number of packets in each row: 0 for notes and states of connections."""
    bundles = (np.diff(read_offsets(batch.column(0))) >= _IPV4) & (batch.column(2).to_numpy() >= 0)
    return np.where(bundles, np.diff(read_offsets(batch.column(3))) // PACKET.itemsize, 0)


def read_capture(connection: bytes) -> int:
    """Returns the number of its capture."""
    return int.from_bytes(connection[:4])


def encode_ends(connection: bytes, flows: FlowTable) -> tuple[int, int]:
    """Encodes the lower and higher end of a connection, whose endpoints `flows` numbers."""
    _, *ports = _HEAD.unpack_from(connection)
    addresses = np.frombuffer(connection, np.uint8, offset=_HEAD.size).reshape(2, -1)
    codes = flows.encode_ipv4(addresses) if len(connection) == _IPV4 else flows.encode_ipv6(addresses)
    low, high = (code << 16 | port for code, port in zip(codes.tolist(), ports, strict=True))
    return low, high


def read_offsets(column: pa.Array) -> Ints:
    """Returns where each value of a binary column begins in its data, and where the last one ends."""
    return np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1].astype(np.int64)


def read_data(column: pa.Array) -> memoryview:
    """Returns the bytes of all values of a binary column (one or more), one behind the other, without a copy."""
    first, last = read_offsets(column)[[0, -1]].tolist()
    return memoryview(column.buffers()[2] or b"")[first:last]


def _build_binary(offsets: Ints, data: npt.NDArray[np.uint8] | bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
