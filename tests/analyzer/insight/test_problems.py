"""Findings as problems: what is counted together, how it is explained, and what explains what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.insight import problems
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding, diagnose
from analyzer.insight.problems import MOST_SUBJECTS, Problem, ProblemTable, as_sentence, join_names
from analyzer.insight.root_causes import find_problems
from analyzer.session import Session
from dissectors.finding import Finding, Severity

GOLDEN = Path(__file__).parents[2] / "golden"
FENCED = GOLDEN / "kafka" / "k4_java_txn.pcap.zst"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session([FENCED]).load() as loaded:
        yield loaded


def refuse(row: int, error: str = "INVALID_REQUEST", severity: Severity = Severity.ERROR) -> LocatedFinding:
    return LocatedFinding(row, Finding(severity, ERROR_ANSWER, f"Produce: {error}"), None, error)


def warn(row: int | None, code: str, subject: str = "", text: str = "it is so") -> LocatedFinding:
    return LocatedFinding(row, Finding(Severity.WARNING, code, text, subject=subject))


def collect(session: Session, *found: LocatedFinding, examples: int = 1) -> list[Problem]:
    table = ProblemTable(session, examples)
    for each in found:
        table.add(each)
    return table.list_problems()


def test_the_same_error_is_one_problem_with_all_its_messages(session: Session) -> None:
    (problem,) = collect(session, refuse(40), refuse(20), refuse(60))
    assert (problem.count, list(problem.rows), problem.first, problem.last) == (3, [20, 40, 60], 20, 60)
    assert (problem.severity, problem.error, problem.protocol) == (Severity.ERROR, "INVALID_REQUEST", "kafka")
    assert "INVALID_REQUEST. The broker cannot understand the request, or does not accept it." in problem.text
    assert problem.advice.startswith("Check the client library")


def test_other_errors_subjects_and_codes_are_other_problems(session: Session) -> None:
    found = [
        refuse(1),
        refuse(2, "INVALID_CONFIG"),
        *(warn(3, "gap", each) for each in ("topic a", "topic b", "topic a")),
    ]
    problems = collect(session, *found)
    assert sorted(problem.count for problem in problems) == [1, 1, 1, 2]


def test_of_many_subjects_the_last_are_one_problem(session: Session) -> None:
    problems = collect(session, *(warn(row, "gap", f"topic {row}") for row in range(1, MOST_SUBJECTS + 30)))
    assert len(problems) == MOST_SUBJECTS + 1
    assert max(problem.count for problem in problems) == 29


def test_the_gravest_come_first_and_errors_in_answers_behind_others(session: Session) -> None:
    note = LocatedFinding(9, Finding(Severity.NOTE, "gap", "a hole"))
    problems = collect(
        session, note, refuse(8, severity=Severity.WARNING), warn(7, "unfinished"), refuse(6, "INVALID_CONFIG")
    )
    assert [problem.code for problem in problems] == [ERROR_ANSWER, "unfinished", ERROR_ANSWER, "gap"]


def test_texts_that_differ_are_retained_as_far_as_is_requested(session: Session) -> None:
    found = [
        warn(row, "gap", text=text) for row, text in enumerate(("a hole", "a hole", "another hole", "a third hole"))
    ]
    assert [len(collect(session, *found, examples=each)[0].examples) for each in (1, 2, 9)] == [1, 2, 3]


def test_a_finding_of_a_file_has_no_message(session: Session) -> None:
    (problem,) = collect(session, warn(None, "damaged-capture"))
    assert (problem.first, problem.last, problem.protocol, problem.clients) == (None, None, "", [])


def test_what_follows_is_folded_into_its_cause() -> None:
    with Session([FENCED]).load() as session:
        problems = find_problems(session, diagnose(session))
    (cause,) = [problem for problem in problems if problem.code == "fenced-producer"]
    assert {effect.error for effect in cause.effects} >= {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"}
    assert all(effect.cause is cause for effect in cause.effects)
    assert not {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"} & {problem.error for problem in problems}


def test_what_lies_out_of_time_stays_a_problem(session: Session) -> None:
    time = session.rows.column("time")
    late = next(row for row in range(len(session.rows)) if time[row] - time[0] > 4_000_000_000)
    found = [warn(0, "no-receipt"), warn(1, "unanswered"), warn(late, "leader-changed")]
    stream = session.rows.column("stream").tolist()
    same = [row for row in range(2, late) if stream[row] == stream[0]]
    found += [warn(row, "unanswered") for row in same[:2]]
    problems = find_problems(session, found)
    by_code = {problem.code: problem for problem in problems}
    assert sum(effect.count for effect in by_code["no-receipt"].effects) >= len(same[:2])
    assert "leader-changed" in by_code


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("the broker refuses it", "The broker refuses it."),
        ("orders[0]: it is so", "orders[0]: it is so."),
        ("It is so.", "It is so."),
        ("and so on...", "And so on..."),
        ("", "."),
    ],
)
def test_sentences(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence


def test_names_are_counted_where_there_are_many() -> None:
    assert join_names(["a", "b"]) == "a, b"
    assert join_names(list("abcdef")) == "a, b, c and 3 more"


def test_what_remains_tells_of_what_remains(session: Session) -> None:
    stream = session.rows.column("stream").tolist()
    other = next(row for row in range(len(stream)) if stream[row] != stream[0])
    found = [
        warn(0, "no-receipt"),
        warn(0, "unanswered", text="the first waits"),
        warn(other, "unanswered", text="the other waits"),
    ]
    problems = {problem.code: problem for problem in find_problems(session, found)}
    assert [effect.examples[0].finding.text for effect in problems["no-receipt"].effects] == ["the first waits"]
    assert (problems["unanswered"].text, problems["unanswered"].count) == ("The other waits.", 1)


def test_the_table_is_bounded_as_a_whole(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "MOST_PROBLEMS", 3)
    found = collect(session, *(refuse(row, f"ERROR_{row}") for row in range(1, 30)))
    assert sorted(problem.count for problem in found) == [1, 1, 1, 26]
    assert [problem.label for problem in found if problem.count == 26] == [ERROR_ANSWER]


def test_what_descriptions_begin_with_is_said_once() -> None:
    sweep = GOLDEN / "kafka" / "k4_sweep_rest.pcap.zst"
    with Session([sweep]).load() as session:
        (refused,) = [each for each in find_problems(session, diagnose(session)) if each.error == "INVALID_REQUEST"]
    assert "The broker says: You may not specify both topic name and topic id. Also: Add voter" in refused.text
    assert refused.text.count("The broker says") == 1
