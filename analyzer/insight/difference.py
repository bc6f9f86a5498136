"""A difference between captures, with its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dissectors.slotted import make_slotted

CHANCE, DOUBT = 0.01, 0.05
"""The corrected probability from which on a change may be chance, and from which on a new error is doubtful."""

MATTERS, BUSIER, SHORT = 1.2, 1.5, 1_000_000
"""Least factor of a change of latencies and sizes, and of rates; ns by which latencies must differ for full weight."""

WEIGHTS = {
    "protocol": 90, "new-error": 70, "error": 60, "unanswered": 60, "network": 58, "slower": 55, "setting": 50,
    "software": 48, "operation": 40, "fewer-errors": 38, "version": 36, "faster": 34, "rate": 26, "size": 24,
    "connections": 20, "client": 14,
}  # fmt: skip
STRENGTH, DOUBTFUL, BRIEF = 30, 20, 25
"""The largest bonus for the size of a change. The others are deducted: for a new error that may be chance and for a
network that improved, and for short times.
"""

NAMELESS = "(none)"
"""The operation of messages without one."""


@make_slotted
class Change:
    """A metric or a set before and after; significance: the corrected probability of chance, None for a fact."""

    name: str
    before: Any
    after: Any
    significance: float | None = None


@make_slotted
class Difference:
    """A difference between captures. kind: a key of WEIGHTS. changes: of one operation, the most important first.

    If `operation` is None and the kind is `operation` or `version`, the changes are of several operations, and each has
    the name of its operation. of: for counts, the numbers of messages that they are out of. clients: some of those with
    a new value.
    """

    kind: str
    protocol: str | None
    operation: str | None
    weight: float
    changes: Sequence[Change]
    of: tuple[int, int] | None = None
    clients: Sequence[str] = ()


def find_factor(change: Change) -> float:
    """Returns the larger metric divided by the smaller; a metric of zero counts as next to nothing."""
    low, high = sorted((float(change.before), float(change.after)))
    least = 1.0 if isinstance(change.after, int) else 1e-9
    return max(high, least) / max(low, least)
