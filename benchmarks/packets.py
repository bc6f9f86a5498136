"""TCP segments of made conversations, as records of a capture.

A segment looks like one of Linux: Ethernet, IPv4 or IPv6, and a TCP header with the timestamp option; checksums are
zero, as where the interface card makes them. What a network does to segments (traffic.py) happens here, too: one that
is late or sent again waits until some others are written.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Protocol

from benchmarks.traffic import TAME, Traffic

FIN, SYN, PSH, ACK = 1, 2, 8, 16
MSS = 1448
START_NS = 1_795_000_000 * 10**9

_FILE = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
_RECORD = struct.Struct("<IIII")
_ETHERNET = bytes.fromhex("020000000002020000000001")
_IPV4, _IPV6 = struct.Struct(">HBBHHHBBH4s4s"), struct.Struct(">HIHBB16s16s")
_TCP = struct.Struct(">HHIIBBHHH")
_TIMESTAMP = struct.Struct(">III")
_SYN_OPTIONS = bytes.fromhex("020405b4 0402 080a 00000000 00000000 01 030307")


class Sink(Protocol):
    """What packets are written to."""

    def write(self, data: bytes, /) -> int:
        """All of it; gives how many bytes that were."""
        ...


@dataclass(slots=True)
class Side:
    """One end of a connection. address: 4 bytes, or 16 of IPv6; vlan: the number of an IEEE 802.1Q tag, 0: none.
    captured: whether the capture has what this end sends.
    """

    address: bytes
    port: int
    seq: int
    ident: int = 0
    vlan: int = 0
    captured: bool = True


@dataclass(slots=True)
class Writer:
    """A nanosecond pcap; `packets` and `size` (bytes) count what is written. segment: the most that a packet brings."""

    out: Sink
    chance: random.Random
    packets: int = 0
    size: int = 0
    time: int = START_NS
    segment: int = MSS
    traffic: Traffic = TAME
    _late: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Frames that wait: the packet behind which they come, a number that orders them, and their bytes."""
    _owed: dict[int, tuple[int, Side, Side]] = field(default_factory=dict)
    """By the receiver's identity: after which packet it acknowledges what it was sent."""

    @classmethod
    def begin(cls, out: Sink, chance: random.Random, segment: int = MSS, traffic: Traffic = TAME) -> Writer:
        """Begins a new file."""
        return cls(out, chance, size=out.write(_FILE), segment=segment, traffic=traffic)

    def packet(self, sender: Side, receiver: Side, flags: int, data: bytes = b"") -> None:
        """Writes one segment, 20 to 85 us after the last, or what the traffic makes of it."""
        self.time += 20_000 + self.chance.getrandbits(16)
        frame = self._frame(sender, receiver, flags, data)
        sender.ident += 1
        sender.seq = sender.seq + len(data) + bool(flags & (SYN | FIN)) & 0xFFFFFFFF
        if sender.captured and not (data and self._disturb(frame)):
            self._write(frame)
        while self._late and self._late[0][0] <= self.packets:
            self._write(heappop(self._late)[2])

    def send(self, sender: Side, receiver: Side, data: bytes, acks: float) -> None:
        """One write: as many segments as it takes, and what the receiver's kernel answers to it."""
        for number, begin in enumerate(range(0, len(data), self.segment)):
            last = begin + self.segment >= len(data)
            self.packet(sender, receiver, PSH | ACK if last else ACK, data[begin : begin + self.segment])
            if number % 2 and not last:
                self.packet(receiver, sender, ACK)
        if self.chance.random() < acks:
            if self.traffic.delayed_acks:
                self._owed.setdefault(id(receiver), (self.packets + self.chance.randint(3, 8), receiver, sender))
            else:
                self.packet(receiver, sender, ACK)
        self._owed.pop(id(sender), None)
        for key in [key for key, (due, _, _) in self._owed.items() if due <= self.packets]:
            _, late, other = self._owed.pop(key)
            self.packet(late, other, ACK)

    def finish(self) -> None:
        """Writes all frames that still wait."""
        while self._late:
            self._write(heappop(self._late)[2])

    def _disturb(self, frame: bytes) -> bool:
        """Whether a frame with data is late or missed; one that comes again is told here, too."""
        traffic = self.traffic
        if not (traffic.retransmitted or traffic.reordered or traffic.missed):
            return False
        chance = self.chance.random()
        if chance < traffic.missed:
            return True
        if chance < traffic.missed + traffic.reordered:
            self._delay(frame, self.chance.randint(1, 5))
            return True
        if chance < traffic.missed + traffic.reordered + traffic.retransmitted:
            self._delay(frame, self.chance.randint(5, 200))
        return False

    def _delay(self, frame: bytes, packets: int) -> None:
        heappush(self._late, (self.packets + packets, self.chance.getrandbits(32), frame))

    def _write(self, frame: bytes) -> None:
        length = len(frame)
        data = frame[: self.traffic.snap]
        self.out.write(_RECORD.pack(self.time // 10**9, self.time % 10**9, len(data), length) + data)
        self.packets += 1
        self.size += _RECORD.size + len(data)

    def _frame(self, sender: Side, receiver: Side, flags: int, data: bytes) -> bytes:
        if flags & SYN:
            options = _SYN_OPTIONS
        else:
            stamp = self.time // 10**6 & 0xFFFFFFFF
            options = _TIMESTAMP.pack(0x0101080A, stamp, stamp)
        words, length = (_TCP.size + len(options)) // 4, _TCP.size + len(options) + len(data)
        acknowledged = receiver.seq if flags & ACK else 0
        tcp = _TCP.pack(sender.port, receiver.port, sender.seq, acknowledged, words << 4, flags, 512, 0, 0)
        tag = struct.pack(">HH", 0x8100, sender.vlan) if sender.vlan else b""
        ends = sender.address, receiver.address
        if len(sender.address) == 4:
            ip = _IPV4.pack(0x0800, 0x45, 0, 20 + length, sender.ident & 0xFFFF, 0x4000, 64, 6, 0, *ends)
        else:
            ip = _IPV6.pack(0x86DD, 6 << 28, length, 6, 64, *ends)
        return b"".join((_ETHERNET, tag, ip, tcp, options, data))
