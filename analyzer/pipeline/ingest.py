"""Bundles as they arrive, unpacked and merged: packets of one connection come out in the order of time.

Theory. Bundles come sorted by their first packets, and no packet of a bundle comes before its first. So all packets
before the first one of the bundle that has come last are final; the others wait, for later bundles may have some that
belong between them: no more than one bundle of each file that has packets at that time. Packets of one file, or of
files that follow one another, come in order, and are not sorted again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.pipeline.pointers import (
    BEHIND,
    PACKET,
    SECRETS_KEY,
    SecretsPlace,
    count_packets,
    read_capture,
    read_data,
    read_offsets,
    read_secrets_note,
)
from analyzer.pipeline.state_file import ConnectionState


@dataclass(slots=True)
class PacketPointers:
    """Pointers of n packets, unpacked: `connection` counts in `names`, and never falls.

    `data` has the payloads that came along: in `begin` where each would start, in `behind` how many bytes it has (n).
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
    def from_batch(cls, batch: pa.RecordBatch) -> Self:
        """Reads the pointers of a batch that pack_block() made, of at least one bundle and no notes."""
        names = batch.column(0).dictionary_encode()
        count = np.diff(read_offsets(batch.column(3))) // PACKET.itemsize
        packets = np.frombuffer(read_data(batch.column(3)), PACKET)
        behind = np.where(packets["position"] == BEHIND, packets["captured"], 0).astype(np.int64)
        origin = np.repeat(batch.column(2).to_numpy(), count) + packets["after"]
        connection = np.repeat(names.indices.to_numpy(), count)
        data, begin = read_data(batch.column(4)), np.cumsum(behind) - behind
        return cls(names.dictionary.to_pylist(), connection, origin, packets, data, begin, behind)

    @property
    def place(self) -> Ints:
        """The order of the packets: their times with the ns by which each is late (n, int64)."""
        found: Ints = self.packets["time"] + self.packets["late"]
        return found

    def select(self, first: int, last: int) -> Self:
        """Returns the rows from `first` to before `last`."""
        return self._select_rows(slice(first, last))

    def find_changes(self) -> list[int]:
        """Returns rows at which another connection begins than the row before has."""
        found: list[int] = (np.flatnonzero(np.diff(self.connection)) + 1).tolist()
        return found

    def sort(self) -> Self:
        """Returns the pointers sorted by connection, place and origin."""
        place, origin = self.place, self.origin
        ahead = (place[1:] > place[:-1]) | ((place[1:] == place[:-1]) & (origin[1:] > origin[:-1]))
        if bool((ahead | (self.connection[1:] > self.connection[:-1])).all()):
            return self
        return self._select_rows(np.lexsort((origin, place, self.connection)))

    def find_end(self, place: int, origin: int) -> int:
        """Returns how many of the sorted pointers come before a packet of the last connection."""
        first = int(np.searchsorted(self.connection, self.connection[-1]))
        places = self.place[first:]
        return first + int(((places < place) | ((places == place) & (self.origin[first:] < origin))).sum())

    def copy_last_connection(self) -> Self:
        """Copies the pointers, all of the last connection, to memory of their own."""
        data, begin = b"", self.begin
        if bool((self.packets["position"] == BEHIND).any()):
            first, last = self.find_payload_span()
            data, begin = bytes(self.data[first:last]), begin - first
        zeros = np.zeros(len(self), np.int32)
        names = [self.names[int(self.connection[-1])]]
        return type(self)(
            names, zeros, self.origin.copy(), self.packets.copy(), memoryview(data), begin.copy(), self.behind.copy()
        )

    def find_payload_span(self) -> tuple[int, int]:
        """Returns the span of `data` that contains the payloads of all further pointers (one or more)."""
        there = self.packets["position"] == BEHIND
        begin = self.begin[there]
        return int(begin.min()), int((begin + self.behind[there]).max())

    def append(self, others: Self) -> Self:
        """These, all of one connection, and then others of it or of later ones."""
        new = int(self.names[0] != others.names[0])
        data, begin = others.data, others.begin
        if len(self.data):
            data, begin = memoryview(b"".join((self.data, data))), begin + len(self.data)
        return replace(
            self,
            names=[*self.names, *others.names] if new else others.names,
            connection=np.concatenate((self.connection, others.connection + np.int32(new))),
            origin=np.concatenate((self.origin, others.origin)),
            packets=np.concatenate((self.packets, others.packets)),
            data=data,
            begin=np.concatenate((self.begin, begin)),
            behind=np.concatenate((self.behind, others.behind)),
        )

    def _select_rows(self, rows: slice | Ints) -> Self:
        connection, origin, packets = self.connection[rows], self.origin[rows], self.packets[rows]
        return type(self)(self.names, connection, origin, packets, self.data, self.begin[rows], self.behind[rows])


class PointerMerger:
    """Rows of a partition in, batch by batch; packets out that nothing can precede any more."""

    def __init__(self) -> None:
        self._waiting: PacketPointers | None = None

    def add(self, found: PacketPointers | None, last: tuple[int, int] | None) -> PacketPointers | None:
        """Takes the next packets. last: place and origin of the bundle that came last, None if a later connection has.

        Returns those that are final, at least one or None.
        """
        every = found if self._waiting is None else self._waiting
        if found is not None and self._waiting is not None:
            every = self._waiting.append(found)
        self._waiting = None
        if every is None:
            return None
        every = every.sort()
        count = len(every) if last is None else every.find_end(*last)
        if count < len(every):
            self._waiting = every.select(count, len(every)).copy_last_connection()
        return every.select(0, count) if count else None


PART_BYTES = 8 << 20
"""Bytes of rows that are unpacked at a time, unless one row has more."""

PACKET_BYTES = 128
"""What a packet weighs beside its bytes: a block of an analysis should have some ten thousand at most."""


class PointerQueue:
    """Pointers as they come, looked at before they are taken.

    notes: what was told of files. secrets: where key logs are. idle: connections that have a state and no packet, as
    far as that is known.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = _split_batches(batches)
        self._merger = PointerMerger()
        self._ahead: PacketPointers | None = None
        self._left: dict[bytes, ConnectionState] = {}
        self._unmet: list[bytes] = []
        self.notes: list[bytes] = []
        self.secrets: list[SecretsPlace] = []
        self.idle: deque[tuple[bytes, ConnectionState]] = deque()

    def peek(self) -> PacketPointers | None:
        """Returns the next pointers, at least one; None at the end."""
        while self._ahead is None and (batch := next(self._batches, None)) is not None:
            batch = self._take_notes(batch)
            if len(batch):
                self._ahead = self._unpack_pointers(batch)
        if self._ahead is None:
            self._ahead = self._merger.add(None, None)
            self._settle(set(), b"")
        return self._ahead

    def peek_capture(self) -> int | None:
        """Returns the number of the capture that comes next; None at the end."""
        ahead = self.peek()
        if self.idle:
            return read_capture(self.idle[0][0])
        return None if ahead is None else read_capture(ahead.names[ahead.connection[0]])

    def take_packets(self, count: int) -> PacketPointers:
        """Returns the first `count` of those ahead."""
        assert self._ahead is not None
        taken = self._ahead.select(0, count)
        self._ahead = self._ahead.select(count, len(self._ahead)) if count < len(self._ahead) else None
        return taken

    def pop_state(self, connection: bytes) -> ConnectionState | None:
        """Returns the state that the batch before left for a connection with packets, once."""
        return self._left.pop(connection, None)

    def restore_state(self, connection: bytes, left: ConnectionState) -> None:
        """Restores the state of a connection whose packets are next."""
        self._left[connection] = left

    def _take_notes(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Takes note of what is no connection, which is sorted before all connections; returns the others."""
        sizes = np.diff(read_offsets(batch.column(0)))
        notes, first = np.searchsorted(sizes, (1, SECRETS_KEY.size + 1)).tolist()
        texts = batch.column(3)[:first].to_pylist()
        self.notes += texts[:notes]
        for note in texts[notes:]:
            self.secrets += read_secrets_note(note)
        return batch.slice(first)

    def _unpack_pointers(self, batch: pa.RecordBatch) -> PacketPointers | None:
        """The packets that are ahead with a batch without notes; its states are put aside."""
        place, origin = (batch.column(each).to_numpy() for each in (1, 2))
        last = None if origin[-1] < 0 else (int(place[-1]), int(origin[-1]))
        states = np.flatnonzero(origin < 0)
        if not len(states) and not self._unmet:
            return self._merger.add(PacketPointers.from_batch(batch), last)
        chosen = pa.array(states)
        for name, *left in zip(*(batch.column(each).take(chosen).to_pylist() for each in (0, 3, 4)), strict=True):
            self._left[name] = ConnectionState.from_pointer(*left)
            self._unmet.append(name)
        rest = batch.filter(pa.array(origin >= 0)) if len(states) else batch
        found = PacketPointers.from_batch(rest) if len(rest) else None
        self._settle(set() if found is None else set(found.names), batch.column(0)[-1].as_py())
        return self._merger.add(found, last)

    def _settle(self, found_names: set[bytes], last: bytes) -> None:
        """Of the states without packets so far: which are `found_names` now, which are idle; of `last` nobody knows."""
        unmet = [name for name in self._unmet if name not in found_names]
        self._unmet = [name for name in unmet if name == last]
        self.idle += [(name, self._left.pop(name)) for name in unmet if name != last]


def _split_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of at least one row, none of which has much more than others."""
    for batch in batches:
        weight = np.diff(read_offsets(batch.column(3))) + PACKET_BYTES * count_packets(batch)
        before = np.concatenate(([0], np.cumsum(weight)))
        first = 0
        while first < len(batch):
            last = max(int(np.searchsorted(before, before[first] + PART_BYTES, "right")) - 1, first + 1)
            yield batch.slice(first, last - first)
            first = last
