"""The command: a summary for people, objects for programs, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analyzer.cli.doctor import FirstFindings, command, format_total
from analyzer.insight.diagnosis import LocatedFinding
from analyzer.insight.problems import Problem
from analyzer.render.problems import KEYS
from analyzer.session import Session
from dissectors.finding import Finding, Severity

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
FENCED = str(GOLDEN / "k4_java_txn.pcap.zst")
WELL = str(GOLDEN / "k4_py_aio.pcap.zst")
REFUSED = str(GOLDEN.parents[2] / "captures" / "pulsar.pcap.zst")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(arguments))
    return result.exit_code, result.stdout


def list_problems(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("--format", "ndjson", *arguments)[1].splitlines()]


def test_a_problem_is_reported_with_what_it_explains_and_what_to_do() -> None:
    head, text, message, concerned, effects, advice, total, hint = run("--severity", "warning", FENCED)[1].splitlines()
    assert head.split() == ["warning", "fenced-producer", "1", "message", "115,", "14:14:58.396"]
    assert text.strip() == "jt[0]: producer 1000 (jtx-1), epoch 3, writes behind epoch 4: it is fenced off."
    assert message.strip().startswith("115: Produce jt[0: 1 record, 126 bytes, lz4]")
    assert concerned.strip() == "Concerns client j-txn; topic jt."
    assert effects.strip().startswith("It explains INVALID_PRODUCER_EPOCH (message 116, 14:14:58.430), PRODUCER_")
    assert advice.strip().startswith("To do: Let only one producer run")
    assert total == "1 warning in 184 messages of 20 streams"
    assert hint == f"(wireanalyze show {FENCED} NUMBER shows a message)"


def test_errors_that_clients_retry_are_reported_together() -> None:
    lines = run(FENCED)[1].splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("note     retried errors"))
    assert lines[place + 1].strip().startswith("InitProducerId: COORDINATOR_LOAD_IN_PROGRESS. The coordinator is")
    assert not any("MEMBER_ID_REQUIRED" in line for line in lines)


def test_nothing() -> None:
    assert run("--severity", "error", WELL)[1] == "No problems found in 166 messages of 26 streams\n"


def test_a_filter_chooses_whose_problems_are_reported() -> None:
    assert "1 warning in 1 message of 1 stream\n" in run(FENCED, "-Y", "number == 115")[1]
    other = run(FENCED, "-Y", "number == 114", "--fail-on", "note")
    assert other == (0, "No problems found in 1 message of 1 stream\n")


def test_objects_have_all_keys_and_name_their_cause() -> None:
    cause, *effects = list_problems("--severity", "warning", FENCED)
    assert tuple(cause) == KEYS
    assert (cause["number"], cause["first"], cause["last"], cause["count"]) == (115, 115, 115, 1)
    assert (cause["code"], cause["protocol"], cause["subject"]) == ("fenced-producer", "kafka", "topic jt")
    assert cause["stream"] == f"{cause['client']}>{cause['server']}"
    assert cause["caused_by"] is None
    assert {each["caused_by"] for each in effects} == {"fenced-producer#115"}
    assert {each["error"] for each in effects} >= {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"}


@pytest.mark.parametrize(
    ("file", "words", "status"),
    [
        (FENCED, "warning", 1), (FENCED, "error", 0), (WELL, "warning", 0), (FENCED, "note", 1),
        (FENCED, "fenced-producer", 1), (FENCED, "gap", 0), (FENCED, "gap,NOT_COORDINATOR", 1),
        (FENCED, "gap,warning", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["table", "ndjson"])
def test_the_exit_status(file: str, words: str, status: int, form: str) -> None:
    assert run("--fail-on", words, "--format", form, file)[0] == status


def test_ignored_codes_and_errors_are_left_out() -> None:
    every = {each["error"] or each["code"] for each in list_problems(FENCED) if not each["caused_by"]}
    rest = {
        each["error"] or each["code"]
        for each in list_problems(
            "--ignore", "fenced-producer,NOT_COORDINATOR", "--ignore", "UNSTABLE_OFFSET_COMMIT", FENCED
        )
    }
    assert every - rest == {"fenced-producer", "NOT_COORDINATOR", "UNSTABLE_OFFSET_COMMIT"}


@pytest.mark.parametrize("form", ["ndjson", "json"])
def test_what_an_earlier_run_has_found_is_left_out(form: str, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    earlier.write_text(run("--format", form, REFUSED)[1])
    assert list_problems("--baseline", str(earlier), REFUSED) == []
    assert list_problems("--baseline", str(earlier), FENCED) == list_problems(FENCED)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--fail-on", "warnin"], "--fail-on does not know 'warnin'. Did you mean warning?"),
        (["--ignore", "NOT_CONTROLER"], "--ignore does not know 'NOT_CONTROLER'. Did you mean NOT_CONTROLLER?"),
        (["--ignore", "xyzzy"], "`wireanalyze protocols findings` prints the codes."),
        (["--baseline", "/nowhere/at/all"], "--baseline cannot read /nowhere/at/all: No such file or directory."),
        (["--baseline", __file__], "--baseline cannot understand"),
    ],
)
def test_what_is_refused_says_what_to_do(options: list[str], text: str) -> None:
    result = CliRunner().invoke(command, [*options, WELL])
    assert text in str(result.exception)


@pytest.mark.parametrize(
    ("severities", "text"),
    [
        ([], "No problems found here"),
        ([Severity.NOTE] * 2, "No problems found here; 2 notes"),
        ([Severity.ERROR], "1 error here"),
        ([Severity.NOTE, Severity.ERROR, Severity.WARNING, Severity.WARNING], "1 error, 2 warnings and 1 note here"),
    ],
)
def test_the_total(severities: list[Severity], text: str) -> None:
    assert format_total([Problem(each, "gap", "", "", "", 0) for each in severities], "here") == text


def test_who_waits_is_told_how_many_findings_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    first = FirstFindings()
    assert first.describe() == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Session([Path(REFUSED).with_name("zookeeper-ensemble.pcap.zst")], block=2000) as session:
        next(iter(session.grow()))
        assert first.describe_reading(session).startswith("; found so far: ")
        first.restart()
        assert first.describe() == ""
    gravest = [LocatedFinding(1, Finding(each, "gap", "")) for each in (Severity.NOTE, Severity.ERROR, Severity.NOTE)]
    assert list(first.count(gravest)) == gravest
    assert first.describe() == "; found so far: 1 error, 2 notes (gap)"
