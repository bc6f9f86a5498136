"""Faults that are made in a real cluster, and what doctor and the reports tell of each: this, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.insight.reports import ReportReading, list_reports
from analyzer.insight.root_causes import find_problems
from analyzer.session import Session
from dissectors.finding import Severity
from tests.brokers.kafka.cluster import NODES
from tests.brokers.kafka.faults import FAULTS, Cluster
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import recording

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]
pytest.importorskip("confluent_kafka")


class Expectation(NamedTuple):
    """What has to be told: problems above notes as patterns, and by report texts that one of its rows has."""

    problems: tuple[str, ...]
    rows: tuple[tuple[str, str], ...] = ()


_POLLS = r"probably it did not poll within max\.poll\.interval\.ms, which is 6 s"
CASES = {
    "killed": Expectation(
        (r".* lost second-killed \(did not join .*, silent for [23].*; it closed its connection [23]",),
        (("groups", "its session timeout is 3 s"), ("members", "expelled")),
    ),
    "killed-new": Expectation(
        (r"member-expelled: .* lost second-killed-new \(silent for .*; it closed its connection",),
        (("members", "silent"),),
    ),
    "paused": Expectation(
        (r"member-expelled: .* lost second-paused \(did not join again, silent for [0-9. ms]+\)",),
        (("members", "expelled"),),
    ),
    "paused-new": Expectation((r"member-expelled: .* lost second-paused-new \(silent for [0-9. ms]+\)",)),
    "slow": Expectation((rf"member-expelled: .* lost second-slow \(left and came back after .*: {_POLLS}",)),
    "slow-new": Expectation((rf"member-expelled: .* lost second-slow-new \(left and came back after .*: {_POLLS}",)),
    "broker": Expectation(
        (r"leader-changed: Broker 2 leads broker\[1\] in place of broker 3, which is not among the brokers any more",),
        (("partitions", "3 (epoch 0), 2 (epoch 1)"), ("brokers", "127.0.0.1")),
    ),
    "moved": Expectation((), (("partitions", "2 (epoch 0), 3 (epoch 1)"),)),
    "transaction": Expectation(
        (r"transaction-timeout: Transaction transaction was not ended within its transaction\.timeout\.ms of 2 s",),
        (("transactions", "timed out"),),
    ),
    "quota": Expectation((), (("producers", "greedy"),)),
    "offset": Expectation(
        (r"offset-moved: Consumer beyond asked for offset 99,999 of offset\[0\].*; it goes on at 0",)
    ),
    "large": Expectation((r"message-refused: The batch for large\[0\] has 300,\d+ bytes, .* at most 200,000 \(max",)),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes that run."""
    made = Cluster(tmp_path_factory.mktemp("faults"))
    try:
        made.prepare()
        with recording(made.folder / "start.pcap", made.ports):
            for number in NODES:
                made.start(number)
        yield made
    except Missing as missing:
        pytest.skip(str(missing))
    finally:
        made.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("fault", CASES)
def test_a_fault_is_told_and_nothing_else(cluster: Cluster, fault: str) -> None:
    capture = cluster.folder / f"{fault}.pcap"
    with recording(capture, cluster.ports):
        FAULTS[fault](cluster, fault)
    expected = CASES[fault]
    with Session([capture]).load() as session:
        problems = [each for each in find_problems(session, diagnose(session)) if each.severity > Severity.NOTE]
        texts = [f"{each.label}: {each.text}" for each in problems]
        assert len(texts) == len(expected.problems), texts
        for text, pattern in zip(texts, expected.problems, strict=True):
            assert re.match(pattern, text), text
        reports = list_reports(session)[0].values()
        for name, part in expected.rows:
            (report,) = [each for each in reports if each.name == name]
            (table,) = ReportReading(session, [report]).run()
            assert any(part in ", ".join(_list_texts(entry.values)) for entry in table.entries), name


def _list_texts(values: tuple[object, ...]) -> list[str]:
    return [", ".join(map(str, each)) if isinstance(each, list) else str(each) for each in values]
