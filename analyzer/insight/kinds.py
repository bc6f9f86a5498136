"""Findings by what they are about: what is counted together, and which comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from analyzer.insight.checkup import ERROR_ANSWER
from dissectors.finding import Finding, Severity


class Kind(NamedTuple):
    """What findings are counted together by; of errors in answers, which error it is of which operation."""

    severity: Severity
    code: str
    error: str = ""


def kind_of(finding: Finding) -> Kind:
    """The kind that a finding is of."""
    return Kind(finding.severity, finding.code, finding.text if finding.code == ERROR_ANSWER else "")


def gravest_first(counts: Mapping[Kind, int]) -> list[Kind]:
    """Kinds in the order in which they are told; of the same severity the frequent ones first, errors in answers last.

    counts: how often there is each.
    """
    return sorted(counts, key=lambda kind: (-kind.severity, kind.code == ERROR_ANSWER, -counts[kind], kind))
