"""A learner that comes back too late, and the whole tree that its leader sends it: one message, as long as one likes.

Theory. The tree is the only message of these protocols without a bound: behind a SNAP all nodes stand one after the
other, parents first, and the first thing that says how long that was is its end. A node takes 170 bytes here, of which
68 are its stat: a large cluster of Kafka or Hadoop has such nodes, a million of them. Layout: dissectors/zookeeper/
quorum/snapshot.py.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from benchmarks.captures import Kind, Turn
from benchmarks.packets import MSS

LOOPBACK = 65_483
"""Bytes of a segment on an interface whose packets may have 65,535."""

SESSIONS, ACLS, IN_A_FOLDER = 500, 40, 1000
_WRITE = 1 << 20
_TYPES = {"ACK": 3, "NEWLEADER": 10, "FOLLOWERINFO": 11, "UPTODATE": 12, "SNAP": 15, "LEADERINFO": 17, "ACKEPOCH": 18}
_EPOCH = 7 << 32
_CONFIG = b"\n".join(
    [*(b"server.%d=10.1.0.%d:2888:3888:participant" % (each, each) for each in (1, 2, 3)), b"version=0"]
)
_STAT = struct.Struct(">qqqqiiiqq")


def one_snapshot(size: int, segment: int = MSS) -> Kind:
    """A capture of one learner, and of a tree of about `size` bytes in segments of so many."""

    def conversations(chance: random.Random, number: int) -> Iterator[Turn]:
        return _synchronised(chance, size)

    return Kind(f"snapshot-{size >> 20}M-{segment}", 2888, conversations, connections=1, acks=0.6, segment=segment)


def _synchronised(chance: random.Random, size: int) -> Iterator[Turn]:
    """What a learner and its leader say from the first packet to the learner's service (Learner.syncWithLeader)."""
    yield [(True, _packet("FOLLOWERINFO", 6 << 32, struct.pack(">qiq", 2, 0x10000, 0)))]
    yield [(False, _packet("LEADERINFO", _EPOCH, struct.pack(">i", 0x10000)))]
    yield [(True, _packet("ACKEPOCH", 6 << 32, struct.pack(">i", 6)))]
    yield [(False, _packet("SNAP", _EPOCH - 1))]
    for part in _tree(chance, size):
        yield [(False, part)]
    yield [(False, _packet("NEWLEADER", _EPOCH, _CONFIG))]
    yield [(True, _packet("ACK", _EPOCH)), (False, _packet("UPTODATE", -1))]
    yield [(True, _packet("ACK", _EPOCH))]


def _packet(kind: str, zxid: int, data: bytes | None = None) -> bytes:
    return struct.pack(">iq", _TYPES[kind], zxid) + _sized(data) + _sized(None)


def _tree(chance: random.Random, size: int) -> Iterator[bytes]:
    """Sessions, ACLs and nodes, in writes of a MiB."""
    part = bytearray(struct.pack(">i", SESSIONS))
    for each in range(SESSIONS):
        part += struct.pack(">qi", 0x1_0000_0000_0000 + each, 30_000)
    part += struct.pack(">i", ACLS)
    for key in range(1, ACLS + 1):
        part += struct.pack(">qii", key, 1, 31) + _sized(b"sasl") + _sized(b"user%d" % key)
    left = size - len(part)
    for path in _paths():
        content = None if chance.random() < 0.1 else chance.randbytes(30 + chance.getrandbits(5))
        found = _node(chance, path, content)
        part += found
        left -= len(found)
        if left <= 0:
            break
        if len(part) >= _WRITE:
            yield bytes(part)
            part.clear()
    yield bytes(part) + _sized(b"/") + _sized(b"BenWasHere")


def _paths() -> Iterator[bytes]:
    """The root, and folders without end: each before the nodes in it."""
    yield b""
    folder = 0
    while True:
        above = b"/services/of-team-%04d" % folder
        yield above
        for number in range(IN_A_FOLDER):
            yield above + b"/instance-%010d" % number
        folder += 1


def _node(chance: random.Random, path: bytes, content: bytes | None) -> bytes:
    zxid, time = chance.getrandbits(34), 1_700_000_000_000 + chance.getrandbits(34)
    owner = 0x1_0000_0000_0000 + chance.randrange(SESSIONS) if chance.random() < 0.2 else 0
    stat = _STAT.pack(zxid, zxid + 5, time, time + 900, chance.getrandbits(4), 0, 0, owner, zxid)
    return _sized(path) + _sized(content) + struct.pack(">q", 1 + chance.randrange(ACLS)) + stat


def _sized(data: bytes | None) -> bytes:
    return struct.pack(">i", -1 if data is None else len(data)) + (data or b"")
