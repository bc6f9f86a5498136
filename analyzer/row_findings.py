"""What the index itself has to say of a row: one table, read for one row or for many.

A new finding of this kind is a new entry of ROW_FINDINGS and a code in dissectors/finding.py; what needs the body is
the dissector's to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from analyzer.columns import Array, Bools, Ints
from analyzer.messages import Mark, Messages
from dissectors.api import Role, State
from dissectors.finding import Finding, Severity
from dissectors.wire.bulk import NULL


class Facts(NamedTuple):
    """Columns of n rows. `paired`: the partner is known; `latency`: ns of responses that are, else 0."""

    marks: Array
    state: Array
    role: Array
    paired: Bools
    latency: Ints

    @classmethod
    def of(cls, index: Messages, rows: Ints) -> Facts:
        """The facts about some rows."""
        take = {name: index.column(name)[rows] for name in ("marks", "state", "role", "partner", "time")}
        paired = take["partner"] != NULL
        answers = paired & (take["role"] == Role.RESPONSE)
        asked = index.column("time")[np.where(answers, take["partner"], 0)] if len(index) else take["time"]
        latency = np.where(answers, take["time"] - asked, 0)
        return cls(take["marks"], take["state"], take["role"], paired, latency)


Condition = Callable[[Facts], Bools]

ROW_FINDINGS: tuple[tuple[Condition, Finding], ...] = (
    (
        lambda facts: facts.marks & Mark.SNAPPED != 0,
        Finding(Severity.WARNING, "cut-by-snaplen", "the capture kept only the beginning of packets"),
    ),
    (
        lambda facts: facts.marks & Mark.GAP != 0,
        Finding(Severity.WARNING, "gap", "bytes of this message are missing from the capture"),
    ),
    (
        lambda facts: (facts.role == Role.RESPONSE) & ~facts.paired,
        Finding(Severity.NOTE, "orphan-response", "its request is not in the capture"),
    ),
    (
        lambda facts: (facts.state == State.PARTIAL) & (facts.marks & (Mark.SNAPPED | Mark.GAP) == 0),
        Finding(Severity.WARNING, "unfinished", "the stream ends before this message does"),
    ),
    (
        lambda facts: facts.latency < 0,
        Finding(Severity.WARNING, "clock-went-back", "the clock went back since its request"),
    ),
)


def remarkable(index: Messages, rows: Ints) -> Ints:
    """Places in `rows` of which there is something to say."""
    facts = Facts.of(index, rows)
    found = np.zeros(len(rows), bool)
    for condition, _ in ROW_FINDINGS:
        found |= condition(facts)
    return np.flatnonzero(found)


def remarks(index: Messages, row: int) -> Iterator[Finding]:
    """What there is to say of one row."""
    facts = Facts.of(index, np.array([row]))
    return (finding for condition, finding in ROW_FINDINGS if condition(facts)[0])
