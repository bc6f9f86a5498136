"""Problems as lines that unfold: what `doctor` tells of each, and the first messages that show it.

Theory. A capture of a million messages may have a finding in each. Findings that are about the same are one problem
(analyzer.insight.problems), which keeps its first messages and counts the others. Problems are gathered where findings
are found; what is shown are copies of what they tell by then. Their order is that of `doctor`, and changes as findings
come. At the end, problems that others explain are lines beneath these. A problem with few messages is unfolded until
the user folds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from analyzer.columns.text import safe_text
from analyzer.insight.diagnosis import ERROR_ANSWER
from analyzer.insight.problems import Problem, as_sentence, join_names
from analyzer.render.lines import Line
from analyzer.session import Analysis
from dissectors.field import Tree
from dissectors.finding import Finding, Severity
from tui.model.detail import ByteRange
from tui.model.fold_list import FoldContents, FoldLine, FoldList
from tui.model.leads import Lead, PlaceLead

MOST_MESSAGES = 1000
"""The messages of a problem that are listed."""

FEW = 8
"""A problem with at most so many messages is unfolded at first."""

LONGEST = 1000
"""The characters of a sentence at most."""

CODE, NUMBER = 24, 9


class ShownProblem(NamedTuple):
    """What a problem tells by now.

    key: the problem, which stays the same as findings are added. details: sentences about it. rows: its first messages;
    total: findings; texts: by row what is different there; finding: the first one.
    """

    key: Problem
    severity: Severity
    label: str
    total: int
    text: str
    details: tuple[str, ...]
    rows: tuple[int, ...]
    texts: Mapping[int, str]
    finding: Finding


def copy_problem(problem: Problem) -> ShownProblem:
    """Returns what a problem tells by now."""
    details = [f"Concerns {problem.concerned}."] if problem.concerned else []
    if problem.effects:
        details.append(f"It explains {join_names(problem.effect_names)}.")
    if problem.advice:
        details.append(f"To do: {problem.advice}")
    first, *others = problem.examples
    sentences = {each.row: as_sentence(each.finding.text) for each in (first, *others) if each.row is not None}
    differ = problem.code != ERROR_ANSWER
    texts = {row: text for row, text in sentences.items() if differ and text != problem.text}
    return ShownProblem(
        problem, problem.severity, problem.label, problem.count, problem.text, tuple(details),
        tuple(problem.rows[:MOST_MESSAGES]), texts, first.finding,
    )  # fmt: skip


class FindingPosition(NamedTuple):
    """The problem that a line shows, and its offset beneath the problem's line."""

    key: Problem
    offset: int


class FindingList(FoldContents):
    """The problems so far as FoldContents."""

    def __init__(self, session: Analysis) -> None:
        super().__init__()
        self._session = session
        self.problems: Sequence[ShownProblem] = ()
        self._chosen: dict[Problem, bool] = {}

    def show(self, problems: Sequence[ShownProblem]) -> None:
        """Shows what problems tell by now, in place of what they told before."""
        self.problems = problems
        self.fold_list = FoldList(len(problems))
        for head, each in enumerate(problems):
            if self._chosen.get(each.key, each.total <= FEW):
                self.fold_list.unfold(head, _count_lines(each))

    def count_by_severity(self) -> dict[Severity, int]:
        """Returns the number of problems of each severity, the gravest first, without zeros."""
        counted = Counter(each.severity for each in self.problems)
        return {severity: counted[severity] for severity in sorted(Severity, reverse=True) if counted[severity]}

    def get_position(self, spot: FoldLine | None) -> FindingPosition | None:
        """Returns the problem and offset of a line, which stay valid when findings are added."""
        return None if spot is None else FindingPosition(self.problems[spot.head].key, spot.offset)

    def find_line(self, mark: FindingPosition | None) -> FoldLine | None:
        """Returns the line of a position; the problem's own line if it was folded, None if another explains it now."""
        if mark is None:
            return None
        head = next((place for place, each in enumerate(self.problems) if each.key is mark.key), None)
        return None if head is None else FoldLine(head, min(mark.offset, self.fold_list.get_height(head) or 0))

    def find_lead(self, spot: FoldLine) -> Lead | None:
        """Returns the lead to the message of a line, and to the place of the finding there."""
        shown = self.problems[spot.head]
        at = spot.offset - 1 - len(shown.details)
        if not 0 <= at < len(shown.rows):
            return None
        return PlaceLead(shown.rows[at], partial(_find_place, shown.finding))

    def unfold(self, head: int) -> int:
        """Unfolds a problem; returns the number of lines that were added."""
        self._chosen[self.problems[head].key] = True
        return self.fold_list.unfold(head, _count_lines(self.problems[head]))

    def fold(self, head: int) -> int:
        """Folds a problem; returns the number of lines that were removed."""
        self._chosen[self.problems[head].key] = False
        return self.fold_list.fold(head)

    def make_head(self, head: int) -> Line:
        """Returns the line of a problem: severity, code or error, number, and what happened."""
        shown = self.problems[head]
        severity = shown.severity.name.lower()
        label = f"{severity:<8} {safe_text(shown.label, LONGEST):<{CODE}}"
        count = f"{shown.total:>{NUMBER},}"
        return ((severity, label), ("title", count), ("", "  "), ("text", safe_text(shown.text, LONGEST)))

    def make_child(self, head: int, at: int) -> Line:
        """Returns a line beneath a problem: a sentence about it, or one of its messages."""
        shown = self.problems[head]
        if at < len(shown.details):
            return (("dim", f"{'':{NUMBER}}  {safe_text(shown.details[at], LONGEST)}"),)
        place = at - len(shown.details)
        if place >= len(shown.rows):
            more = shown.total - len(shown.rows)
            return (("note", f"{'':{NUMBER}}  and {more:,} more, which are not listed here"),)
        row = shown.rows[place]
        text = safe_text(shown.texts.get(row, ""), LONGEST)
        return (("place", f"{row + 1:>{NUMBER}}  "), *self._describe_row(row), ("", text))

    def _describe_row(self, row: int) -> Line:
        rows, names = self._session.rows, self._session.engine.names
        operation = names.text(rows.cell("operation", row)) or "?"
        return (("dim", f"stream {rows.cell('stream', row)}  "), ("name", f"{safe_text(operation, CODE)}  "))


def _count_lines(shown: ShownProblem) -> int:
    """Lines beneath a problem: details, messages, and one for those that are not listed."""
    return len(shown.details) + len(shown.rows) + bool(shown.rows and shown.total > len(shown.rows))


def _find_place(wanted: Finding, tree: Tree) -> ByteRange | None:
    """Returns the place of a finding in a tree, or of an equal finding there, or of one with its code."""
    alike = sorted(tree.findings, key=lambda each: (each.code, each.text) != (wanted.code, wanted.text))
    for each in (wanted, *alike):
        if each.code == wanted.code and each.offset is not None:
            last = max(tree.sources[each.source].length - 1, 0)  # what is missing would be behind it
            return ByteRange(each.source, min(each.offset, last), each.length or 0)
    return None
