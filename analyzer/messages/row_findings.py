"""Findings about rows that follow from the index alone: one table, for one row or for many.

A new finding of this kind is a new entry of ROW_FINDINGS and a code in dissectors/finding.py. Findings that need the
body come from dissectors. Findings of many rows are integers whose bits are the entries of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.messages.index import FROM_CLIENT, MessageTable, RowMark, find_unpaired
from analyzer.tcp.streams import UNKNOWN_SIDE, StreamTable
from dissectors.api import Role, State
from dissectors.finding import Finding, Severity
from dissectors.wire.fast_path import NULL


class RowFacts(NamedTuple):
    """Holds facts about n rows, as columns.

    `paired`: the partner is known, though it may be evicted. `latency`: ns, for responses whose partner is in memory,
    else 0. is_request: requests, and other messages that get a response: frames that a client sends without a header.
    left, deserted: whether the sender, or the other side, sent the first FIN or RST.
    """

    marks: Array
    state: Array
    role: Array
    paired: Bools
    latency: Ints
    is_request: Bools
    left: Bools
    deserted: Bools

    @classmethod
    def from_rows(cls, index: MessageTable, streams: StreamTable, rows: Ints) -> RowFacts:
        """Returns the facts about some rows."""
        names = ("marks", "state", "role", "partner", "time", "stream", "side")
        take = {name: index.column(name)[rows] for name in names}
        there = take["partner"] != NULL
        paired = ~find_unpaired(take["partner"], take["marks"])
        answers = there & (take["role"] == Role.RESPONSE)
        request_time = index.column("time")[take["partner"][answers]]
        latency = np.zeros(len(rows), np.int64)
        latency[answers] = take["time"][answers] - request_time
        client, closer = (streams.column(name)[take["stream"]] for name in ("client", "closer"))
        sender = np.where(take["side"] == FROM_CLIENT, client, 1 - client)
        closed = closer != UNKNOWN_SIDE
        left, deserted = closed & (closer == sender), closed & (closer != sender)
        token = (take["role"] == Role.RAW) & (take["state"] == State.COMPLETE) & (take["side"] == FROM_CLIENT)
        is_request = (take["role"] == Role.REQUEST) | token
        return cls(take["marks"], take["state"], take["role"], paired, latency, is_request, left, deserted)

    @property
    def unanswered(self) -> Bools:
        """Whether requests lack a response that they should have."""
        owed = self.marks & RowMark.NOTHING_OWED == 0
        found: Bools = self.is_request & ~self.paired & owed & (self.state != State.PARTIAL)
        return found


class RowFinding(NamedTuple):
    """Describes a finding, and the condition for its rows.

    late: only later packets can decide it. alone: such rows are not written together with others, because their latency
    is negative.
    """

    condition: Callable[[RowFacts], Bools]
    finding: Finding
    late: bool = False
    alone: bool = False


_LEFT = "no answer is in the capture, the side that asked closed the connection first"

ROW_FINDINGS: tuple[RowFinding, ...] = (
    RowFinding(
        lambda facts: facts.marks & RowMark.SNAPPED != 0,
        Finding(Severity.WARNING, "cut-by-snaplen", "the capture kept only the beginning of packets"),
    ),
    RowFinding(
        lambda facts: facts.marks & RowMark.GAP != 0,
        Finding(Severity.WARNING, "gap", "bytes of this message are missing from the capture"),
    ),
    RowFinding(
        lambda facts: (facts.role == Role.RESPONSE) & ~facts.paired,
        Finding(Severity.NOTE, "orphan-response", "its request is not in the capture"),
    ),
    RowFinding(
        lambda facts: (facts.state == State.PARTIAL) & (facts.marks & (RowMark.SNAPPED | RowMark.GAP) == 0),
        Finding(Severity.WARNING, "unfinished", "the stream ends before this message does"),
    ),
    RowFinding(
        lambda facts: facts.latency < 0,
        Finding(Severity.WARNING, "clock-went-back", "the clock went back since its request"),
        alone=True,
    ),
    RowFinding(
        lambda facts: facts.unanswered & facts.deserted,
        Finding(
            Severity.WARNING, "closed-unanswered", "the other side closed the connection, no answer is in the capture"
        ),
        late=True,
    ),
    RowFinding(
        lambda facts: facts.unanswered & facts.left,
        Finding(Severity.NOTE, "unanswered", _LEFT),
        late=True,
    ),
    RowFinding(
        lambda facts: facts.unanswered & ~facts.deserted & ~facts.left,
        Finding(Severity.NOTE, "unanswered", "no answer is in the capture"),
        late=True,
    ),
)


def flag_findings(index: MessageTable, streams: StreamTable, rows: Ints, *, late: bool) -> Ints:
    """Returns for each of `rows` (n) its findings as bits (int64, n).

    late: includes findings that only later packets can decide.
    """
    facts = RowFacts.from_rows(index, streams, rows)
    found = np.zeros(len(rows), np.int64)
    for bit, row_finding in enumerate(ROW_FINDINGS):
        if late or not row_finding.late:
            found |= row_finding.condition(facts).astype(np.int64) << bit
    return found


LEFT = sum(1 << bit for bit, row_finding in enumerate(ROW_FINDINGS) if row_finding.finding.text == _LEFT)
"""Bit of requests whose sender did not wait for the response, which may be normal; see Dissector.long_polls."""

ALONE = sum(1 << bit for bit, row_finding in enumerate(ROW_FINDINGS) if row_finding.alone)
"""Bits of findings that keep a row from being written together with others."""


@lru_cache(maxsize=256)
def decode_findings(bits: int) -> tuple[Finding, ...]:
    """Returns the findings of bits from flag_findings()."""
    return tuple(row_finding.finding for bit, row_finding in enumerate(ROW_FINDINGS) if bits >> bit & 1)
