"""Quorum packets printed together are the same bytes as each printed for itself."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from tests.analyzer.roads import Taken, hold_equal, taken
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, segments
from tests.dissectors.zookeeper.messages import WORLD, acl, buffer, packet, proposal, sasl, txn, ustring, vector

__all__ = ["taken"]

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2888))
template = ZooKeeperQuorum().template
DIGEST = struct.pack(">iq", 2, 77)
IDS = vector(ustring("ip") + ustring("10.0.0.1"))


def request(operation: str, body: bytes, cxid: int) -> bytes:
    head = struct.pack(">qii", 0x1_0000_0000_0001, cxid & 0xFFFF, load_numbers("operation")[operation])
    return packet("REQUEST", -1, head + body, IDS)


def said(random: Random, zxid: int) -> Iterator[tuple[int, bytes]]:
    """Any packet that there often is, and some that are like nothing."""
    path, data = ustring(f"/a{random.randrange(2000)}"), buffer(random.choice((None, b"", b"x", b"data" * 20)))
    tail = random.choice((b"", DIGEST))
    acls = random.choice((WORLD, WORLD, vector(), vector(acl("digest", "me:hash"))))
    created = path + data + acls + b"\0"
    transaction = random.choice(
        (
            proposal("create", created + bytes(4) + tail, zxid),
            proposal("create", created, zxid),
            proposal("setData", path + data + struct.pack(">i", zxid & 0xFFFF) + tail, zxid),
            proposal("delete", path + tail, zxid),
            proposal("closeSession", tail, zxid),
            proposal("error", struct.pack(">i", random.choice((-101, -110, 5))), zxid),
            proposal("multi", vector(struct.pack(">i", 2) + buffer(path)) + tail, zxid),
            proposal("delete", b"\0\0\0\x09/", zxid),
            packet("INFORM", zxid, txn("delete", path + tail, zxid)),
        )
    )
    yield (
        CLIENT,
        random.choice(
            (
                request("create", path + data + acls + bytes(4), zxid),
                request("setData", path + data + bytes(4), zxid),
                request("sync", path, zxid),
                request("closeSession", b"", zxid),
                request("multi", struct.pack(">i?i", -1, True, -1), zxid),
                request("auth", bytes(4) + ustring("digest") + buffer(b"me:word"), zxid),
            )
        ),
    )
    yield SERVER, transaction
    yield CLIENT, packet("ACK", zxid)
    yield SERVER, packet("COMMIT", zxid)
    if not random.randrange(4):
        sessions = b"".join(struct.pack(">qi", random.getrandbits(60), 6000) for _ in range(random.randrange(3)))
        yield SERVER, packet("PING", zxid)
        yield CLIENT, packet("PING", zxid, sessions)


def opened(folder: Path, random: Random, count: int = 300) -> Session:
    writes = [(CLIENT, packet("FOLLOWERINFO", 0, bytes(20)))]
    for zxid in range(0x1_0000_0001, 0x1_0000_0001 + count):
        writes += said(random, zxid) if random.randrange(9) else said(random, 5)
    talk = Talk(tuple(writes), ENDS)
    return Session([capture(folder / "a.pcap", segments(talk), talk)]).load()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["table", "rows", "tsv", "fields", "everything"])
def test_packets_of_all_kinds(tmp_path: Path, form: str, taken: Taken) -> None:
    with opened(tmp_path, Random(form)) as session:
        hold_equal(session, {form})
        if form == "table":
            assert taken.rows > len(session.rows) // 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_packets_in_which_bytes_have_changed(tmp_path: Path, seed: int, taken: Taken) -> None:
    """Lengths stay, so that all packets stay in step."""
    random, writes = Random(seed), [(CLIENT, packet("FOLLOWERINFO", 0, bytes(20)))]
    for zxid in range(1, 200):
        for side, message in said(random, zxid):
            changed = bytearray(message)
            if len(message) > 40 and random.random() < 0.3:
                changed[random.randrange(16, len(message) - 24)] = random.choice((0, 1, 5, 127, 128, 255))
            writes.append((side, bytes(changed)))
    talk = Talk(tuple(writes), ENDS)
    with Session([capture(tmp_path / "a.pcap", segments(talk), talk)]).load() as session:
        hold_equal(session, {"table", "fields"})


NONE: dict[str, tuple[bytes, Role]] = {
    "a record of an older release": (proposal("create", ustring("/a") + buffer(b"x") + WORLD + b"\0"), Role.REQUEST),
    "a multi": (proposal("multi", vector()), Role.REQUEST),
    "a transaction without a record": (proposal("closeSession"), Role.REQUEST),
    "a secret": (request("auth", bytes(4) + ustring("digest") + buffer(b"me:word"), 1), Role.ONEWAY),
    "an unknown type": (packet(77), Role.ONEWAY),
    "half a field of a later release": (packet("FOLLOWERINFO", 0, bytes(10)), Role.ONEWAY),
    "bytes behind it": (packet("ACK") + b"?", Role.ONEWAY),
    "bytes behind a transaction": (proposal("delete", ustring("/a") + b"?"), Role.REQUEST),
    "half a session": (packet("PING", 7, bytes(13)), Role.RESPONSE),
    "a cut packet": (packet("ACK")[:-1], Role.ONEWAY),
    "SASL": (sasl(b"x"), Role.ONEWAY),
    "nothing": (b"", Role.ONEWAY),
}


@pytest.mark.parametrize("case", NONE)
def test_what_stands_for_itself(case: str) -> None:
    message, role = NONE[case]
    code = int.from_bytes(message[:4], signed=True)
    assert template(message, Context(role, None if case == "SASL" else code), None) is None


def test_every_cut_stands_for_itself() -> None:
    message = proposal("setData", ustring("/a") + buffer(b"x") + bytes(4))
    assert template(message, Context(Role.REQUEST, 2), None) is not None
    for end in range(len(message)):
        assert template(message[:end], Context(Role.REQUEST, 2), None) is None
