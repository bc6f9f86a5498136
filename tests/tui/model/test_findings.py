"""What is kept of many findings, in which order kinds are told, and that a line is found again as more comes."""

from __future__ import annotations

import pytest

from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from dissectors.finding import Finding, Severity
from tests.tui.driving import KAFKA
from tui.model import findings as model
from tui.model.findings import FEW, MOST_FINDINGS, FindingList, FindingTally
from tui.model.fold_list import FoldLine

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


def tally(*found: tuple[int | None, Severity, str, str]) -> FindingTally:
    told = FindingTally()
    for row, severity, code, text in found:
        told.add(LocatedFinding(row, Finding(severity, code, text)))
    return told


def test_counted_alike_together_and_in_portions() -> None:
    found = [(row, NOTE, "unanswered", f"text {row}") for row in range(MOST_FINDINGS + 20)]
    whole, parts = tally(*found), FindingTally()
    for first in range(0, len(found), 300):
        parts.merge(tally(*found[first : first + 300]))
    assert parts.counts == whole.counts
    assert parts.examples == whole.examples
    ((kind, kept),) = parts.examples.items()
    assert (len(kept), parts.counts[kind], parts.count_by_severity()) == (
        MOST_FINDINGS,
        MOST_FINDINGS + 20,
        {NOTE: MOST_FINDINGS + 20},
    )


def test_not_too_many_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "KINDS", 5)
    told = FindingTally()
    for row in range(20):
        told.merge(tally((row, NOTE, ERROR_ANSWER, f"error {row}")))
    assert len(told.counts) == 6
    assert told.count_by_severity() == {NOTE: 20}


def test_lines_stay_what_they_were_as_more_comes() -> None:
    with Session([KAFKA]).load() as session:
        findings = FindingList(session)
        findings.merge(tally((3, NOTE, "unanswered", "no answer"), (None, WARNING, "gap", "bytes are missing")))
        assert [kind.code for kind in findings.kinds] == ["gap", "unanswered"]
        mark = findings.get_position(FoldLine(1, 1))
        more = [(row, ERROR, "malformed-body", "broken") for row in range(FEW + 1)]
        findings.merge(tally(*more, (5, NOTE, "unanswered", "no answer")))
        assert [kind.code for kind in findings.kinds] == ["malformed-body", "gap", "unanswered"]
        assert findings.find_line(mark) == FoldLine(2, 1)
        assert [findings.fold_list.get_height(head) for head in range(3)] == [None, 1, 2]
        assert findings.unfold(0) == FEW + 1
        assert strip_styles(findings.make_head(0)).split()[:3] == ["error", "malformed-body", f"{FEW + 1}"]
        assert strip_styles(findings.make_child(0, 0)).split() == ["1", "stream", "0", "ApiVersions", "broken"]
        assert strip_styles(findings.make_child(1, 0)).split() == ["bytes", "are", "missing"]
        findings.merge(tally((9, ERROR, "malformed-body", "broken")))
        assert findings.fold_list.get_height(0) == FEW + 2
        findings.fold(2)
        assert findings.find_line(mark) == FoldLine(2, 0)


def test_those_beyond_are_counted_in_a_line() -> None:
    with Session([KAFKA]).load() as session:
        findings = FindingList(session)
        findings.merge(tally(*((1, NOTE, "unanswered", "no answer") for _ in range(MOST_FINDINGS + 5))))
        assert findings.unfold(0) == MOST_FINDINGS + 1
        assert strip_styles(findings.make_child(0, MOST_FINDINGS)).strip() == "and 5 more, which are not listed here"
        assert findings.get_finding(FoldLine(0, MOST_FINDINGS + 1)) is None
        assert findings.get_finding(FoldLine(0, MOST_FINDINGS)) is not None
