"""Connections by number, in order of their first packet.

Theory. An endpoint is one integer: address code << 16 | port. An IPv4 address is its own code, an IPv6 address gets a
number and a bit that tells the two apart. So a flow is a pair of integers, (lower endpoint, higher endpoint), and
numbering flows is numbering pairs. Side a of a flow is who sent its first packet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.pairs import U64, PairTable

IPV6_BIT = 1 << 47
LONG = np.dtype(">u8")


class FlowTable:
    """Flow id -> endpoints. Address and port pairs only: VLANs and tunnels are not part of a flow. Pickles."""

    def __init__(self) -> None:
        self._addresses = PairTable()
        self._flows = PairTable()
        self._sides = np.zeros((2, 1024), np.uint64)

    def __len__(self) -> int:
        return self._flows.count

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that connections and addresses take."""
        return self._addresses.memory_bytes + self._flows.memory_bytes + 2 * len(self) * self._sides.itemsize

    def encode_ipv4(self, addresses: NDArray[np.uint8]) -> U64:
        """Codes (n) of IPv4 addresses (n, 4)."""
        return np.ascontiguousarray(addresses).view(">u4")[:, 0].astype(np.uint64)

    def encode_ipv6(self, addresses: NDArray[np.uint8]) -> U64:
        """Codes (n) of IPv6 addresses (n, 16)."""
        halves = np.ascontiguousarray(addresses).view(LONG).astype(np.uint64)
        ids = self._addresses.number_pairs(np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]))
        return ids.astype(np.uint64) | np.uint64(IPV6_BIT)

    def number_flows(self, source: U64, destination: U64) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """(flow, direction) of packets from `source` to `destination`: n endpoints each, in order of time."""
        known = len(self)
        flow = self._flows.number_pairs(np.minimum(source, destination), np.maximum(source, destination))
        if len(self) > known:
            if len(self) > self._sides.shape[1]:
                wider = np.zeros((2, 2 * len(self)), np.uint64)
                wider[:, :known] = self._sides[:, :known]
                self._sides = wider
            # Backwards, so that the first packet of a flow is the last to be assigned.
            new = np.flatnonzero(flow >= known)[::-1]
            self._sides[0, flow[new]] = source[new]
            self._sides[1, flow[new]] = destination[new]
        return flow, (source != self._sides[0, flow]).astype(np.int8)

    def port(self, flow: int, side: int) -> int:
        """The TCP port of side 0 (a) or 1 (b)."""
        return int(self._sides[side, flow]) & 0xFFFF

    def ports(self, side: int) -> NDArray[np.uint16]:
        """The ports of one side of all flows."""
        return (self._sides[side, : len(self)] & np.uint64(0xFFFF)).astype(np.uint16)

    def address(self, flow: int, side: int) -> bytes:
        """4 or 16 bytes."""
        code = int(self._sides[side, flow]) >> 16
        if not code & IPV6_BIT:
            return code.to_bytes(4, "big")
        number = code & ~IPV6_BIT
        return b"".join(
            int(half[number]).to_bytes(8, "big") for half in (self._addresses.first, self._addresses.second)
        )

    def endpoint(self, flow: int, side: int) -> str:
        """What people read: `10.0.0.1:9092`, `[::1]:2181`."""
        import socket  # a list of numbers alone never prints an address

        address = self.address(flow, side)
        if len(address) == 4:
            return f"{socket.inet_ntop(socket.AF_INET, address)}:{self.port(flow, side)}"
        return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{self.port(flow, side)}"
