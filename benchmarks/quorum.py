"""A leader and its learners as on a loaded ensemble, of recorded packets with new zxids and cxids.

Followers take clients' requests to the leader, get its proposals, acknowledge them and are told to commit; observers
are told what was agreed, in one packet. Every learner is pinged. One connection in three is an observer's.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from itertools import count

from benchmarks.captures import Turn
from benchmarks.recorded import by_operation, exchanges

RECORDED = ("en395_quorum_sasl", "en3414_clients", "en395_txns_follower")
PROTOCOL = "zookeeper-quorum"
OPENING = ("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "NEWLEADER", "ACK", "UPTODATE")
LEARNER, LEADER = True, False

ASKED, PINGED = 0.5, 0.08
"""How often a transaction is one that this learner's client asked for, and how often the leader pings before it."""

_ZXID = 4
_CXID_OF_REQUEST = 24  # behind the head of 16 bytes: the session, then the cxid
_ZXID_OF_TXN = 28  # the session and the cxid, then the zxid


def quorum(chance: random.Random, number: int) -> Iterator[Turn]:
    """The n-th learner: it is in step at once, then follows."""
    found = by_operation([each for name in RECORDED for each in exchanges("zookeeper", name, PROTOCOL)])
    yield [(found[name][0].from_client, found[name][0].request) for name in OPENING]
    zxid, cxid, observer = count(0x1_0000_0001), count(1), number % 3 == 2
    while True:
        turn: Turn = []
        if chance.random() < PINGED:
            ping, pong = chance.choice(found["PING"]).messages
            turn += [(LEADER, ping), (LEARNER, pong)]
        some = [next(zxid) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        for _ in some:
            if chance.random() < ASKED:
                request = chance.choice(found["REQUEST"]).request
                turn.append((LEARNER, numbered(request, _CXID_OF_REQUEST, ">i", next(cxid))))
        if observer:
            turn += [(LEADER, transaction(chance.choice(found["INFORM"]).request, each)) for each in some]
        else:
            exchange = [chance.choice(found["PROPOSAL"]).messages for _ in some]
            commit = found["COMMIT"][0].request
            turn += [(LEADER, transaction(told, each)) for (told, _), each in zip(exchange, some, strict=True)]
            turn += [(LEARNER, numbered(ack, _ZXID, ">q", each)) for (_, ack), each in zip(exchange, some, strict=True)]
            turn += [(LEADER, numbered(commit, _ZXID, ">q", each)) for each in some]
        yield turn


def transaction(packet: bytes, zxid: int) -> bytes:
    """A PROPOSAL or INFORM of another transaction."""
    return numbered(numbered(packet, _ZXID, ">q", zxid), _ZXID_OF_TXN, ">q", zxid)


def numbered(packet: bytes, at: int, form: str, number: int) -> bytes:
    """A packet with another number at a place."""
    return packet[:at] + struct.pack(form, number) + packet[at + struct.calcsize(form) :]
