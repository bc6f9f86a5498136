"""Captures and packets written by hand, with struct alone: what the readers are tested with."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

NS = 1_000_000_000
T0 = 1_700_000_000 * NS


@dataclass(frozen=True, slots=True)
class Frame:
    """A captured packet: time in nanoseconds, bytes kept, bytes on the wire (None: as many)."""

    data: bytes
    time: int = T0
    original: int | None = None

    @property
    def wire(self) -> int:
        return len(self.data) if self.original is None else self.original


# ---- capture files


def pcap(
    frames: Iterable[Frame] = (), *, order: str = "<", magic: int = 0xA1B2C3D4, snaplen: int = 262_144, link: int = 1
) -> bytes:
    unit = 1 if magic == 0xA1B23C4D else 1000
    extra = bytes(8) if magic == 0xA1B2CD34 else b""
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for frame in frames:
        seconds, rest = divmod(frame.time, NS)
        parts.append(
            struct.pack(order + "IIII", seconds, rest // unit, len(frame.data), frame.wire) + extra + frame.data
        )
    return b"".join(parts)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def options(order: str, *pairs: tuple[int, bytes]) -> bytes:
    if not pairs:
        return b""
    return b"".join(struct.pack(order + "HH", code, len(value)) + padded(value) for code, value in (*pairs, (0, b"")))


def block(order: str, kind: int, body: bytes) -> bytes:
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


@dataclass(frozen=True, slots=True)
class Ng:
    """Writes pcapng blocks in one byte order."""

    order: str = "<"

    def section(self, *pairs: tuple[int, bytes]) -> bytes:
        body = struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
        return block(self.order, 0x0A0D0D0A, body + options(self.order, *pairs))

    def interface(self, *pairs: tuple[int, bytes], link: int = 1, snaplen: int = 0) -> bytes:
        body = struct.pack(self.order + "HHI", link, 0, snaplen)
        return block(self.order, 1, body + options(self.order, *pairs))

    def enhanced(
        self, data: bytes, ticks: int, *pairs: tuple[int, bytes], interface: int = 0, original: int | None = None
    ) -> bytes:
        wire = len(data) if original is None else original
        head = struct.pack(self.order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire)
        return block(self.order, 6, head + padded(data) + options(self.order, *pairs))

    def obsolete(self, data: bytes, ticks: int, interface: int = 0) -> bytes:
        head = struct.pack(self.order + "HHIIII", interface, 7, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        return block(self.order, 2, head + padded(data))

    def simple(self, data: bytes, original: int | None = None) -> bytes:
        wire = len(data) if original is None else original
        return block(self.order, 3, struct.pack(self.order + "I", wire) + padded(data))

    def names(self, *pairs: tuple[str, bytes]) -> bytes:
        records = []
        for address, name in pairs:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            kind = 2 if ":" in address else 1
            records.append((kind, socket.inet_pton(family, address) + name + b"\0"))
        return block(self.order, 4, options(self.order, *records))

    def statistics(self, interface: int, *pairs: tuple[int, int]) -> bytes:
        counters = ((code, struct.pack(self.order + "Q", value)) for code, value in pairs)
        return block(self.order, 5, struct.pack(self.order + "III", interface, 0, 0) + options(self.order, *counters))

    def other(self, kind: int, body: bytes = b"") -> bytes:
        return block(self.order, kind, padded(body))


# ---- packets, from the inside out


def tcp(
    payload: bytes = b"",
    *,
    ports: tuple[int, int] = (40_000, 9092),
    seq: int = 1,
    ack: int = 2,
    flags: int = 0x18,
    extra: bytes = b"",
    window: int = 512,
) -> bytes:
    size = 5 + len(extra) // 4
    return struct.pack(">HHIIBBHHH", *ports, seq, ack, size << 4, flags, window, 0, 0) + extra + payload


def udp(payload: bytes, ports: tuple[int, int]) -> bytes:
    return struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload


def ipv4(
    payload: bytes,
    *,
    ends: tuple[str, str] = ("10.0.0.1", "10.0.0.2"),
    protocol: int = 6,
    extra: bytes = b"",
    total: int | None = None,
    ident: int = 7,
    offset: int = 0,
    more: bool = False,
) -> bytes:
    size = 20 + len(extra)
    length = size + len(payload) if total is None else total
    cut = offset // 8 | (0x2000 if more else 0)
    head = struct.pack(">BBHHHBBH", 0x40 | size // 4, 0, length, ident, cut, 64, protocol, 0)
    return head + b"".join(map(socket.inet_aton, ends)) + extra + payload


def ipv6(
    payload: bytes, *, ends: tuple[str, str] = ("fd00::1", "fd00::2"), protocol: int = 6, length: int | None = None
) -> bytes:
    head = struct.pack(">IHBB", 6 << 28, len(payload) if length is None else length, protocol, 64)
    return head + b"".join(socket.inet_pton(socket.AF_INET6, end) for end in ends) + payload


def extension(following: int, payload: bytes, units: int = 0) -> bytes:
    """A hop-by-hop, routing or destination header of 8 + 8 * units bytes."""
    return bytes([following, units]) + bytes(6 + 8 * units) + payload


def authentication(following: int, payload: bytes) -> bytes:
    return bytes([following, 4]) + bytes(22) + payload


def fragment(following: int, payload: bytes, *, offset: int = 0, more: bool = False, ident: int = 9) -> bytes:
    return struct.pack(">BBHI", following, 0, offset | more, ident) + payload


def ethernet(payload: bytes, kind: int = 0x0800, tags: tuple[int, ...] = (), padding: int = 0) -> bytes:
    """`tags`: EtherTypes of VLAN tags from the outside in; `padding`: shortest frame."""
    head = bytes(range(12))
    for tag in tags:
        head += struct.pack(">HH", tag, 42)
    return (head + struct.pack(">H", kind) + payload).ljust(padding, b"\xee")


def segment(payload: bytes = b"", **tcp_fields: int) -> bytes:
    """The most common frame: Ethernet, IPv4, TCP."""
    return ethernet(ipv4(tcp(payload, **tcp_fields)))  # type: ignore[arg-type]
