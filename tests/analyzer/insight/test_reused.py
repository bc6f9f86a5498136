"""Numbers that are given out again before they were answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.session import Session
from tests.analyzer.capture.writers import T0
from tests.analyzer.wire import CLIENT, SERVER, STEP_NS, Segment, capture, opening
from tests.dissectors.rocketmq.frames import command

PULL, ANSWER, ONEWAY = 0, 1, 2
SECOND = 10**9

# What is said in order, by side: (side, opaque, flag, seconds before it); the rows that a finding is about
CASES: dict[str, tuple[list[tuple[int, int, int, int]], list[int]]] = {
    "each its own": ([(CLIENT, 1, PULL, 0), (CLIENT, 2, PULL, 0), (SERVER, 2, ANSWER, 0), (SERVER, 1, ANSWER, 0)], []),
    "again behind its answer": ([(CLIENT, 1, PULL, 0), (SERVER, 1, ANSWER, 0), (CLIENT, 1, PULL, 0)], []),
    "again before its answer": (
        [(CLIENT, 1, PULL, 0), (CLIENT, 1, PULL, 0), (SERVER, 1, ANSWER, 0), (SERVER, 1, ANSWER, 0)],
        [1],
    ),
    "never answered": ([(CLIENT, 1, PULL, 0), (CLIENT, 2, PULL, 0), (CLIENT, 1, PULL, 9)], [2]),
    "long ago": ([(CLIENT, 1, PULL, 0), (CLIENT, 1, PULL, 61)], []),
    "answered late": ([(CLIENT, 1, PULL, 0), (CLIENT, 1, PULL, 61), (SERVER, 1, ANSWER, 0)], [1]),
    "three": ([(CLIENT, 1, PULL, 0)] * 3, [1, 2]),
    "of both sides": ([(CLIENT, 1, PULL, 0), (SERVER, 1, PULL, 0), (CLIENT, 1, ANSWER, 0)], []),
    "nobody waits for an answer": ([(CLIENT, 1, PULL, 0), (CLIENT, 1, ONEWAY, 0), (CLIENT, 1, ONEWAY, 0)], []),
}


@pytest.mark.parametrize("use_fast_path", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_numbers(case: str, use_fast_path: bool, tmp_path: Path) -> None:
    steps, expected = CASES[case]
    segments, at, time = opening(), [0, 0], T0 + 10 * STEP_NS
    for side, opaque, flag, after in steps:
        data = command(11, opaque=opaque, flag=flag)
        time += after * SECOND + STEP_NS
        segments.append(Segment(side, at[side], data, acked=at[1 - side], time=time))
        at[side] += len(data)
    path = capture(tmp_path / "a.pcap", segments)
    with Session([path], decode_as={9092: "rocketmq"}, use_fast_path=use_fast_path).load() as session:
        found = [(row, finding.text) for row, finding, *_ in diagnose(session) if finding.code == "number-reused"]
    assert [row for row, _ in found] == expected
    assert all(text.startswith("number 1 is that of row ") for _, text in found)
