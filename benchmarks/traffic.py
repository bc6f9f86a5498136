"""What busy clients and a real network do to conversations: each property is a switch with a documented share.

Theory. Packets that arrive in order, one message each, are the easy case. Real captures have requests in flight,
packets that are sent again, that overtake each other or that the capture missed, and connections that come and go.
The shares of REAL were measured with tshark (`tcp.analysis.*`) and our own index:

    a Kafka client on loopback, 30 connections, 415,964 packets
        requests in flight when one is sent: 1 in 26 %, 2 in 7 %, 3 in 4 %, 4 to 10 in 10 %, more in the others
        messages that share a packet with another: 7 %
        data packets sent again: 0.06 %
    131 recordings of clients and servers of Kafka, ZooKeeper, Pulsar and RocketMQ
        data packets sent again: none in two thirds of them, 0.2 to 1.8 % in the others
        data packets above 1,448 bytes (loopback): 0 to 9 %, the largest 65,483 bytes
        packets by connection: 5 to 86 for Kafka, so most connections say fewer than 20 messages

Reordering and losses have no recording: 0.05 % and none are assumed, and the sweep of DISTURBANCES varies them.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

Message = tuple[bool, bytes]
"""Whether the client sends it, and its bytes."""

Turn = list[Message]
"""Messages of both sides at whose end nothing is unanswered."""

OPENING_TURNS = 3
"""Turns that a connection does not overlap: a client sends nothing else before its session is open."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Properties of the traffic of one capture. The default is tame: in order, nothing lost, all connections alike."""

    in_flight: tuple[tuple[int, float], ...] = ()
    """Turns that are under way at once, with weights; empty: each turn ends before the next begins."""
    retransmitted: float = 0.0
    """Share of data packets that come a second time, 5 to 200 packets later."""
    reordered: float = 0.0
    """Share of data packets that are captured 1 to 5 packets too late."""
    missed: float = 0.0
    """Share of data packets that the capture lacks."""
    snap: int = 262_144
    """Most bytes of a packet that are captured."""
    ipv6: float = 0.0
    """Share of connections over IPv6."""
    vlan: float = 0.0
    """Share of connections with an IEEE 802.1Q tag."""
    tls: float = 0.0
    """Share of connections that are encrypted, on the port behind the plain one."""
    turns: tuple[int, int] | None = None
    """Fewest and most turns of a connection, which then closes and is followed by a new one; None: no end."""
    one_way: bool = False
    """Whether only the servers' packets were captured."""
    delayed_acks: bool = False
    """Whether an acknowledgement without data comes 3 to 8 packets after what it acknowledges, not at once."""


TAME = Traffic()

BUSY = ((1, 30), (2, 15), (3, 10), (5, 20), (10, 15), (30, 7), (120, 3))
"""Turns in flight of real producers, by weight; a turn has 1 to 3 requests."""

REAL = Traffic(in_flight=BUSY, retransmitted=0.0006, reordered=0.0005, ipv6=0.2, vlan=0.1, tls=0.05, delayed_acks=True)
SHORT = Traffic(retransmitted=0.002, ipv6=0.2, turns=(1, 10))
ONE_WAY = Traffic(in_flight=BUSY, retransmitted=0.0006, one_way=True)
SNAPPED = Traffic(in_flight=BUSY, snap=256)
DISTURBANCES = (0.0001, 0.001, 0.01, 0.05)
"""Shares of data packets that are disturbed in the sweep, half of them sent again, a quarter late, a quarter missed."""


def disturb(share: float) -> Traffic:
    """Real traffic of which this share of data packets is disturbed."""
    return Traffic(in_flight=BUSY, retransmitted=share / 2, reordered=share / 4, missed=share / 4)


class Overlap:
    """The messages of one connection's turns, some of which are under way at once.

    Of each turn the first side's messages come when it begins, and the others in the order of the turns.
    """

    def __init__(self, turns: Iterator[Turn], traffic: Traffic, chance: random.Random) -> None:
        self._turns, self._chance = turns, chance
        self._depths = [depth for depth, _ in traffic.in_flight]
        self._weights = [weight for _, weight in traffic.in_flight]
        self._left = chance.randint(*traffic.turns) if traffic.turns else None
        self._begun = 0
        self._waiting: deque[Turn] = deque()

    def begin_turn(self) -> Turn:
        """What is sent next: the beginning of a turn, and answers of earlier ones. Empty when the connection ends."""
        turn = self._next_turn()
        if turn is None:
            return self.finish()
        if not self._depths or self._begun <= OPENING_TURNS:
            return turn
        first = turn[0][0]
        head = next((at for at, (side, _) in enumerate(turn) if side != first), len(turn))
        self._waiting.append(turn[head:])
        sent, (depth,) = turn[:head], self._chance.choices(self._depths, self._weights)
        while len(self._waiting) >= depth:
            sent = [*sent, *self._waiting.popleft()]
        return sent

    def finish(self) -> Turn:
        """All answers that are still to be sent."""
        rest = [message for turn in self._waiting for message in turn]
        self._waiting.clear()
        return rest

    def _next_turn(self) -> Turn | None:
        if self._left is not None and self._begun >= self._left:
            return None
        self._begun += 1
        return next(self._turns, None)


def encrypt(chance: random.Random) -> Iterator[Turn]:
    """The turns of a TLS 1.3 connection (RFC 8446): hellos, then application data of any length."""
    hello, answer = chance.randbytes(508), chance.randbytes(118)
    yield [
        (True, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + hello),
        (False, b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76" + answer + b"\x14\x03\x03\x00\x01\x01"),
    ]
    while True:
        yield [(side, _seal(chance, 40 + int(chance.expovariate(1 / 300)))) for side in (True, False)]


def _seal(chance: random.Random, length: int) -> bytes:
    return b"\x17\x03\x03" + length.to_bytes(2) + chance.randbytes(length)
