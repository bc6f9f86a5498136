"""Conversations through the engine: however they are cut, late, with a segment lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tests.analyzer.capture.writers import T0, Frame
from tests.analyzer.messages.test_engine import EFFECTS, EVENTUAL, LATE, REORDERED, Effect
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    STABLE,
    Ends,
    Row,
    Talk,
    by_id,
    capture,
    data_segments,
    frames,
    opening,
    rows,
    segments,
    snapped,
    talks,
    without_handshake,
    write,
)
from tests.dissectors.zookeeper.messages import (
    GOLDEN,
    connect,
    connected,
    get_data,
    initial,
    node,
    notification,
    packet,
    proposal,
    reply,
    snapshot,
    ustring,
    vector,
)

NAMES = ("sasl_395", "en3414_clients", "flw_395", "en336_boot", "en395_quorum_sasl")
BEGUN = ("sasl_395", "en3414_clients", "cl_java395_watch")
"""Captures of connections that one may come late to: no words, no elections."""

QUORUM_ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2888))
CLIENT_ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2181))


def golden(name: str) -> Path:
    return GOLDEN / f"{name}.pcap.zst"


def written(path: Path, name: str, effect: Effect) -> Path:
    """A golden capture's conversations, one after the other, with an effect.

    The one with a typed word is left out: its line break is a row of its own where it comes later than the word.
    """
    found: list[Frame] = []
    for index, talk in enumerate(each for each in talks(golden(name)) if each.writes[0][1] != b"ruok\r\n"):
        found += frames(effect(talk, Random(index)), talk, T0 + index * EVENTUAL)
    return write(path, found)


LEADER_FIRST = {
    # What the learner answers cannot be put in front of what was asked.
    ("en3414_clients", "data in SYN"),
    # Segments sent again acknowledge more than they did; where both sides wait for each other the client goes first.
    ("en3414_clients", "reordered, overlapping"),
    ("en395_quorum_sasl", "reordered, overlapping"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "effect"),
    [each for each in product(NAMES, [*EFFECTS, *REORDERED]) if each not in LEADER_FIRST],
)
def test_packets_do_not_matter(tmp_path: Path, name: str, effect: str) -> None:
    # The line about an answer says what was asked only where the request's row stands before it.
    keys = [key for key in STABLE if key != "info" or effect in EFFECTS]
    whole = by_id(rows(written(tmp_path / "whole.pcap", name, EFFECTS["whole"]), keys))
    assert by_id(rows(written(tmp_path / "a.pcap", name, (EFFECTS | REORDERED)[effect]), keys)) == whole


@pytest.mark.sampled(4)
@pytest.mark.parametrize("effect", LATE)
@pytest.mark.parametrize("name", BEGUN)
def test_captures_may_begin_late(tmp_path: Path, name: str, effect: str) -> None:
    whole = by_id(rows(written(tmp_path / "whole.pcap", name, EFFECTS["whole"]), STABLE))
    assert by_id(rows(written(tmp_path / "a.pcap", name, LATE[effect]), STABLE)) == whole


def spoken(tmp_path: Path, writes: Sequence[tuple[int, bytes]], ends: object = CLIENT_ENDS) -> list[Row]:
    talk = Talk(tuple(writes), ends)  # type: ignore[arg-type]
    return rows(capture(tmp_path / "a.pcap", segments(talk), talk))


def test_the_connect_gets_the_session_of_its_answer(tmp_path: Path) -> None:
    found = spoken(
        tmp_path, [(CLIENT, connect()), (SERVER, connected(0xABC)), (CLIENT, get_data(1)), (SERVER, reply(1, err=-101))]
    )
    assert [row["client"] for row in found] == ["0xabc"] * 4
    assert found[3]["error"] == {"code": -101, "name": "NONODE"}
    assert [row["partner"] for row in found] == [2, 1, 4, 3]


def test_an_answer_to_a_word_ends_with_the_stream(tmp_path: Path) -> None:
    found = spoken(tmp_path, [(CLIENT, b"srvr"), (SERVER, b"Zookeeper version"), (SERVER, b": 3.9\n")])
    assert [(row["operation"], row["length"], row["partner"]) for row in found] == [("srvr", 4, 2), ("srvr", 23, 1)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_word_that_was_typed(ending: bytes, tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(Talk(((CLIENT, b"ruok" + ending), (SERVER, b"imok")), CLIENT_ENDS)))
    found = rows(path)
    assert [(row["operation"], row["length"], row["partner"]) for row in found] == [
        ("ruok", 4 + len(ending), 2),
        ("ruok", 4, 1),
    ]


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


@pytest.mark.sampled(14)
@pytest.mark.parametrize("lost", range(5, 5 + len(TREE) // 1000 + 1))
def test_a_gap_in_a_snapshot(tmp_path: Path, lost: int) -> None:
    """It is partial, and as long as it was; what comes behind it is told as if nothing had happened."""
    talk = Talk(tuple(SYNCED), QUORUM_ENDS)
    packets = segments(talk)
    index = [place for place, each in enumerate(packets) if each.side == SERVER and each.payload][lost - 3]
    found = rows(capture(tmp_path / "a.pcap", [*packets[:index], *packets[index + 1 :]], talk))
    cut = next(row for row in found if row["operation"] in ("SNAPSHOT", None))
    if lost > 5:
        assert (cut["operation"], cut["state"], cut["length"]) == ("SNAPSHOT", "partial", len(TREE))
        assert [row["operation"] for row in found] == SAID
    assert [row["operation"] for row in found][-5:] == SAID[-5:]
    assert found[-1]["partner"] is not None


@pytest.mark.parametrize("longest", [16, 17, 19, 30, 45, 60])
def test_the_snap_length_cuts_packets(tmp_path: Path, longest: int) -> None:
    """Whose heads are there keep their lengths, so that nothing behind them moves."""
    writes = [
        *SYNCED[:3],
        *(write for zxid in range(8, 20) for write in proposed(zxid)),
    ]
    talk = Talk(tuple(writes), QUORUM_ENDS)
    whole = rows(capture(tmp_path / "whole.pcap", segments(talk), talk), STABLE)
    found = rows(capture(tmp_path / "a.pcap", snapped(segments(talk), longest), talk), STABLE)
    remaining = ("operation", "role", "offset", "length", "from_client", "partner_id")
    assert [[row[key] for key in remaining] for row in found] == [[row[key] for key in remaining] for row in whole]


def proposed(zxid: int) -> list[tuple[int, bytes]]:
    """What is said of one transaction."""
    requested = packet("REQUEST", -1, bytes(8) + b"\0\0\0\1\0\0\0\x02" + ustring("/n1") + bytes(4), IDS)
    return [
        (CLIENT, requested),
        (SERVER, proposal("delete", ustring("/n1"), zxid)),
        (CLIENT, packet("ACK", zxid)),
        (SERVER, packet("COMMIT", zxid)),
    ]


IDS = vector(ustring("ip") + ustring("10.0.0.1"))
WORD = ((CLIENT, b"srvr"), (SERVER, b"Zookeeper version"), (SERVER, b": 3.9\n"))
ELECTION_ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 3888))
VOTES = ((SERVER, notification()), (CLIENT, notification(config="version=1")))
OPENINGS: dict[str, tuple[tuple[tuple[int, bytes], ...], Ends, list[str]]] = {
    "a word": (WORD, CLIENT_ENDS, ["srvr", "srvr"]),
    "a word and its line's end": (((CLIENT, b"ruok\r\n"), (SERVER, b"imok")), CLIENT_ENDS, ["ruok", "ruok"]),
    "an election of 3.5": (
        ((CLIENT, initial()), *VOTES),
        ELECTION_ENDS,
        ["InitialMessage", "Notification", "Notification"],
    ),
    "one of 3.4": (
        ((CLIENT, bytes(7) + b"\2"), (CLIENT, notification(40)), (SERVER, notification(40))),
        ELECTION_ENDS,
        ["InitialMessage", "Notification", "Notification"],
    ),
}


@pytest.mark.parametrize("use_fast_path", [False, True], ids=["slow path", "fast path"])
@pytest.mark.parametrize("case", OPENINGS)
def test_what_can_only_be_a_beginning_needs_no_syn(tmp_path: Path, case: str, use_fast_path: bool) -> None:
    writes, ends, expected = OPENINGS[case]
    talk = Talk(writes, ends)
    path = capture(tmp_path / "a.pcap", without_handshake(segments(talk)), talk)
    found = rows(path, use_fast_path=use_fast_path)
    assert sorted(row["operation"] for row in found if row["role"] != "raw") == sorted(expected)


def test_a_word_inside_a_stream_is_none(tmp_path: Path) -> None:
    """Behind a SYN that was seen, or with more behind it, it is not taken for a beginning."""
    talk = Talk(((CLIENT, b"ruok" + get_data(1)), (SERVER, reply(1))), CLIENT_ENDS)
    found = rows(capture(tmp_path / "a.pcap", without_handshake(segments(talk)), talk))
    assert [row["operation"] for row in found if row["role"] != "raw"][:1] != ["ruok"]


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


def test_a_connect_in_a_connection_that_is_in_use(tmp_path: Path) -> None:
    """Both paths read it; the session of what follows is the new one."""
    requested = [write for xid in range(1, 301) for write in ((CLIENT, get_data(xid)), (SERVER, reply(xid, bytes(72))))]
    again = [(CLIENT, connect(session=0x99)), (SERVER, connected(0x99))]
    talk = Talk(((CLIENT, connect()), (SERVER, connected(0x1234)), *requested, *again, *requested), CLIENT_ENDS)
    path = capture(tmp_path / "a.pcap", segments(talk), talk)
    found = rows(path)
    assert found == rows(path, use_fast_path=False)
    assert [row["operation"] for row in found].count("connect") == 4
    assert [row["client"] for row in found] == ["0x1234"] * 602 + ["0x99"] * 602
    assert all(row["partner"] is not None for row in found)
