"""The fast path of the quorum's packets says what its framer, its header and its conversation say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import analyzer.messages.message_spans
from analyzer.capture.sources import gather_rows
from analyzer.decode.content import find_dissector, read_header, read_message
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from dissectors.api import Role
from dissectors.wire.fast_path import Column, HeaderView, Wire
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from dissectors.zookeeper.quorum.conversation import Phase, QuorumConversation, answering
from dissectors.zookeeper.quorum.fast_path import FAST_PATH, FEW_IDS
from dissectors.zookeeper.quorum.framer import Packets
from dissectors.zookeeper.quorum.header import HEAD
from dissectors.zookeeper.quorum.probe import is_usual
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, in_parts, rows, segments
from tests.dissectors.fast_paths import Message, looks
from tests.dissectors.window import Bytes
from tests.dissectors.zookeeper.messages import GOLDEN, buffer, packet, proposal, sasl, ustring, vector

pytestmark = pytest.mark.xdist_group("fast_paths")

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2888))
QUORUM = ZooKeeperQuorum()
LEARNER, LEADER = True, False
ID = ustring("ip") + ustring("10.0.0.1")


@cache
def recorded() -> list[Message]:
    """Packets of real ensembles; what has no code is none."""
    found: list[Message] = []
    for path in sorted(GOLDEN.glob("*.pcap.zst")):
        with Session([path]).load() as session:
            for row in range(len(session.rows)):
                dissector, header = find_dissector(session, row), read_header(session, row)
                if dissector is not None and dissector.name == QUORUM.name and header.code is not None:
                    found.append((read_message(session, row), session.rows.cell("side", row) == FROM_CLIENT))
    return found


def lengths(messages: Sequence[Message], available: Sequence[int]) -> list[int]:
    """What the fast path says of messages of which so many bytes are at hand; each stands alone, before other bytes."""
    data = b"".join(message.ljust(FAST_PATH.WIDTH, b"\0") + b"\xee" * 64 for message, _ in messages) + b"\xff" * 4096
    sizes = np.array([max(len(message), FAST_PATH.WIDTH) + 64 for message, _ in messages], np.int64)
    at = np.cumsum(sizes) - sizes

    def gather(rows: Column, offset: Column, width: int) -> Column:
        return gather_rows(data, at[rows] + offset, width)

    side = np.array([from_client for _, from_client in messages], bool)
    found: list[int] = FAST_PATH.lengths(
        Wire(gather_rows(data, at, FAST_PATH.WIDTH), np.array(available, np.int64), side, gather)
    ).tolist()
    return found


def assert_measured(messages: Sequence[Message], available: Sequence[int]) -> int:
    """Where the fast path tells a length the framer tells the same; where it refuses, the framer does, or remembers.

    Unusual packets are left to the framer.

    Returns how often it told one.
    """
    found = lengths(messages, available)
    for length, (data, side), there in zip(found, messages, available, strict=True):
        framer = Packets(not side)
        reported = framer.length(Bytes(data[:there]), False)
        if length > 0:
            assert (reported, framer.settled) == (length, True), data[:40].hex()
        elif length == 0:
            left = data[:4] == packet("SNAP")[:4] or not is_usual(data[: HEAD.size], side)
            assert reported == 0 or left, data[:40].hex()
        else:
            assert reported is not None, data[:40].hex()
            assert reported < 0 or int.from_bytes(data[-4:]) != 0xFFFFFFFF
    return sum(length > 0 for length in found)


def test_recorded_packets() -> None:
    assert len(recorded()) > 400
    reported = assert_measured(recorded(), [len(data) for data, _ in recorded()])
    assert reported == len(recorded()) - sum(data[:4] == packet("SNAP")[:4] for data, _ in recorded())


@pytest.mark.parametrize("seed", range(8))
def test_mutated_packets(seed: int) -> None:
    random, found = Random(seed), []
    for data, side in recorded():
        mutated = bytearray(data)
        for _ in range(random.randint(1, 3)):
            mutated[random.randrange(len(data))] = random.choice((0, 1, 5, 15, 20, 127, 128, 255))
        found.append((bytes(mutated), side))
    there = [max(random.randint(0, len(data)), FAST_PATH.WIDTH) for data, _ in found]
    assert assert_measured([each for each, n in zip(found, there, strict=True) if n <= len(each[0])],
                           [n for each, n in zip(found, there, strict=True) if n <= len(each[0])]) > 50  # fmt: skip


def test_every_cut_of_a_request_with_ids() -> None:
    data = packet("REQUEST", -1, bytes(16), vector(ID, ID))
    cuts = range(FAST_PATH.WIDTH, len(data) + 1)
    found = lengths([(data, LEARNER)] * len(cuts), cuts)
    assert found[-1] == len(data)
    assert {length < 0 for length in found[:-1]} == {True}


FORMS: dict[str, tuple[bytes, int]] = {
    "no ids": (packet("ACK"), 20),
    "none of them": (packet("ACK", ids=bytes(4)), 20),
    "an id of nulls": (packet("ACK", ids=vector(ustring(None) + ustring(None))), 28),
    "many ids": (packet("ACK", ids=vector(*[ID] * (FEW_IDS + 1))), -1),
    "too many": (packet("ACK", ids=b"\x7f\0\0\0"), 0),
    "a negative count": (packet("ACK", ids=b"\xff\xff\xff\xfe"), 0),
    "an id of negative length": (packet("ACK", ids=vector(b"\xff\xff\xff\xfe")), 0),
    "an id that is too long": (packet("ACK", ids=vector(b"\x7f\0\0\0")), 0),
    "an unknown type": (packet(77), 0),
    "no type": (packet(0), 0),
    "a negative length": (packet("ACK")[:12] + b"\xff\xff\xff\xfe" + packet("ACK")[16:], 0),
    "a length beyond all": (packet("ACK")[:12] + b"\x7f\0\0\0" + packet("ACK")[16:], 0),
    "a SNAP leaves a snapshot": (packet("SNAP"), 0),
    "SASL": (sasl(bytes(9)), 0),
}


@pytest.mark.parametrize("case", FORMS)
def test_forms(case: str) -> None:
    data, expected = FORMS[case]
    assert lengths([(data, LEARNER)], [len(data)]) == [expected]


SESSION = bytes(7) + b"\5"
LOOKS: dict[str, tuple[bytes, bool, tuple[int | None, str | None] | None]] = {
    "a proposal": (packet("PROPOSAL", 9, b"?"), LEADER, (9, "2")),
    "its ACK": (packet("ACK", 9), LEARNER, (9, "2")),
    "an ACK of a leader": (packet("ACK", 9), LEADER, (None, None)),
    "a ping": (packet("PING", 9), LEADER, (9, "5")),
    "its answer": (packet("PING", 9, b""), LEARNER, (9, "5")),
    "a question": (packet("REVALIDATE", 1, SESSION + bytes(4)), LEARNER, (5, "6")),
    "its answer, too": (packet("REVALIDATE", 1, SESSION + b"\1"), LEADER, (5, "6")),
    "a question without a session": (packet("REVALIDATE", 1), LEARNER, None),
    "a commit": (packet("COMMIT", 9), LEADER, (None, None)),
    "an unknown type": (packet(77), LEADER, None),
}


@pytest.mark.parametrize("case", LOOKS)
def test_headers(case: str) -> None:
    data, side, expected = LOOKS[case]
    (found,) = looks(FAST_PATH, [(data, side)])
    plain = FAST_PATH.look(data, side)
    assert plain.header == answering(QUORUM.header(data, side), side)
    if expected is None:
        assert found is None
    else:
        kind = expected if plain.key is not None else (None, None)
        assert found is not None
        assert (plain.key, plain.kind) == kind
        assert (found.header, found.key, found.stepped) == (plain.header, plain.key, plain.stepped)


def test_recorded_headers() -> None:
    found = looks(FAST_PATH, recorded())
    sure = 0
    for look, (data, side) in zip(found, recorded(), strict=True):
        if look is not None:
            plain = FAST_PATH.look(data, side)
            sure += 1
            assert look.header == plain.header
            assert replace_kind(look) == replace_kind(plain)
    assert sure > 0.95 * len(recorded())


def replace_kind(look: HeaderView) -> HeaderView:
    """What has no key has no kind that counts."""
    return look._replace(kind=None) if look.key is None else look


def test_a_number_that_stands_for_none_is_stepped() -> None:
    data = packet("PING", -(1 << 63))
    (found,) = looks(FAST_PATH, [(data, LEADER)])
    assert found is not None
    assert found.stepped
    assert FAST_PATH.look(data, LEADER).stepped


@pytest.mark.parametrize(
    "reason", [{"snapshot": True}, {"gapped": True}, {"phase": Phase.ASKING}, {"phase": Phase.JOINING}]
)
def test_what_is_not_steady(reason: dict[str, Any]) -> None:
    assert FAST_PATH.steady(QuorumConversation(phase=Phase.OLD))
    assert not FAST_PATH.steady(QuorumConversation(**reason))


def test_an_ack_that_nobody_requested_is_no_answer() -> None:
    conversation = QUORUM.conversation()
    assert conversation.step(0, packet("ACK", 9), LEARNER).header == replace(
        QUORUM.header(packet("ACK", 9), LEARNER), role=Role.ONEWAY
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("look", [1, 1000])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("small_scale")
def test_the_two_roads_agree(tmp_path: Path, seed: int, look: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However packets lie in segments, and also where bytes in them have changed."""
    monkeypatch.setattr(analyzer.messages.message_spans, "WORTH_A_LOOK", look)
    random, flows = Random(seed), {CLIENT: b"", SERVER: b""}
    for zxid in range(8, 60):
        large = proposal("setData", ustring("/a") + buffer(bytes(random.choice((0, 9, 3000)))) + bytes(4), zxid)
        flows[SERVER] += large + packet("COMMIT", zxid) + packet("PING", 8)
        flows[CLIENT] += packet("REQUEST", -1, bytes(16), vector(*[ID] * random.randrange(7))) + packet("ACK", zxid)
        flows[CLIENT] += packet("PING", 8, b"")
    if seed % 3 == 2:
        changed = bytearray(flows[SERVER])
        changed[random.randrange(len(changed))] ^= 0xFF
        flows[SERVER] = bytes(changed)
    cut = in_parts(random, random.choice((30, 300, 2000)))
    opening = (CLIENT, packet("FOLLOWERINFO", 0, bytes(20))), (SERVER, packet("UPTODATE", -1))
    talk = Talk((*opening, *flows.items()), ENDS)
    path = capture(tmp_path / "a.pcap", segments(talk, cut), talk)
    plain = rows(path, use_fast_path=False)
    assert len(plain) > 100
    for block in (3, 50, 10_000):
        assert rows(path, block=block) == plain


@pytest.mark.usefixtures("small_scale")
def test_a_raw_run_ends_where_its_own_bytes_have_come(tmp_path: Path) -> None:
    """Behind a packet without its end, what follows reads as ids for a long while, and then as none."""
    broken = packet("REQUEST", -1, bytes(16))[:-4]
    acks = [packet("ACK", 1005 + number) for number in range(300)]
    opening = (CLIENT, packet("FOLLOWERINFO", 0, bytes(20))), (SERVER, packet("UPTODATE", -1))
    talk = Talk((*opening, *[(CLIENT, each) for each in (*acks[:9], broken, *acks)]), ENDS)
    path = capture(tmp_path / "a.pcap", segments(talk), talk)
    plain = rows(path, use_fast_path=False)
    (raw,) = (row for row in plain if row["role"] == "raw")
    assert (raw["length"], raw["first_packet"], raw["last_packet"]) == (len(broken), 15, 15)
    for block in (3, 50, 10_000):
        assert rows(path, block=block) == plain
