"""What problems tell in lines, in which order, and that a line is found again as more findings come."""

from __future__ import annotations

import pytest

from analyzer.insight.diagnosis import LocatedFinding, diagnose
from analyzer.insight.problems import ProblemTable
from analyzer.insight.root_causes import settle_problems
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from dissectors.finding import Finding, Severity
from tests.tui.driving import KAFKA
from tui.model import findings as model
from tui.model.findings import FEW, FindingList, copy_problem
from tui.model.fold_list import FoldLine
from tui.model.leads import PlaceLead

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


def add(table: ProblemTable, *found: tuple[int | None, Severity, str, str]) -> None:
    for row, severity, code, text in found:
        table.add(LocatedFinding(row, Finding(severity, code, text)))


def test_lines_stay_what_they_were_as_more_comes() -> None:
    with Session([KAFKA]).load() as session:
        table, findings = ProblemTable(session, 16), FindingList(session)
        add(table, (3, NOTE, "unanswered", "no answer"), (None, WARNING, "gap", "bytes are missing"))
        findings.show(list(map(copy_problem, table.list_problems())))
        assert [each.label for each in findings.problems] == ["gap", "unanswered"]
        assert findings.count_by_severity() == {WARNING: 1, NOTE: 1}
        lines = [strip_styles(findings.make_child(1, at)).split() for at in range(3)]
        assert (lines[0][0], lines[1][:2], lines[2][:3]) == ("Concerns", ["To", "do:"], ["4", "stream", "0"])
        mark = findings.get_position(FoldLine(1, 3))
        assert isinstance(findings.find_lead(FoldLine(1, 3)), PlaceLead)
        assert findings.find_lead(FoldLine(1, 1)) is None
        add(table, *((row, ERROR, "malformed-body", "broken") for row in range(FEW + 1)))
        findings.show(list(map(copy_problem, table.list_problems())))
        assert [each.label for each in findings.problems] == ["malformed-body", "gap", "unanswered"]
        assert findings.find_line(mark) == FoldLine(2, 3)
        assert findings.fold_list.get_height(0) is None
        assert findings.unfold(0) == FEW + 3
        head = strip_styles(findings.make_head(0)).split()
        assert head == ["error", "malformed-body", f"{FEW + 1}", "Broken."]
        findings.fold(2)
        assert findings.find_line(mark) == FoldLine(2, 0)


def test_problems_that_others_explain_are_reported_with_these() -> None:
    with Session([KAFKA]).load() as session:
        table, findings = ProblemTable(session, 16), FindingList(session)
        for each in diagnose(session):
            table.add(each)
        findings.show(list(map(copy_problem, table.list_problems())))
        before = [findings.get_position(FoldLine(head, 0)) for head in range(len(findings.problems))]
        findings.show(list(map(copy_problem, settle_problems(session, table))))
        removed = [each for each in before if findings.find_line(each) is None]
        assert len(before) - len(removed) == len(findings.problems)
        assert all(each is not None and each.key.cause is not None for each in removed)


def test_messages_beyond_are_counted_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_MESSAGES", 100)
    with Session([KAFKA]).load() as session:
        table, findings = ProblemTable(session, 16), FindingList(session)
        add(table, *((row, NOTE, "unanswered", "no answer") for row in range(105)))
        findings.show(list(map(copy_problem, table.list_problems())))
        height = findings.unfold(0)
        assert strip_styles(findings.make_child(0, height - 1)).strip() == "and 5 more, which are not listed here"
        assert findings.find_lead(FoldLine(0, height)) is None
