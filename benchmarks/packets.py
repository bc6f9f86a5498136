"""TCP segments of made conversations, as records of a capture.

A segment looks like one of Linux: Ethernet, IPv4, and a TCP header with the timestamp option; checksums are zero, as
where the interface card makes them.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from typing import Protocol

FIN, SYN, PSH, ACK = 1, 2, 8, 16
MSS = 1448
START_NS = 1_795_000_000 * 10**9

_FILE = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
_RECORD = struct.Struct("<IIII")
_HEADERS = struct.Struct(">14sBBHHHBBH4s4sHHIIBBHHHIII")
_ETHERNET = bytes.fromhex("020000000002020000000001 0800")
_TIMESTAMP = 0x0101080A
_SYN_OPTIONS = bytes.fromhex("020405b4 0402 080a 00000000 00000000 01 030307")
_SYN_LENGTH = _HEADERS.size - 12 + len(_SYN_OPTIONS)


class Sink(Protocol):
    """What packets are written to."""

    def write(self, data: bytes, /) -> int:
        """All of it; gives how many bytes that were."""
        ...


@dataclass(slots=True)
class Side:
    """One end of a connection."""

    address: bytes
    port: int
    seq: int
    ident: int = 0


@dataclass(slots=True)
class Writer:
    """A nanosecond pcap; `packets` and `size` (bytes) count what is written. segment: the most that a packet brings."""

    out: Sink
    chance: random.Random
    packets: int = 0
    size: int = 0
    time: int = START_NS
    segment: int = MSS

    @classmethod
    def begin(cls, out: Sink, chance: random.Random, segment: int = MSS) -> Writer:
        """A new file."""
        return cls(out, chance, size=out.write(_FILE), segment=segment)

    def packet(self, sender: Side, receiver: Side, flags: int, data: bytes = b"") -> None:
        """One segment, 20 to 85 us after the last."""
        self.time += 20_000 + self.chance.getrandbits(16)
        opening = flags & SYN
        header = _SYN_LENGTH if opening else _HEADERS.size
        stamp = self.time // 10**6 & 0xFFFFFFFF
        ip, tcp = header - 14 + len(data), header - 34
        acknowledged = receiver.seq if flags & ACK else 0
        frame = _HEADERS.pack(
            *(_ETHERNET, 0x45, 0, ip, sender.ident & 0xFFFF, 0x4000, 64, 6, 0, sender.address, receiver.address),
            *(sender.port, receiver.port, sender.seq, acknowledged, tcp << 2, flags, 512, 0, 0),
            *(_TIMESTAMP, stamp, stamp),
        )
        if opening:
            frame = frame[:-12] + _SYN_OPTIONS
        length = header + len(data)
        self.out.write(_RECORD.pack(self.time // 10**9, self.time % 10**9, length, length) + frame + data)
        self.packets += 1
        self.size += _RECORD.size + length
        sender.ident += 1
        sender.seq = sender.seq + len(data) + bool(flags & (SYN | FIN)) & 0xFFFFFFFF

    def send(self, sender: Side, receiver: Side, data: bytes, acks: float) -> None:
        """One write: as many segments as it takes, and what the receiver's kernel says to it at once."""
        for number, begin in enumerate(range(0, len(data), self.segment)):
            last = begin + self.segment >= len(data)
            self.packet(sender, receiver, PSH | ACK if last else ACK, data[begin : begin + self.segment])
            if number % 2 and not last:
                self.packet(receiver, sender, ACK)
        if self.chance.random() < acks:
            self.packet(receiver, sender, ACK)
