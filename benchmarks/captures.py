"""Makes the captures that the benchmarks read: real exchanges from captures/, replayed over fresh connections.

A capture is made of request and response frames of a recorded one, of which only the correlation ids are renumbered:
what is decoded is what real brokers and clients wrote. The same arguments give the same bytes.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzer.session import Session
from dissectors.api import Role, State

Exchange = tuple[bytes, bytes]

ETHERNET = bytes.fromhex("02000000000202000000000108 00".replace(" ", ""))
FIN, SYN, PSH, ACK = 1, 2, 8, 16
MSS = 1448
START_NS = 1_795_000_000 * 10**9


def exchanges(capture: Path, least: int = 0, most: int = 1 << 30) -> list[Exchange]:
    """All complete exchanges of a Kafka capture whose two frames together have `least` to `most` bytes."""
    with Session([capture]) as session:
        session.load()
        found = []
        for row in range(len(session.rows)):
            partner = session.cell("partner", row)
            whole = session.rows.cell("state", row) == State.COMPLETE
            if session.rows.cell("role", row) == Role.REQUEST and partner is not None and whole:
                exchange = session.message(row), session.message(partner)
                if least <= sum(map(len, exchange)) <= most:
                    found.append(exchange)
        return found


@dataclass(slots=True)
class Side:
    """One end of a connection."""

    address: bytes
    port: int
    seq: int
    ident: int = 0


@dataclass(slots=True)
class Writer:
    """A nanosecond pcap in memory; `packets` counts."""

    path: Path
    packets: int = 0
    time: int = START_NS
    parts: list[bytes] = field(default_factory=list)

    def __enter__(self) -> Writer:
        self.parts.append(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        return self

    def __exit__(self, *_: object) -> None:
        self.path.write_bytes(b"".join(self.parts))

    def packet(self, sender: Side, receiver: Side, flags: int, data: bytes = b"") -> None:
        """One TCP segment over IPv4 and Ethernet, 50 us after the last."""
        self.time += 50_000
        tcp = struct.pack(
            ">HHIIBBHHH",
            sender.port,
            receiver.port,
            sender.seq,
            receiver.seq if flags & ACK else 0,
            0x50,
            flags,
            512,
            0,
            0,
        )
        length = 40 + len(data)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length, sender.ident & 0xFFFF, 0x4000, 64, 6, 0)
        frame = ETHERNET + ip + sender.address + receiver.address + tcp + data
        self.parts.append(struct.pack("<IIII", *divmod(self.time, 10**9), len(frame), len(frame)) + frame)
        self.packets += 1
        sender.ident += 1
        sender.seq = sender.seq + len(data) + bool(flags & (SYN | FIN)) & 0xFFFFFFFF

    def message(self, sender: Side, receiver: Side, data: bytes) -> None:
        """One write: as many segments as it takes; every second one is acknowledged (RFC 9293, section 3.8.6.3)."""
        for number, begin in enumerate(range(0, len(data), MSS)):
            self.packet(sender, receiver, PSH | ACK, data[begin : begin + MSS])
            if number % 2:
                self.packet(receiver, sender, ACK)


def write(path: Path, pairs: Sequence[Exchange], packets: int, connections: int) -> int:
    """Interleaves `connections` conversations until there are `packets` packets; returns how many there are."""
    chance = random.Random(1)
    with Writer(path) as out:
        ends = [
            (Side(bytes([10, 0, n >> 8, n & 255]), 40_000 + n, 1000 * n), Side(bytes([10, 1, 0, 1]), 9092, 7000 * n))
            for n in range(connections)
        ]
        for client, server in ends:
            out.packet(client, server, SYN)
            out.packet(server, client, SYN | ACK)
            out.packet(client, server, ACK)
        for correlation, (request, response) in enumerate(_forever(pairs, chance)):
            if out.packets >= packets:
                break
            client, server = ends[chance.randrange(connections)]
            out.message(client, server, request[:8] + struct.pack(">i", correlation) + request[12:])
            out.message(server, client, response[:4] + struct.pack(">i", correlation) + response[8:])
            out.packet(client, server, ACK)
        for client, server in ends:
            out.packet(client, server, FIN | ACK)
            out.packet(server, client, FIN | ACK)
            out.packet(client, server, ACK)
        return out.packets


def _forever(pairs: Sequence[Exchange], chance: random.Random) -> Iterator[Exchange]:
    while True:
        yield chance.choice(pairs)
