"""Conversations through the engine: however they are cut, late, with a segment lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random

import pytest

from analyzer.session import Session
from tests.analyzer.capture.writers import T0, Frame
from tests.analyzer.test_engine import EFFECTS, EVENTUAL, LATE, REORDERED, Effect, touched
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    STABLE,
    Row,
    Talk,
    by_id,
    capture,
    data_segments,
    frames,
    opening,
    rows,
    rows_of,
    segments,
    talks,
    write,
)
from tests.dissectors.zookeeper.messages import (
    GOLDEN,
    connect,
    connected,
    get_data,
    node,
    packet,
    proposal,
    reply,
    snapshot,
    ustring,
)

NAMES = ("sasl_395", "en3414_clients", "flw_395", "en336_boot", "en395_quorum_sasl")
BEGUN = ("sasl_395", "en3414_clients", "cl_java395_watch")
"""Captures of connections that one may come late to: no words, no elections."""

QUORUM_ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2888))
CLIENT_ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2181))


def golden(name: str) -> Path:
    return GOLDEN / f"{name}.pcap.zst"


def written(path: Path, name: str, effect: Effect) -> Path:
    """A golden capture's conversations, one after the other, with an effect."""
    found: list[Frame] = []
    for index, talk in enumerate(talks(golden(name))):
        found += frames(effect(talk, Random(index)), talk, T0 + index * EVENTUAL)
    return write(path, found)


LEADER_FIRST = {
    # What the learner answers cannot be put in front of what was asked.
    ("en3414_clients", "data in SYN"),
    # Segments sent again acknowledge more than they did; where both sides wait for each other the client goes first.
    ("en3414_clients", "reordered, overlapping"),
    ("en395_quorum_sasl", "reordered, overlapping"),
}


@pytest.mark.parametrize(
    ("name", "effect"),
    [each for each in product(NAMES, [*EFFECTS, *REORDERED]) if each not in LEADER_FIRST],
)
def test_packets_do_not_matter(tmp_path: Path, name: str, effect: str) -> None:
    whole = by_id(rows(written(tmp_path / "whole.pcap", name, EFFECTS["whole"]), STABLE))
    assert by_id(rows(written(tmp_path / "a.pcap", name, (EFFECTS | REORDERED)[effect]), STABLE)) == whole


@pytest.mark.parametrize("effect", LATE)
@pytest.mark.parametrize("name", BEGUN)
def test_captures_may_begin_late(tmp_path: Path, name: str, effect: str) -> None:
    whole = by_id(rows(written(tmp_path / "whole.pcap", name, EFFECTS["whole"]), STABLE))
    assert by_id(rows(written(tmp_path / "a.pcap", name, LATE[effect]), STABLE)) == whole


@pytest.mark.parametrize("block", [1, 3, 64])
@pytest.mark.parametrize("name", ["flw_395", "mtu_en395_snap"])
def test_blocks_do_not_matter(name: str, block: int) -> None:
    assert rows(golden(name), block=block) == rows(golden(name))


@pytest.mark.parametrize("name", ["sasl_395", "en3414_clients"])
def test_one_segment_is_lost(tmp_path: Path, name: str) -> None:
    """Each segment of some connections in turn: what it does not touch keeps its place, operation and partner."""
    for talk in talks(golden(name))[:3]:
        packets = segments(Talk(talk.writes[:40], talk.ends, talk.isn))
        whole = by_id(rows(capture(tmp_path / "whole.pcap", packets, talk), STABLE))
        for index, lost in enumerate(packets):
            if not lost.payload:
                continue
            own = by_id(rows(capture(tmp_path / "a.pcap", [*packets[:index], *packets[index + 1 :]], talk), STABLE))
            damaged = touched(whole.values(), lost)
            for key in whole.keys() - damaged:
                assert own[key]["length"] == whole[key]["length"], f"without segment {index}"
                if whole[key]["operation"] != "PING":  # they repeat one zxid: without one of them the next ones pair
                    assert own[key]["partner_id"] in (whole[key]["partner_id"], None)


def spoken(tmp_path: Path, writes: Sequence[tuple[int, bytes]], ends: object = CLIENT_ENDS) -> list[Row]:
    talk = Talk(tuple(writes), ends)  # type: ignore[arg-type]
    return rows(capture(tmp_path / "a.pcap", segments(talk), talk))


def test_the_session_is_told_to_the_connect_that_asked_for_it(tmp_path: Path) -> None:
    found = spoken(
        tmp_path, [(CLIENT, connect()), (SERVER, connected(0xABC)), (CLIENT, get_data(1)), (SERVER, reply(1, err=-101))]
    )
    assert [row["client"] for row in found] == ["0xabc"] * 4
    assert found[3]["error"] == {"code": -101, "name": "NONODE"}
    assert [row["partner"] for row in found] == [2, 1, 4, 3]


def test_an_answer_to_a_word_ends_with_the_stream(tmp_path: Path) -> None:
    found = spoken(tmp_path, [(CLIENT, b"srvr"), (SERVER, b"Zookeeper version"), (SERVER, b": 3.9\n")])
    assert [(row["operation"], row["length"], row["partner"]) for row in found] == [("srvr", 4, 2), ("srvr", 23, 1)]


def test_a_capture_that_ends_inside_an_answer_to_a_word(tmp_path: Path) -> None:
    talk = Talk(((CLIENT, b"ruok"), (SERVER, b"imok")), CLIENT_ENDS)
    found = rows(capture(tmp_path / "a.pcap", [*opening(), *data_segments(talk.writes)], talk))
    assert [(row["operation"], row["info"], row["state"]) for row in found] == [
        ("ruok", "", "complete"),
        ("ruok", "imok", "complete"),
    ]


TREE = snapshot(*(node(f"/n{number}", bytes(90)) for number in range(200)))
SYNCED = [
    (CLIENT, packet("FOLLOWERINFO", 0, bytes(20))),
    (SERVER, packet("LEADERINFO", 0, b"\0\1\0\0")),
    (CLIENT, packet("ACKEPOCH", 0, bytes(4))),
    (SERVER, packet("SNAP", 7)),
    *((SERVER, TREE[at : at + 1000]) for at in range(0, len(TREE), 1000)),
    (SERVER, packet("NEWLEADER", 7)),
    (CLIENT, packet("ACK", 7)),
    (SERVER, packet("UPTODATE", -1)),
    (SERVER, proposal("delete", ustring("/n1"), 8)),
    (CLIENT, packet("ACK", 8)),
]
SAID = ["FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "SNAP", "SNAPSHOT", "NEWLEADER", "ACK", "UPTODATE", "PROPOSAL", "ACK"]


def test_a_snapshot_is_one_message(tmp_path: Path) -> None:
    found = spoken(tmp_path, SYNCED, QUORUM_ENDS)
    assert [row["operation"] for row in found] == SAID
    assert (found[4]["length"], found[4]["role"], found[4]["state"]) == (len(TREE), "oneway", "complete")
    assert found[4]["info"] == "201 nodes, 1 session"
    assert (found[9]["partner"], found[9]["role"]) == (9, "response")


def test_a_gap_in_a_snapshot(tmp_path: Path) -> None:
    """It is partial as far as it goes; behind it the next packet is found."""
    talk = Talk(tuple(SYNCED), QUORUM_ENDS)
    packets = segments(talk)
    lost = next(index for index, each in enumerate(packets) if each.side == SERVER and each.at > 5000)
    path = capture(tmp_path / "a.pcap", [*packets[:lost], *packets[lost + 1 :]], talk)
    with Session([path]).load() as session:
        found = rows_of(session)
    cut = next(row for row in found if row["operation"] == "SNAPSHOT")
    assert (cut["state"], cut["length"]) == ("partial", packets[lost].at - cut["offset"])
    assert [row["operation"] for row in found if row["protocol"] != "unknown"] == SAID
    assert found[-1]["partner"] is not None


def test_a_learner_that_is_reset_inside_a_packet(tmp_path: Path) -> None:
    talk = Talk((SYNCED[0], (SERVER, packet("LEADERINFO", 0, b"\0\1\0\0")[:17])), QUORUM_ENDS)
    found = rows(capture(tmp_path / "a.pcap", segments(talk), talk))
    assert [(row["operation"], row["role"], row["state"]) for row in found][1] == ("LEADERINFO", "oneway", "partial")


def test_a_secret_is_masked_in_rows(tmp_path: Path) -> None:
    talk = Talk(((CLIENT, connect()), (SERVER, connected(5))), CLIENT_ENDS)
    path = capture(tmp_path / "a.pcap", [*segments(talk)][:-1], talk)
    found = rows(path, ("fields",))
    assert "00000000" not in str(found)
    assert str(found[0]["fields"]["passwd"]) == "<secret, 16 long>"
