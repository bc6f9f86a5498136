"""Triage data that each protocol gives: the severity of errors and findings, and causes with their effects.

Theory. A server answers many requests with errors that belong to the normal course of the protocol, and few with
errors that need attention. The code does not tell which, so a table does: each error has a class, a sentence on its
meaning and one on what to do. Other rows name root causes: the code of a finding, and the errors and codes that follow
from it within some time. The diagnosis (analyzer.insight) takes severities from the classes, and folds consequences
into their cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from dissectors.finding import Severity


class ErrorClass(Enum):
    """How much an error in an answer matters.

    NORMAL: an ordinary step, as a node that exists already. RETRIED: the client tries again, and mostly succeeds.
    ATTENTION: somebody should look at it. REFUSED: the server does not do it, now or later. DATA_AT_RISK: data may be
    lost, damaged or written twice.
    """

    NORMAL = "normal"
    RETRIED = "retried"
    ATTENTION = "attention"
    REFUSED = "refused"
    DATA_AT_RISK = "data-at-risk"

    @property
    def severity(self) -> Severity | None:
        """The severity of a finding about such an error; None where it is no finding."""
        return _SEVERITIES.get(self)


_SEVERITIES = {
    ErrorClass.RETRIED: Severity.NOTE,
    ErrorClass.ATTENTION: Severity.WARNING,
    ErrorClass.REFUSED: Severity.ERROR,
    ErrorClass.DATA_AT_RISK: Severity.ERROR,
}


class ErrorMeaning(NamedTuple):
    """The class of an error, what it means, and what to do about it."""

    error_class: ErrorClass
    meaning: str
    advice: str


UNKNOWN_ERROR = ErrorMeaning(ErrorClass.ATTENTION, "The tables do not explain this error.", "")
"""What an error means that the protocol's table does not name."""

PLAIN_ERROR = ErrorMeaning(ErrorClass.RETRIED, "The server reports an error.", "")
"""What an error means in a protocol without a table."""


class RootCause(NamedTuple):
    """What follows from a finding.

    code: of the finding that is the cause, or the name of its error. effects: codes of findings, and names of errors,
    that it explains. before, after: ns before and behind one of its messages within which they count. same: what cause
    and effect must have in common: `stream`, `server`, `client` (an address without its port), `name` (that of the
    client, as a session), `subject`, or `` for nothing.
    """

    code: str
    effects: frozenset[str]
    before: int
    after: int
    same: str


class Triage(NamedTuple):
    """A protocol's errors, and its root causes, the ones that explain the most first.

    errors: by name; by `OPERATION: NAME` where an error means something else as the answer to an operation. by_checks:
    codes of findings about one message of which a check of many messages tells more, or knows that nothing is wrong.
    """

    errors: Mapping[str, ErrorMeaning]
    causes: Sequence[RootCause] = ()
    by_checks: frozenset[str] = frozenset()

    def weigh_error(self, name: str, operation: str | None = None) -> ErrorMeaning:
        """Returns what an error means as the answer to an operation, also one that the table does not name."""
        return self.errors.get(f"{operation}: {name}") or self.errors.get(name, UNKNOWN_ERROR)

    def explain_error(self, name: str, operations: Iterable[str]) -> ErrorMeaning:
        """Returns what an error means to several operations: its general meaning if it differs between them."""
        meanings = {self.weigh_error(name, operation) for operation in operations}
        return meanings.pop() if len(meanings) == 1 else self.weigh_error(name)


_SECOND = 1_000_000_000


def read_triage(table: Mapping[str, Any]) -> Triage:
    """Makes a Triage of a table of JSON.

    table: `errors` as Triage has them, each `[class, meaning, advice]`; `causes`, objects with the fields of RootCause,
    times in seconds; `by_checks`, a list.
    """
    errors = {name: ErrorMeaning(ErrorClass(kind), *texts) for name, (kind, *texts) in table["errors"].items()}
    causes = [
        RootCause(
            row["code"],
            frozenset(row["effects"]),
            int(row.get("before", 0) * _SECOND),
            int(row.get("after", 0) * _SECOND),
            row.get("same", ""),
        )
        for row in table.get("causes", ())
    ]
    return Triage(errors, causes, frozenset(table.get("by_checks", ())))
