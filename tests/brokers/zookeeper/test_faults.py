"""Faults that are made with a real server, and what doctor tells of each: this, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.insight.root_causes import find_problems
from analyzer.session import Session
from dissectors.finding import Severity
from tests.brokers.lab.missing import Missing
from tests.brokers.zookeeper.faults import Server, record, serving

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]
pytest.importorskip("kazoo")

CASES = {
    "frozen": (
        r"session-expired: .* it expired while the server gave no answer to a ping of .* session lives for 4 s|"
        r"connection-lost: .* its client, ended the connection .*, for its ping had no answer for"
    ),
    "large": r"oversized-packet: 1,100,\d+ bytes for /large are more than the default of jute\.maxbuffer",
    "many": r"outstanding-limit: [12],\d+ requests waited for .*, at least 1,000 of them for .*globalOutstandingLimit",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that runs."""
    try:
        with serving(tmp_path_factory.mktemp("server")) as made:
            yield made
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("fault", CASES)
def test_a_fault_is_told_and_nothing_else(server: Server, tmp_path: Path, fault: str) -> None:
    capture = record(server, tmp_path, fault)
    with Session([capture]).load() as session:
        problems = [each for each in find_problems(session, diagnose(session)) if each.severity > Severity.NOTE]
    (found,) = [f"{each.label}: {each.text}" for each in problems]
    assert re.match(CASES[fault], found), found
