"""Bundles as they arrive, unpacked and merged: packets of one connection come out in the order of time.

Theory. Bundles come sorted by their first packets, and no packet of a bundle comes before its first. So all packets
before the first one of the bundle that has come last are final; the others wait, for later bundles may have some that
belong between them: no more than one bundle of each file that has packets at that time. Packets of one file, or of
files that follow one another, come in order, and are not sorted again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.pipeline.bundles import unbundled
from analyzer.pipeline.pointers import BEHIND, PACKET


@dataclass(slots=True)
class Pointers:
    """Pointers of n packets, unpacked: `connection` counts in `names`, and never falls.

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
        """What packed() put into a batch of at least one bundle, as it comes; no notes among them."""
        names = batch.column(0).dictionary_encode()
        bundles = unbundled(batch.column(3), PACKET.itemsize)
        packets, count = bundles.records.view(PACKET)[:, 0], bundles.count
        behind = np.where(packets["position"] == BEHIND, packets["captured"], 0).astype(np.int64)
        before = np.cumsum(behind) - behind
        first = np.cumsum(count) - count
        origin = np.repeat(batch.column(2).to_numpy(), count) + packets["after"]
        begin = np.repeat(bundles.begin - before[first], count) + before
        connection = np.repeat(names.indices.to_numpy(), count)
        return cls(names.dictionary.to_pylist(), connection, origin, packets, bundles.data, begin, behind)

    @property
    def place(self) -> Ints:
        """See pointers.COLUMNS."""
        found: Ints = self.packets["time"] + self.packets["late"]
        return found

    def take(self, first: int, last: int) -> Self:
        """The rows from `first` to before `last`."""
        return self._of(slice(first, last))

    def changes(self) -> list[int]:
        """Rows at which another connection begins than the row before has."""
        found: list[int] = (np.flatnonzero(np.diff(self.connection)) + 1).tolist()
        return found

    def in_order(self) -> Self:
        """The same, sorted by connection, place and origin."""
        place, origin = self.place, self.origin
        ahead = (place[1:] > place[:-1]) | ((place[1:] == place[:-1]) & (origin[1:] > origin[:-1]))
        if bool((ahead | (self.connection[1:] > self.connection[:-1])).all()):
            return self
        return self._of(np.lexsort((origin, place, self.connection)))

    def before(self, place: int, origin: int) -> int:
        """Of sorted rows, how many come before a packet of the last connection."""
        first = int(np.searchsorted(self.connection, self.connection[-1]))
        places = self.place[first:]
        return first + int(((places < place) | ((places == place) & (self.origin[first:] < origin))).sum())

    def alone(self) -> Self:
        """The same rows, all of the last connection, in memory of their own."""
        data, begin = b"", self.begin
        if bool((self.packets["position"] == BEHIND).any()):
            first, last = self.span()
            data, begin = bytes(self.data[first:last]), begin - first
        zeros = np.zeros(len(self), np.int32)
        names = [self.names[int(self.connection[-1])]]
        return type(self)(
            names, zeros, self.origin.copy(), self.packets.copy(), memoryview(data), begin.copy(), self.behind.copy()
        )

    def span(self) -> tuple[int, int]:
        """Between which bytes of `data` all payloads lie that follow, of which there is at least one."""
        there = self.packets["position"] == BEHIND
        begin = self.begin[there]
        return int(begin.min()), int((begin + self.behind[there]).max())

    def followed_by(self, others: Self) -> Self:
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

    def _of(self, rows: slice | Ints) -> Self:
        connection, origin, packets = self.connection[rows], self.origin[rows], self.packets[rows]
        return type(self)(self.names, connection, origin, packets, self.data, self.begin[rows], self.behind[rows])


class Merger:
    """Rows of a partition in, batch by batch; packets out that nothing can precede any more."""

    def __init__(self) -> None:
        self._waiting: Pointers | None = None

    def add(self, found: Pointers | None, last: tuple[int, int] | None) -> Pointers | None:
        """Takes the next packets. last: place and origin of the bundle that came last, None if a later connection has.

        Returns those that are final, at least one or None.
        """
        every = found if self._waiting is None else self._waiting
        if found is not None and self._waiting is not None:
            every = self._waiting.followed_by(found)
        self._waiting = None
        if every is None:
            return None
        every = every.in_order()
        count = len(every) if last is None else every.before(*last)
        if count < len(every):
            self._waiting = every.take(count, len(every)).alone()
        return every.take(0, count) if count else None
