"""The command: a summary for people, lines for programs, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyzer.cli.doctor import command, print_summary
from analyzer.insight.diagnosis import LocatedFinding
from analyzer.session import Session
from dissectors.finding import Finding, Severity

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
FENCED = str(GOLDEN / "k4_java_txn.pcap.zst")
WELL = str(GOLDEN / "k4_py_aio.pcap.zst")


def test_a_summary() -> None:
    result = CliRunner().invoke(command, ["--severity", "warning", FENCED])
    kind, example, message, total, further = result.stdout.splitlines()
    assert kind.split() == ["warning", "fenced-producer", "1", "message", "115"]
    assert example.strip().startswith("115: jt[0]: producer 1000 (jtx-1), epoch 3, writes behind epoch 4")
    assert message.strip().startswith("Produce jt[0: 1 record, 126 bytes, lz4]")
    assert total == "1 finding in 184 messages of 20 streams"
    assert further == f"(wireanalyze show {FENCED} NUMBER shows a message)"


def test_errors_in_answers_are_counted_by_operation() -> None:
    lines = CliRunner().invoke(command, [FENCED]).stdout.splitlines()
    place = lines.index("         InitProducerId: COORDINATOR_LOAD_IN_PROGRESS")
    assert lines[place - 1].split()[:3] == ["note", "error-answer", "1"]


def test_nothing() -> None:
    result = CliRunner().invoke(command, ["--severity", "error", WELL])
    assert result.stdout.startswith("nothing to say in ")
    assert result.stdout.count("\n") == 1


def test_a_filter_chooses_whose_findings_are_told() -> None:
    result = CliRunner().invoke(command, [FENCED, "-Y", "number == 115"])
    assert "1 finding in 1 messages of 1 streams" in result.stdout
    other = CliRunner().invoke(command, [FENCED, "-Y", "number == 114", "--fail-on", "note"])
    assert (other.exit_code, other.stdout) == (0, "nothing to say in 1 messages of 1 streams\n")


def test_lines() -> None:
    result = CliRunner().invoke(command, ["--format", "ndjson", "--severity", "warning", FENCED])
    (found,) = map(json.loads, result.stdout.splitlines())
    assert (found["number"], found["severity"], found["code"]) == (115, "warning", "fenced-producer")
    assert found["id"].endswith("/c/" + found["id"].rpartition("/")[2])


@pytest.mark.parametrize(
    ("file", "level", "status"),
    [(FENCED, "warning", 1), (FENCED, "error", 0), (WELL, "warning", 0), (FENCED, "note", 1)],
)
@pytest.mark.parametrize("form", ["table", "ndjson"])
def test_the_exit_status(file: str, level: str, status: int, form: str) -> None:
    assert CliRunner().invoke(command, ["--fail-on", level, "--format", form, file]).exit_code == status


def refused(operation: str, row: int) -> LocatedFinding:
    return LocatedFinding(row, Finding(Severity.NOTE, "error-answer", operation))


@pytest.mark.parametrize(("kinds", "shown"), [(12, 12), (13, 13), (14, 13), (27, 13)])
def test_errors_in_answers_are_each_counted_once(kinds: int, shown: int, capsys: pytest.CaptureFixture[str]) -> None:
    with Session([GOLDEN / "k4_py_aio.pcap.zst"]).load() as session:
        print_summary(session, None, ["-"], [refused(f"Fetch: {kind}", kind) for kind in range(kinds)])
    *lines, total = capsys.readouterr().out.splitlines()
    heads = lines[::2]
    assert len(heads) == shown
    assert sum(int(line.split()[2]) for line in heads) == kinds
    assert total.startswith(f"{kinds} findings in ")
    assert (f"         {kinds - 12} others" in lines) == (kinds > 13)
