"""RocketMQ through the engine: whatever the network does, on whatever port, beginning wherever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from analyzer.hexinput.pasted import cut_messages, decode_by_looks, recognise_among
from analyzer.messages.framing import UNCONFIRMED_BYTES
from dissectors.api import Role
from dissectors.registry import by_name, dissectors
from tests.analyzer.capture.writers import T0, Frame
from tests.analyzer.messages.test_engine import EFFECTS, EVENTUAL, LATE, REORDERED
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    STABLE,
    Talk,
    by_id,
    capture,
    frames,
    in_parts,
    rows,
    segments,
    talks,
    without_handshake,
    write,
)
from tests.dissectors.rocketmq.frames import command, stored
from tests.dissectors.rocketmq.truth import GOLDEN

NAMES = ("go_550_send", "m430_bin_send", "m494_register_compressed", "m550_json_batch")
KEYS = ("protocol", "role", "operation", "correlation", "partner", "from_client", "state", "client")
ALL = sorted(GOLDEN.parent.glob("*/*.pcap.zst"))
ODD_PORT = 30_120


def golden(name: str) -> Path:
    return GOLDEN / f"{name}.pcap.zst"


def written(path: Path, name: str, effect: str) -> Path:
    """A golden capture's conversations, one after the other, with an effect."""
    found: list[Frame] = []
    for index, talk in enumerate(talks(golden(name))):
        shaped = (EFFECTS | REORDERED | LATE)[effect](talk, Random(index))
        found += frames(shaped, talk, T0 + index * EVENTUAL)
    return write(path, found)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("effect", [*EFFECTS, *REORDERED])
@pytest.mark.parametrize("name", NAMES)
def test_packets_do_not_matter(tmp_path: Path, name: str, effect: str) -> None:
    assert by_id(rows(written(tmp_path / "a.pcap", name, effect), STABLE)) == by_id(rows(golden(name), STABLE))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("effect", LATE)
@pytest.mark.parametrize("name", NAMES)
def test_captures_may_begin_late(tmp_path: Path, name: str, effect: str) -> None:
    assert by_id(rows(written(tmp_path / "a.pcap", name, effect), STABLE)) == by_id(rows(golden(name), STABLE))


@pytest.mark.parametrize("first", range(0, 60, 7))
def test_captures_may_begin_within_a_message(tmp_path: Path, first: int) -> None:
    """What is left of each direction's first message is passed over; the others are all there."""
    talk = max(talks(golden("m430_bin_send")), key=lambda talk: len(talk.writes))
    packets = without_handshake(segments(talk, in_parts(Random(5), 90)))
    keys = ("from_client", "role", "correlation", "length")
    whole = rows(capture(tmp_path / "whole.pcap", packets, talk), keys)
    found = rows(capture(tmp_path / "a.pcap", packets[first:], talk), keys)
    for side in (True, False):
        own = [row for row in found if row["from_client"] == side and row["role"] != "raw"]
        expected = [row for row in whole if row["from_client"] == side]
        assert own == expected[len(expected) - len(own) :]
        assert len(own) >= min(len(expected), 2 if first else len(expected)) - 1


# ---- recognition


def moved(talk: Talk, port: int) -> Talk:
    return replace(talk, ends=(talk.ends[0], (talk.ends[1][0], port)))


def longest(talk: Talk) -> int:
    return max(len(data) for _, data in talk.writes)


def protocols(talk: Talk, path: Path, late: bool) -> set[str]:
    packets = segments(talk, in_parts(Random(1), 16_000))
    found = rows(capture(path, without_handshake(packets) if late else packets, talk), ("protocol",))
    return {row["protocol"] for row in found}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def test_on_a_foreign_port(tmp_path: Path, path: Path) -> None:
    """Ours are found by their bytes, from either end; nobody else's are taken for ours."""
    for talk in talks(path):
        own = protocols(talk, tmp_path / "own.pcap", False)
        for late in (False, True) if longest(talk) < UNCONFIRMED_BYTES else (False,):
            found = protocols(moved(talk, ODD_PORT), tmp_path / "odd.pcap", late)
            if path.parent.name == "rocketmq":
                assert found == own
            else:
                assert "rocketmq" not in found


@pytest.mark.parametrize("name", NAMES)
def test_the_requester_is_known_without_a_beginning(tmp_path: Path, name: str) -> None:
    for talk in talks(golden(name)):
        talk = moved(replace(talk, ends=(talk.ends[0], talk.ends[1])), 60_000)
        path = capture(tmp_path / "a.pcap", without_handshake(segments(talk)), talk)
        assert [row["from_client"] for row in rows(path, ("from_client",))] == [
            side == CLIENT for side, _ in talk.writes
        ]


def test_the_high_availability_port_is_none_of_ours() -> None:
    found = rows(golden("m550_controller_start"), ("protocol", "role", "source", "destination", "length"))
    ha = [row for row in found if "127.0.0.1:10912" in (row["source"], row["destination"])]
    assert [(row["protocol"], row["role"], row["length"]) for row in ha] == [
        ("unknown", "raw", 104),
        ("unknown", "raw", 40),
    ]


# ---- both sides ask, long headers

ORDER = stored(b"half")
TALK = Talk(
    (
        (CLIENT, command(11, opaque=1, topic="t")),
        (SERVER, command(39, ORDER, opaque=1)),
        (CLIENT, command(310, opaque=2, i="p" * 60_000)),
        (SERVER, command(0, flag=1, opaque=2)),
        (CLIENT, command(0, flag=1, opaque=1)),
        (SERVER, command(19, flag=1, opaque=1)),
        (SERVER, command(40, flag=2, opaque=3)),
    ),
    (("10.0.0.1", 40_000), ("10.0.0.2", 10_911)),
)


@pytest.mark.parametrize("longest", [70_000, 1400, 64])
def test_both_sides_ask(tmp_path: Path, longest: int) -> None:
    found = rows(capture(tmp_path / "a.pcap", segments(TALK, in_parts(Random(1), longest)), TALK), KEYS)
    java = "JAVA V5_5_0"
    assert sorted((tuple(row.values()) for row in found), key=str) == sorted(
        [
            ("rocketmq", "request", "PULL_MESSAGE", 1, 6, True, "complete", java),
            ("rocketmq", "request", "CHECK_TRANSACTION_STATE", 1, 5, False, "complete", java),
            ("rocketmq", "request", "SEND_MESSAGE_V2", 2, 4, True, "complete", java),
            ("rocketmq", "response", "SEND_MESSAGE_V2", 2, 3, False, "complete", java),
            ("rocketmq", "response", "CHECK_TRANSACTION_STATE", 1, 2, True, "complete", java),
            ("rocketmq", "response", "PULL_MESSAGE", 1, 1, False, "complete", java),
            ("rocketmq", "oneway", "NOTIFY_CONSUMER_IDS_CHANGED", 3, None, False, "complete", java),
        ],
        key=str,
    )


# ---- pasted bytes


def test_pasted_bytes_are_recognised() -> None:
    data = command(310, b"body", opaque=9, i="p" * 2000) + command(0, flag=1, opaque=9)
    found = recognise_among(data, dissectors())
    assert (found.dissector.name, found.fits) == ("rocketmq", True)
    pasted = list(decode_by_looks(found.dissector, cut_messages(data, found.dissector), None))
    assert [(each.header.role, each.header.operation, each.header.correlation) for each in pasted] == [
        (Role.REQUEST, "SEND_MESSAGE_V2", 9),
        (Role.RESPONSE, None, 9),
    ]
    assert by_name("rocketmq").values(pasted[0].data, pasted[0].context).values["body"] == b"body"
