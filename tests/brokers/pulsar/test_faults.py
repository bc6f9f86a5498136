"""A transaction that a real client does not end in time, and what doctor tells of it: this, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.insight.root_causes import find_problems
from analyzer.session import Session
from dissectors.finding import Severity
from tests.brokers.lab.missing import Missing
from tests.brokers.pulsar.faults import record_late_transaction

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]


def test_a_late_transaction_is_told(tmp_path: Path) -> None:
    try:
        capture = record_late_transaction(tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    with Session([capture]).load() as session:
        problems = [each for each in find_problems(session, diagnose(session)) if each.severity > Severity.NOTE]
    (found,) = [f"{each.label}: {each.text}" for each in problems]
    assert found.startswith("transaction-timeout: Transaction (0,0) was not ended within its timeout of 3 s, so its")
