"""Findings by what they are about: what is counted together, and which comes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from analyzer.decode.endpoints import find_server_port
from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding
from analyzer.session import Analysis
from dissectors.finding import Finding, Severity


class FindingKind(NamedTuple):
    """Findings that are counted together; those of errors in answers differ by error and operation.

    port: of the server whose connections they are about, where they belong to connections and not to rows; else 0.
    """

    severity: Severity
    code: str
    error: str = ""
    port: int = 0


def kind_of(finding: Finding, port: int = 0) -> FindingKind:
    """Returns the kind of a finding."""
    return FindingKind(finding.severity, finding.code, finding.text if finding.code == ERROR_ANSWER else "", port)


def gravest_first(counts: Mapping[FindingKind, int]) -> list[FindingKind]:
    """Sorts kinds of findings for display: by severity, then the frequent ones first, errors in answers last.

    counts: how often there is each.
    """
    return sorted(counts, key=lambda kind: (-kind.severity, kind.code == ERROR_ANSWER, -counts[kind], kind))


class FindingGroup:
    """Findings of one kind: their number, the first `shown` messages with one, and whether there are `more`.

    streams: the connections of those that belong to no message. examples: the first so many that read differently;
    where `most` is None, all.
    """

    def __init__(self, shown: int, most: int | None) -> None:
        self._shown, self._most = shown, most
        self.count, self.more = 0, False
        self.rows: list[int] = []
        self.streams: set[int] = set()
        self.examples: list[LocatedFinding] = []

    def add(self, found: LocatedFinding) -> None:
        """Counts a finding of this kind, its stream and its row, and keeps it as an example if it is new."""
        self.count += 1
        if found.stream is not None:
            self.streams.add(found.stream)
        if found.row is not None:
            self.add_row(found.row)
        if self._most is None or (len(self.examples) < self._most and self._is_new(found)):
            self.examples.append(found)

    def add_row(self, row: int) -> None:
        """Notes that a message has a finding of this kind."""
        if row not in self.rows:
            self.more = self.more or len(self.rows) == self._shown
            self.rows += [row] * (not self.more)

    def _is_new(self, found: LocatedFinding) -> bool:
        return all(each.finding.text != found.finding.text for each in self.examples)


def group_findings(
    session: Analysis, found: Iterable[LocatedFinding], shown: int, most: int | None
) -> dict[FindingKind, FindingGroup]:
    """Groups findings by kind, in the order in which the kinds are displayed. shown, most: see Group."""
    groups: dict[FindingKind, FindingGroup] = {}
    for each in found:
        port = 0 if each.stream is None else find_server_port(session, each.stream)
        groups.setdefault(kind_of(each.finding, port), FindingGroup(shown, most)).add(each)
    return {kind: groups[kind] for kind in gravest_first({kind: group.count for kind, group in groups.items()})}
