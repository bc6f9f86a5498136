"""Writes captures: conversations of many connections, interleaved, as a real kernel would have sent them.

Theory. What is decoded should be what real programs wrote, so conversations are recorded messages with new numbers
(protocols.py, kafka.py); here they become packets. Packets without payload matter: they cost, and say nothing. So their
number is taken from recordings. In the captures under tests/golden, for connections with forty messages and more,
without their opening and closing packets, the medians of payload-less packets are

    Kafka       0.60 a message, 36 % of the packets (27 connections)
    RocketMQ    0.63 a message, 39 % (5)
    Pulsar      0.28 a message, 24 % (11)
    ZooKeeper   0.24 a message, 20 % (10)
    its quorum  0.42 a message, 29 % (10)

(whole captures of Kafka have 39 to 70 %, most of it connections being opened). Each message is acknowledged by a packet
of its own with that probability, `Kind.acks`; a long one by every second segment (RFC 9293, section 3.8.6.3) besides.
The same arguments give the same bytes. Nothing is kept in memory but what one connection has yet to say.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.packets import ACK, FIN, MSS, SYN, Side, Sink, Writer
from benchmarks.traffic import TAME, Message, Overlap, Traffic, Turn, encrypt

Conversations = Callable[[random.Random, int], Iterator[Turn]]
"""The turns of the n-th connection, without end unless the protocol has one."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a capture is of. acks: packets without payload a message; together: how often a message shares a segment
    with the one before it, if both come from one side. segment: the most bytes that one brings. traffic: what
    busy clients and the network do to it."""

    name: str
    port: int
    conversations: Conversations
    connections: int
    acks: float
    together: float = 0.0
    segment: int = MSS
    traffic: Traffic = TAME


@dataclass(slots=True)
class Connection:
    """Two sides, what they will say, and what of it is still to be sent."""

    client: Side
    server: Side
    turns: Overlap
    queue: deque[Message] = field(default_factory=deque)

    def refill(self) -> bool:
        """Whether there is something to send, now that a next turn has been asked for."""
        if not self.queue:
            self.queue.extend(self.turns.begin_turn())
        return bool(self.queue)

    def finish(self) -> bool:
        """Whether there is something to send that answers what was sent before."""
        if not self.queue:
            self.queue.extend(self.turns.finish())
        return bool(self.queue)

    def take(self, chance: random.Random, together: float) -> Message:
        """What the next write sends: a message, or several of one side."""
        from_client, data = self.queue.popleft()
        while self.queue and self.queue[0][0] == from_client and chance.random() < together:
            data += self.queue.popleft()[1]
        return from_client, data


def write(path: Path, kind: Kind, *, packets: int | None = None, size: int | None = None) -> int:
    """Writes conversations until there are so many packets or bytes, or all have ended; returns the packets.

    What was begun is answered and every connection is closed, so a few packets more come than were asked for. The file
    has its name only when it is whole.
    """
    draft = path.with_suffix(".part")
    with draft.open("wb", buffering=1 << 20) as file:
        written = fill(file, kind, packets=packets, size=size)
    os.replace(draft, path)
    return written


def fill(file: Sink, kind: Kind, *, packets: int | None = None, size: int | None = None) -> int:
    """The same into a file that is open; each write is the file's header or one packet's record."""
    chance = random.Random(f"{kind.name} {packets} {size}")
    out = Writer.begin(file, chance, kind.segment, kind.traffic)
    talking = [_open(out, kind, number) for number in range(kind.connections)]
    opened = len(talking)
    while talking and not _enough(out, packets, size):
        at = chance.randrange(len(talking))
        if talking[at].refill():
            _say(out, talking[at], kind)
            continue
        if kind.traffic.turns:
            _close(out, talking[at])
            talking[at], opened = _open(out, kind, opened), opened + 1
        else:
            _close(out, talking.pop(at))
    for each in talking:
        while each.finish():
            _say(out, each, kind)
    for each in talking:
        _close(out, each)
    out.finish()
    return out.packets


def _open(out: Writer, kind: Kind, number: int) -> Connection:
    """Opens the n-th connection; what it is follows from its number alone."""
    own, traffic = random.Random(f"{kind.name} {number}"), kind.traffic
    sealed, tagged, long = (own.random() < share for share in (traffic.tls, traffic.vlan, traffic.ipv6))
    ends = bytes([10, 0, number >> 8 & 255, number & 255]), bytes([10, 1, 0, 1 + number % 3])
    client, server = (
        Side(
            bytes.fromhex("fd00") + bytes(10) + end if long else end, port, out.chance.getrandbits(32), vlan=7 * tagged
        )
        for end, port in zip(ends, (20_000 + number % 40_000, kind.port + sealed), strict=True)
    )
    client.captured = not traffic.one_way
    turns = encrypt(own) if sealed else kind.conversations(out.chance, number)
    opened = Connection(client, server, Overlap(turns, traffic, own))
    out.packet(client, server, SYN)
    out.packet(server, client, SYN | ACK)
    out.packet(client, server, ACK)
    return opened


def _close(out: Writer, connection: Connection) -> None:
    out.packet(connection.client, connection.server, FIN | ACK)
    out.packet(connection.server, connection.client, FIN | ACK)
    out.packet(connection.client, connection.server, ACK)


def _enough(out: Writer, packets: int | None, size: int | None) -> bool:
    return (packets is not None and out.packets >= packets) or (size is not None and out.size >= size)


def _say(out: Writer, connection: Connection, kind: Kind) -> None:
    from_client, data = connection.take(out.chance, kind.together)
    sides = (connection.client, connection.server) if from_client else (connection.server, connection.client)
    out.send(*sides, data, kind.acks)
