"""Runs that nobody asked to have framed: whatever the bytes, a line and a tree, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.raw import RawRun
from dissectors.rocketmq.raw import RAW
from tests.dissectors.rocketmq.ha.frames import (
    answer,
    blank,
    controlled_report,
    controlled_transfer,
    greeting,
    pieces,
    placed,
    report,
    transfer,
)
from tests.dissectors.trees import assert_tiles, every

LOG = placed(0, *(b"x" * size for size in (3, 900, 0, 70, 2000)))
TO_MASTER, TO_SLAVE = (40_000, 10_912), (10_912, 40_000)

RUNS = {
    "reports": (report(0) + report(0), TO_MASTER, "2 reports of a slave, offsets 0 to 0"),
    "one report": (report(7_000), TO_MASTER, "1 report of a slave, offsets 7,000 to 7,000"),
    "a greeting": (greeting() + controlled_report(9), TO_MASTER, "a slave says who it is, 1 report of a slave"),
    "epochs": (answer(0, [(1, 0)]) + controlled_transfer(-1), TO_SLAVE, "a master says its epochs, 1 heartbeat"),
    "log in one": (transfer(0, LOG), TO_SLAVE, f"1 block of log, 0 to {len(LOG):,}, 5 messages of orders"),
    "log in pieces": (pieces(0, LOG, 100), TO_SLAVE, f"0 to {len(LOG):,}, 5 messages of orders"),
    "log and a file's end": (transfer(0, LOG + blank(40)), TO_SLAVE, "5 messages of orders"),
    "a jump": (transfer(0, LOG) + transfer(0, LOG), TO_SLAVE, None),
    "nothing like it": (b"\xff" * 30, TO_SLAVE, None),
    "a frame and noise": (report(0) + b"\xff" * 5, TO_MASTER, None),
    "noise of others": (b"\0\0\0\5hello", (40_000, 5000), None),
}


@pytest.mark.parametrize(("data", "ports", "line"), RUNS.values(), ids=RUNS)
def test_lines(data: bytes, ports: tuple[int, int], line: str | None) -> None:
    run = RawRun(data, ports, ports[1] == 10_912)
    found, tree = RAW.line(run), RAW.tree(run)
    assert (found is None) == (tree is None) == (line is None)
    if line is not None and tree is not None:
        assert line in (found or "")
        assert_tiles(tree)
        assert not tree.findings


def test_a_message_of_many_blocks_is_whole() -> None:
    tree = RAW.tree(RawRun(pieces(0, LOG, 100), TO_SLAVE, False))
    assert tree is not None
    assert [len(each.value) for each in every(tree.fields) if each.spec.name == "body"] == [3, 900, 0, 70, 2000]


@given(
    st.sampled_from([data for data, _, _ in RUNS.values()]),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3),
    st.integers(0, 5000),
    st.sampled_from([TO_MASTER, TO_SLAVE, (1, 2)]),
)
def test_any_bytes(data: bytes, changes: list[tuple[int, int]], end: int, ports: tuple[int, int]) -> None:
    changed = bytearray(data)
    for at, byte in changes:
        changed[at % len(changed)] = byte
    run = RawRun(bytes(changed[: end or None]), ports, True)
    RAW.line(run)
    tree = RAW.tree(run)
    if tree is not None:
        assert_tiles(tree)
