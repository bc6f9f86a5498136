"""Pulsar through the engine: rows depend on what was said, not on segments, ports, or when the capture began."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from analyzer.session import Session
from tests.analyzer.capture.writers import NS, T0, Frame
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    STABLE,
    Row,
    Segment,
    Talk,
    by_id,
    byte_by_byte,
    capture,
    doubled,
    frames,
    in_parts,
    overlapping,
    reordered,
    rows,
    segments,
    talks,
    without_handshake,
    write,
)
from tests.dissectors.pulsar.frames import (
    CONNECT,
    CONNECTED,
    ack,
    acked,
    found,
    lookup,
    produced,
    producer,
    receipt,
    send,
)

GOLDEN = Path(__file__).parents[2] / "golden"
NAMES = ["auth4_cpp", "go4_txn", "v5_queue", "go4_chunks"]
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 6650))

Effect = Callable[[Talk, Random], list[Segment]]
EFFECTS: dict[str, Effect] = {
    "whole": lambda talk, random: segments(talk),
    "byte by byte": lambda talk, random: segments(talk, byte_by_byte),
    "in parts": lambda talk, random: segments(talk, in_parts(random)),
    "doubled": lambda talk, random: doubled(segments(talk, in_parts(random))),
    "overlapping": lambda talk, random: overlapping(segments(talk, in_parts(random)), talk, random),
    "reordered": lambda talk, random: reordered(segments(talk, in_parts(random)), random),
    "late": lambda talk, random: without_handshake(segments(talk)),
    "late, in parts": lambda talk, random: without_handshake(segments(talk, in_parts(random))),
}


def golden(name: str) -> Path:
    return GOLDEN / "pulsar" / f"{name}.pcap.zst"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("name", NAMES)
def test_packets_do_not_matter(tmp_path: Path, name: str, effect: str) -> None:
    packets: list[Frame] = []
    for index, talk in enumerate(talks(golden(name))):
        packets += frames(EFFECTS[effect](talk, Random(index)), talk, T0 + index * 100 * NS)
    # The line about an answer says what was asked only where the request's row stands before it.
    keys = [key for key in STABLE if key != "info" or effect != "reordered"]
    assert by_id(rows(write(tmp_path / "a.pcap", packets), keys)) == by_id(rows(golden(name), keys))


# ---- lost segments

TALK = Talk(
    tuple(
        write
        for number in range(1, 9)
        for write in ((CLIENT, lookup(number, "t" * number)), (SERVER, found(number)), (CLIENT, send(sequence=number)),
                      (SERVER, receipt(0, number)))
    ),
    ENDS,
)  # fmt: skip


def test_a_lost_part_of_a_message(tmp_path: Path) -> None:
    """Behind the gap every message is found again."""
    whole = by_id(rows(capture(tmp_path / "a.pcap", segments(TALK), TALK), STABLE))
    parts = segments(TALK, in_parts(Random(3), 20))
    for lost in [index for index, each in enumerate(parts) if each.payload][:40]:
        removed, behind = parts[lost], parts[lost].at + len(parts[lost].payload)
        own = by_id(rows(capture(tmp_path / "b.pcap", [*parts[:lost], *parts[lost + 1 :]], TALK), STABLE))
        for key, row in whole.items():
            touched = row["offset"] < behind and row["offset"] + row["length"] > removed.at
            if not (touched and row["from_client"] == (removed.side == CLIENT)):
                assert (own[key]["operation"], own[key]["length"]) == (row["operation"], row["length"]), lost


# ---- single situations


def said(tmp_path: Path, *writes: tuple[int, bytes]) -> list[Row]:
    talk = Talk(writes, ENDS)
    return rows(capture(tmp_path / "a.pcap", segments(talk), talk))


def test_a_producer_is_answered_twice(tmp_path: Path) -> None:
    """Its partner is the first answer, of both answers it is the partner: in one block and over several."""
    talk = Talk(((CLIENT, producer(5)), (SERVER, produced(5, 0)), (SERVER, produced(5, 1))), ENDS)
    path = capture(tmp_path / "a.pcap", segments(talk), talk)
    for block in (1, 32_768):
        with Session([path], block=block).load() as session:
            assert session.rows.column("partner").tolist() == [1, 0, 0]


def test_the_client_is_named_on_every_row(tmp_path: Path) -> None:
    found = said(tmp_path, (CLIENT, CONNECT), (SERVER, CONNECTED), (CLIENT, lookup(1)))
    assert [row["client"] for row in found] == ["Pulsar-Test-v1"] * 3


def test_an_id_behind_a_thousand_others_is_found(tmp_path: Path) -> None:
    found = said(tmp_path, (CLIENT, ack(1000, 9)), (SERVER, acked(9)))
    assert [(row["role"], row["correlation"], row["partner"]) for row in found] == [
        ("request", "request:9", 2),
        ("response", "request:9", 1),
    ]
