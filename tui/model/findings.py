"""Findings by kind as lines that unfold: how many there are of each kind, and the first ones.

Theory. A capture of a million messages may have a finding in each. So only the first findings of each kind are kept,
and the others are counted. Findings come in portions, which are tallied where they are found and merged where they are
shown. Kinds are in the order of `doctor`, which changes as findings come. A kind with few findings is unfolded until
the user folds it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from analyzer.columns.text import safe_text
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding
from analyzer.insight.kinds import FindingKind, gravest_first, kind_of
from analyzer.render.lines import Line
from analyzer.session import Analysis
from dissectors.field import Tree
from dissectors.finding import CODES, Finding, Severity
from tui.model.detail import ByteRange
from tui.model.fold_list import FoldContents, FoldLine, FoldList
from tui.model.leads import Lead, PlaceLead

MOST_FINDINGS = 1000
"""The findings of a kind that are listed."""

KINDS, OTHERS = 500, "other errors"
"""The number of kinds at most; further errors of answers are one kind of this name."""

FEW = 8
"""A kind with at most so many findings is unfolded at first."""

LONGEST = 1000
"""The characters of a sentence at most."""

CODE, NUMBER = 24, 9


class FindingTally:
    """The number of findings of each kind, and the first ones in the order in which they were found."""

    def __init__(self) -> None:
        self.counts: dict[FindingKind, int] = {}
        self.examples: dict[FindingKind, list[LocatedFinding]] = {}

    def add(self, found: LocatedFinding) -> None:
        """Counts a finding for its kind; the first MOST_FINDINGS are kept as examples."""
        kind = self._register_kind(kind_of(found.finding))
        self.counts[kind] += 1
        examples_of_kind = self.examples[kind]
        if len(examples_of_kind) < MOST_FINDINGS:
            examples_of_kind.append(found)

    def merge(self, later: FindingTally) -> None:
        """Adds the counts of a later tally."""
        for each, count in later.counts.items():
            kind = self._register_kind(each)
            self.counts[kind] += count
            examples_of_kind = self.examples[kind]
            examples_of_kind += later.examples[each][: MOST_FINDINGS - len(examples_of_kind)]

    def _register_kind(self, kind: FindingKind) -> FindingKind:
        if kind not in self.counts:
            if kind.error and len(self.counts) >= KINDS:
                kind = FindingKind(kind.severity, ERROR_ANSWER, OTHERS)
            self.counts.setdefault(kind, 0)
            self.examples.setdefault(kind, [])
        return kind

    def count_by_severity(self) -> dict[Severity, int]:
        """Returns the number of findings of each severity, the gravest first, without zeros."""
        counted = dict.fromkeys(sorted(Severity, reverse=True), 0)
        for kind, count in self.counts.items():
            counted[kind.severity] += count
        return {severity: count for severity, count in counted.items() if count}


class FindingPosition(NamedTuple):
    """The kind that a line shows, and its offset beneath the kind's line."""

    kind: FindingKind
    offset: int


class FindingList(FoldContents):
    """The findings so far as FoldContents."""

    def __init__(self, session: Analysis) -> None:
        super().__init__()
        self._session = session
        self.tally = FindingTally()
        self.kinds: list[FindingKind] = []
        self._chosen: dict[FindingKind, bool] = {}

    def merge(self, later: FindingTally) -> None:
        """Adds findings; the order of kinds may change."""
        self.tally.merge(later)
        self.kinds = gravest_first(self.tally.counts)
        self.fold_list = FoldList(len(self.kinds))
        for head, kind in enumerate(self.kinds):
            if self._chosen.get(kind, self.tally.counts[kind] <= FEW):
                self.fold_list.unfold(head, self._count_lines(kind))

    def get_position(self, spot: FoldLine | None) -> FindingPosition | None:
        """Returns the kind and offset of a line, which stay valid when findings are added."""
        return None if spot is None else FindingPosition(self.kinds[spot.head], spot.offset)

    def find_line(self, mark: FindingPosition | None) -> FoldLine | None:
        """Returns the line of a position; the kind's own line if it was folded."""
        if mark is None:
            return None
        head = self.kinds.index(mark.kind)
        return FoldLine(head, min(mark.offset, self.fold_list.get_height(head) or 0))

    def get_finding(self, spot: FoldLine) -> LocatedFinding | None:
        """Returns the finding of a line; None for a kind's own line, and for the line that counts the rest."""
        examples_of_kind = self.tally.examples[self.kinds[spot.head]]
        return examples_of_kind[spot.offset - 1] if 0 < spot.offset <= len(examples_of_kind) else None

    def find_lead(self, spot: FoldLine) -> Lead | None:
        """Returns the lead to the message of a finding, and to its place there."""
        found = self.get_finding(spot)
        return None if found is None or found.row is None else PlaceLead(found.row, partial(_find_place, found.finding))

    def unfold(self, head: int) -> int:
        """Unfolds the findings of a kind; returns the number of lines that were added."""
        kind = self.kinds[head]
        self._chosen[kind] = True
        return self.fold_list.unfold(head, self._count_lines(kind))

    def fold(self, head: int) -> int:
        """Folds the findings of a kind; returns the number of lines that were removed."""
        self._chosen[self.kinds[head]] = False
        return self.fold_list.fold(head)

    def make_head(self, head: int) -> Line:
        """Returns the line of a kind: severity, code, number and meaning."""
        kind = self.kinds[head]
        severity = kind.severity.name.lower()
        description = safe_text(kind.error, LONGEST) if kind.error else CODES[kind.code]
        style = "text" if kind.error else "dim"
        count = f"{self.tally.counts[kind]:>{NUMBER},}"
        return ((severity, f"{severity:<8} {kind.code:<{CODE}}"), ("title", count), ("", "  "), (style, description))

    def make_child(self, head: int, at: int) -> Line:
        """Returns the line of a finding."""
        kind = self.kinds[head]
        examples_of_kind = self.tally.examples[kind]
        if at >= len(examples_of_kind):
            more = self.tally.counts[kind] - len(examples_of_kind)
            return (("note", f"{'':{NUMBER}}  and {more:,} more, which are not listed here"),)
        row, finding, *_ = examples_of_kind[at]
        text = "" if kind.error and kind.error != OTHERS else safe_text(finding.text, LONGEST)
        if row is None:
            return (("place", f"{'':{NUMBER}}  "), ("", text))
        return (("place", f"{row + 1:>{NUMBER}}  "), *self._describe_row(row), ("", text))

    def _describe_row(self, row: int) -> Line:
        rows, names = self._session.rows, self._session.engine.names
        operation = names.text(rows.cell("operation", row)) or "?"
        return (("dim", f"stream {rows.cell('stream', row)}  "), ("name", f"{safe_text(operation, CODE)}  "))

    def _count_lines(self, kind: FindingKind) -> int:
        examples_of_kind = len(self.tally.examples[kind])
        return examples_of_kind + (self.tally.counts[kind] > examples_of_kind)


def _find_place(wanted: Finding, tree: Tree) -> ByteRange | None:
    """Returns the place of a finding in a tree, or of an equal finding there."""
    for each in (wanted, *tree.findings):
        if (each.code, each.text) == (wanted.code, wanted.text) and each.offset is not None:
            last = max(tree.sources[each.source].length - 1, 0)  # what is missing would be behind it
            return ByteRange(each.source, min(each.offset, last), each.length or 0)
    return None
