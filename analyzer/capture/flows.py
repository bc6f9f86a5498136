"""Numbers connections in order of their first packet.

Theory. An endpoint is one integer: address code << 16 | port. The code of an IPv4 address is the address; an IPv6
address gets a number, and a bit that tells the two apart. So a flow is a pair of integers (lower endpoint, higher
endpoint), and numbering flows is numbering pairs. Side 0 of a flow sent its first packet.

A dictionary lookup for each packet would cost more than everything else. PairTable is a hash table with open addressing
that handles all undecided rows in each step: it looks at the slot of each row, compares the whole key, and goes on to
the next slot. Rows that find an empty slot claim it, and the first row wins.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

IPV6_BIT = 1 << 47
LONG = np.dtype(">u8")


class FlowTable:
    """Maps a flow number to its two endpoints. VLANs and tunnels are not part of a flow. It can be pickled."""

    def __init__(self) -> None:
        self._addresses = PairTable()
        self._flows = PairTable()
        self._sides = np.zeros((2, 1024), np.uint64)

    def __len__(self) -> int:
        return self._flows.count

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that flows and addresses take."""
        return self._addresses.memory_bytes + self._flows.memory_bytes + 2 * len(self) * self._sides.itemsize

    def encode_ipv4(self, addresses: NDArray[np.uint8]) -> U64:
        """Returns the codes (n) of IPv4 addresses (n, 4)."""
        return np.ascontiguousarray(addresses).view(">u4")[:, 0].astype(np.uint64)

    def encode_ipv6(self, addresses: NDArray[np.uint8]) -> U64:
        """Returns the codes (n) of IPv6 addresses (n, 16), and numbers new ones."""
        halves = np.ascontiguousarray(addresses).view(LONG).astype(np.uint64)
        ids = self._addresses.number_pairs(np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]))
        return ids.astype(np.uint64) | np.uint64(IPV6_BIT)

    def number_flows(self, source: U64, destination: U64) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Returns flow (int32, n) and direction (int8, n) of packets between n endpoints each, in order of time.

        Direction 0 is that of the flow's first packet. New flows are added.
        """
        known = len(self)
        flow = self._flows.number_pairs(np.minimum(source, destination), np.maximum(source, destination))
        if len(self) > known:
            if len(self) > self._sides.shape[1]:
                wider = np.zeros((2, 2 * len(self)), np.uint64)
                wider[:, :known] = self._sides[:, :known]
                self._sides = wider
            # In reverse order, so that the first packet of a flow is assigned last.
            new = np.flatnonzero(flow >= known)[::-1]
            self._sides[0, flow[new]] = source[new]
            self._sides[1, flow[new]] = destination[new]
        return flow, (source != self._sides[0, flow]).astype(np.int8)

    def port(self, flow: int, side: int) -> int:
        """Returns the TCP port of side 0 or 1."""
        return int(self._sides[side, flow]) & 0xFFFF

    def ports(self, side: int) -> NDArray[np.uint16]:
        """Returns the ports of one side of all flows."""
        return (self._sides[side, : len(self)] & np.uint64(0xFFFF)).astype(np.uint16)

    def address(self, flow: int, side: int) -> bytes:
        """Returns the 4 or 16 bytes of an address."""
        code = int(self._sides[side, flow]) >> 16
        if not code & IPV6_BIT:
            return code.to_bytes(4, "big")
        number = code & ~IPV6_BIT
        return b"".join(
            int(half[number]).to_bytes(8, "big") for half in (self._addresses.first, self._addresses.second)
        )

    def endpoint(self, flow: int, side: int) -> str:
        """Returns an endpoint as text: `10.0.0.1:9092`, `[::1]:2181`."""
        import socket  # lazy: few commands print an address

        address = self.address(flow, side)
        if len(address) == 4:
            return f"{socket.inet_ntop(socket.AF_INET, address)}:{self.port(flow, side)}"
        return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{self.port(flow, side)}"


U64 = NDArray[np.uint64]
CHUNK = 1 << 14
"""Rows that are numbered together: the table must have room for all of them."""


class PairTable:
    """Numbers pairs of uint64 0, 1, 2, ... in order of first appearance."""

    def __init__(self) -> None:
        self.count = 0
        self.first, self.second = np.zeros(CHUNK, np.uint64), np.zeros(CHUNK, np.uint64)
        self._slots = np.full(4 * CHUNK, -1, np.int32)
        # The random seed keeps the author of a capture from choosing keys that collide.
        self._seed = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the pairs take."""
        return self._slots.nbytes + 2 * self.count * self.first.itemsize

    def number_pairs(self, first: U64, second: U64) -> NDArray[np.int32]:
        """Returns the number of each pair (int32, n), and adds new pairs."""
        ids = np.empty(len(first), np.int32)
        for start in range(0, len(first), CHUNK):
            rows = slice(start, start + CHUNK)
            self._reserve(len(first[rows]))
            ids[rows] = self._ids(first[rows], second[rows])
        return ids

    def _hash(self, first: U64, second: U64) -> NDArray[np.int64]:
        mixed: U64 = first * self._seed[0] ^ (second + np.uint64(0x9E3779B97F4A7C15)) * self._seed[1]
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
        mixed &= np.uint64(len(self._slots) - 1)
        return mixed.astype(np.int64)

    def _ids(self, first: U64, second: U64) -> NDArray[np.int32]:
        slot = self._hash(first, second)
        ids = self._slots[slot]
        wrong = (self.first[ids] != first) | (self.second[ids] != second) | (ids < 0)
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return ids
        ids[rows] = -1
        new: list[NDArray[np.int64]] = []
        base = self.count
        slot = slot[rows]
        while len(rows):
            rows, slot = self._round(rows, slot, ids, first, second, new)
        self._number(np.concatenate([np.zeros(0, np.int64), *new]), ids, base)
        return ids

    def _round(
        self,
        rows: NDArray[np.int64],
        slot: NDArray[np.int64],
        ids: NDArray[np.int32],
        first: U64,
        second: U64,
        new: list[NDArray[np.int64]],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Looks at one slot for each undecided row; returns the rows that go on, and their next slots."""
        empty = np.flatnonzero(self._slots[slot] < 0)
        if len(empty):
            # Of equal slots the last assignment stays, which in reverse order is that of the first row.
            self._slots[slot[empty[::-1]]] = rows[empty[::-1]]
            winners = empty[self._slots[slot[empty]] == rows[empty]]
            numbers = np.arange(self.count, self.count + len(winners), dtype=np.int32)
            self._slots[slot[winners]] = numbers
            self.first[numbers], self.second[numbers] = first[rows[winners]], second[rows[winners]]
            self.count += len(winners)
            new.append(rows[winners])
        found = self._slots[slot]
        right = (self.first[found] == first[rows]) & (self.second[found] == second[rows])
        ids[rows[right]] = found[right]
        on = np.flatnonzero(~right)
        return rows[on], (slot[on] + 1) & (len(self._slots) - 1)

    def _number(self, claimed: NDArray[np.int64], ids: NDArray[np.int32], base: int) -> None:
        """Renumbers the pairs that this chunk added by their first row, whatever round added them."""
        order = np.argsort(claimed, kind="stable")
        if bool((np.diff(claimed) >= 0).all()):
            return
        number = np.empty(len(claimed), np.int32)
        number[order] = np.arange(base, base + len(claimed), dtype=np.int32)
        added = np.flatnonzero(ids >= base)
        ids[added] = number[ids[added] - base]
        for keys in (self.first, self.second):
            keys[base : self.count] = keys[base : self.count][order]
        moved = np.flatnonzero(self._slots >= base)
        self._slots[moved] = number[self._slots[moved] - base]

    def _reserve(self, more: int) -> None:
        """Keeps at least half of the slots empty, and the key columns long enough."""
        need = self.count + more
        if need > len(self.first):
            size = max(need, 2 * len(self.first))
            self.first, self.second = (_longer(keys[: self.count], size) for keys in (self.first, self.second))
        if 2 * need > len(self._slots):
            self._slots = np.full(1 << (4 * need - 1).bit_length(), -1, np.int32)
            numbers = np.arange(self.count, dtype=np.int32)
            slot = self._hash(self.first[: self.count], self.second[: self.count])
            while len(numbers):
                empty = self._slots[slot] < 0
                self._slots[slot[empty]] = numbers[empty]
                on = np.flatnonzero(self._slots[slot] != numbers)
                numbers, slot = numbers[on], (slot[on] + 1) & (len(self._slots) - 1)


def _longer(keys: U64, size: int) -> U64:
    """Returns the same keys with room for more, which takes no memory until it is used."""
    found = np.zeros(size, np.uint64)
    found[: len(keys)] = keys
    return found
