"""Faults that are made with real servers, and what doctor tells of each: this, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.insight.root_causes import find_problems
from analyzer.session import Session
from dissectors.finding import Severity
from tests.brokers.lab.missing import Missing
from tests.brokers.rocketmq.faults import record

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]

CASES = {
    "differ": r"subscription-conflict: 127\.0\.0\.1@blue and .*@red are in group group .*: faults: blue and red\.",
    "flood": r"busy-broker: .* refused \d+ of \d+ requests within .* because it is busy \(\d+ SYSTEM_BUSY\)",
    "fail_over": (
        r"master-changed: The master of broker-a is .*, broker id 2 \(epoch 2\); it was .*, broker id 1, whose last "
        r"heartbeat was [0-9.]+ m?s before"
    ),
}


@pytest.mark.parametrize("fault", CASES)
def test_a_fault_is_told_and_nothing_else(tmp_path: Path, fault: str) -> None:
    try:
        capture = record(tmp_path, fault)
    except Missing as missing:
        pytest.skip(str(missing))
    with Session([capture]).load() as session:
        problems = [each for each in find_problems(session, diagnose(session)) if each.severity > Severity.NOTE]
    (found,) = [f"{each.label}: {each.text}" for each in problems]
    assert re.match(CASES[fault], found), found
