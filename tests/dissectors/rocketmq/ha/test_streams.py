"""Whole connections: framed on request, raw runs otherwise, in any segments, begun late, and with holes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.decode.content import find_dissector, read_header, read_message
from analyzer.session import Session
from dissectors.raw import RawRun
from dissectors.rocketmq.raw import RAW
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    Cut,
    Talk,
    byte_by_byte,
    capture,
    in_parts,
    rows,
    segments,
    whole,
    without_handshake,
)
from tests.dissectors.rocketmq.ha.frames import (
    answer,
    controlled_report,
    controlled_transfer,
    greeting,
    pieces,
    placed,
    report,
    transfer,
)
from tests.dissectors.trees import assert_tiles, every
from tests.effort import within
from tests.golden.truth import read_ndjson

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden" / "rocketmq" / "m550_controller_start.pcap.zst"
CLASSIC = ROOT.parent / "shared" / "truth" / "rocketmq" / "m550_slave_sync.pcap.zst"
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 10_912))
ELSEWHERE = (("10.0.0.1", 40_000), ("10.0.0.2", 30_912))
TOLD = {10_912: "rocketmq-ha"}
KEYS = ("role", "operation", "offset", "length", "partner", "state", "info", "findings")

LOG = placed(0, *(bytes([65 + index]) * 40 * index for index in range(9)))
BLOCKS = [LOG[at : at + 500] for at in range(0, len(LOG), 500)]
SYNC = Talk(
    (
        (CLIENT, report(0)),
        *((SERVER, transfer(500 * index, block)) for index, block in enumerate(BLOCKS)),
        (CLIENT, report(len(LOG))),
        (SERVER, transfer(len(LOG))),
    ),
    ENDS,
)
STARTS = Talk(
    (
        (CLIENT, greeting()),
        (SERVER, answer(0, [(1, 0)])),
        (CLIENT, controlled_report(0)),
        (SERVER, controlled_transfer(0, LOG, len(LOG))),
        (CLIENT, controlled_report(len(LOG))),
    ),
    ENDS,
)


def of(tmp_path: Path, talk: Talk, cut: Cut = whole, **options: Any) -> list[dict[str, Any]]:
    return rows(capture(tmp_path / "ha.pcap", segments(talk, cut), talk), KEYS, **options)


@pytest.mark.parametrize("cut", [whole, byte_by_byte, in_parts(Random(3), 300)], ids=["whole", "bytes", "parts"])
@pytest.mark.parametrize("talk", [SYNC, STARTS], ids=["classic", "controlled"])
def test_frames_are_what_was_written(tmp_path: Path, talk: Talk, cut: Cut) -> None:
    found = of(tmp_path, talk, cut, decode_as=TOLD)
    assert [row["length"] for row in found] == [len(data) for _, data in talk.writes]
    assert {row["state"] for row in found} == {"complete"}
    assert not any(row["findings"] for row in found)


def test_messages_are_read_once_each(tmp_path: Path) -> None:
    path = capture(tmp_path / "ha.pcap", segments(SYNC), SYNC)
    with Session([path], decode_as=TOLD).load() as session:
        bodies = [decode_body(session, row).values for row in range(len(session.rows))]
    there = [each["commitLogOffset"] for body in bodies for each in body.get("messages", ())]
    assert there == sorted(set(there))
    cut = [body for body in bodies if "continues" in body]
    assert len(there) + len(cut) == 9


def test_without_a_word_of_the_user_it_is_raw(tmp_path: Path) -> None:
    found = of(tmp_path, SYNC)
    assert [(row["role"], row["operation"], row["findings"]) for row in found] == [("raw", None, [])] * 2
    size, blocks, end = sum(len(data) for side, data in SYNC.writes if side == SERVER), len(BLOCKS), f"{len(LOG):,}"
    assert {row["info"] for row in found} == {
        f"16 bytes, RocketMQ HA: 2 reports of a slave, offsets 0 to {end}",
        f"{size} bytes, RocketMQ HA: {blocks} blocks of log, 0 to {end}, 9 messages of orders, 1 heartbeat",
    }


def test_on_another_port_log_alone_is_certain(tmp_path: Path) -> None:
    lines = [row["info"] for row in of(tmp_path, Talk(SYNC.writes, ELSEWHERE))]
    assert sorted("RocketMQ HA" in line for line in lines) == [False, True]


def test_a_run_that_is_none_of_it(tmp_path: Path) -> None:
    found = of(tmp_path, Talk(((CLIENT, b"\xff" * 40), (SERVER, b"hello, who are you?")), ENDS))
    assert {row["info"] for row in found} == {"40 bytes, no protocol of ours", "19 bytes, no protocol of ours"}


@pytest.mark.parametrize("talk", [SYNC, STARTS], ids=["classic", "controlled"])
@pytest.mark.parametrize("told", [None, TOLD], ids=["raw", "framed"])
def test_every_tree_covers_its_row(tmp_path: Path, talk: Talk, told: dict[int, str] | None) -> None:
    with Session([capture(tmp_path / "ha.pcap", segments(talk), talk)], decode_as=told).load() as session:
        for row in range(len(session.rows)):
            tree = decode_tree(session, row)
            assert_tiles(tree)
            assert not tree.findings
            assert all(node.spec.name != "data" for node in tree.fields)


def test_a_run_shows_messages_that_blocks_cut(tmp_path: Path) -> None:
    with Session([capture(tmp_path / "ha.pcap", segments(SYNC), SYNC)]).load() as session:
        tree = max(
            (decode_tree(session, row) for row in range(len(session.rows))),
            key=lambda each: len(each.fields[0].children),
        )
    bodies = [node.value for node in every(tree.fields) if node.spec.name == "body"]
    assert sorted(map(len, bodies)) == [40 * index for index in range(9)]
    assert {source.name for source in tree.sources[1:]} == {"a message of several blocks"}


def test_it_begins_late_within_a_block(tmp_path: Path) -> None:
    """From the next transfer on that is followed by others."""
    cut = without_handshake(segments(SYNC, in_parts(Random(1), 200)))[4:]
    found = rows(capture(tmp_path / "late.pcap", cut, SYNC), KEYS, decode_as=TOLD)
    transfers = [row for row in found if row["operation"] in ("TRANSFER", "HEARTBEAT")]
    assert len(transfers) >= len(BLOCKS) - 1
    assert all(row["state"] == "complete" and not row["findings"] for row in transfers)


def test_lost_bytes_within_a_block_leave_the_next_one(tmp_path: Path) -> None:
    there = segments(SYNC, in_parts(Random(2), 100))
    lost = next(each for each in there if each.side == SERVER and each.at > 600 and len(each.payload) > 20)
    found = rows(
        capture(tmp_path / "gap.pcap", [each for each in there if each is not lost], SYNC), KEYS, decode_as=TOLD
    )
    states = [row["state"] for row in found if row["operation"] == "TRANSFER"]
    assert states.count("partial") == 1
    assert len(states) == len(BLOCKS)


def test_a_master_that_goes_on_elsewhere(tmp_path: Path) -> None:
    talk = Talk(((CLIENT, report(0)), (SERVER, transfer(0, LOG)), (SERVER, transfer(9000))), ENDS)
    found = of(tmp_path, talk, decode_as=TOLD)
    assert [each["code"] for each in found[-1]["findings"]] == ["replication-jump"]


def test_a_huge_run_is_shown_as_far_as_its_bounds() -> None:
    log = placed(0, *[b"x" * 100_000] * 90)
    run = RawRun(pieces(0, log, 32_768), (10_912, 40_000), False)
    with within(60):
        line, tree = RAW.line(run), RAW.tree(run)
    assert line is not None
    assert "at least" in line
    assert tree is not None
    assert_tiles(tree)
    assert [each.code for each in tree.findings] == ["limit-exceeded"]


def test_a_real_slave_of_a_controller() -> None:
    with Session([GOLDEN], decode_as=TOLD).load() as session:
        found = [
            read_header(session, row).operation
            for row in range(len(session.rows))
            if find_dissector(session, row) is not None
        ]
        assert [name for name in found if name in ("HANDSHAKE", "TRANSFER", "HEARTBEAT", "SLAVE_OFFSET")] == [
            "HANDSHAKE", "HANDSHAKE", "SLAVE_OFFSET", "HEARTBEAT", "HEARTBEAT", "SLAVE_OFFSET",
        ]  # fmt: skip


@pytest.mark.skipif(not CLASSIC.exists(), reason="the shared captures are not here")
def test_a_real_slave_gets_the_log() -> None:
    """All bytes of the truth's raw runs, and in them each message that fits its place, with a right checksum."""
    expected = [
        row for row in read_ndjson(CLASSIC.with_suffix("").with_suffix(".expected.ndjson.zst")) if row["role"] == "raw"
    ]
    with Session([CLASSIC]).load() as session:
        runs = [row for row in range(len(session.rows)) if find_dissector(session, row) is None]
        assert sorted(len(read_message(session, row)) for row in runs) == sorted(row["length"] for row in expected)
        trees = [decode_tree(session, row) for row in runs]
    for tree in trees:
        assert_tiles(tree)
        assert not tree.findings
    nodes = [node for tree in trees for node in every(tree.fields)]
    assert sum(node.spec.name == "commitLogOffset" for node in nodes) == 610
    assert all(node.value for node in nodes if node.spec.name == "crcValid")
