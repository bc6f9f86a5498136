"""A difference between captures, with its weight; tests whether samples differ by more than chance.

Theory. All tests come down to one table of two rows and two columns. If fewer than LARGE cases are expected in one of
its cells, the probability is exact (Fisher's test for shares, the binomial test for rates), else that of a normal
distribution. Two samples of latencies are compared at a percentile by Mood's test: if they came from one distribution,
equal shares of both would be above the percentile of all values together. No distribution is assumed. All tests are
two-sided, and assume independent observations. Messages are not quite independent, so callers require small
probabilities and a change that matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from analyzer.columns.arrays import Floats, Ints
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


def is_worse(change: Change, of: tuple[int, int]) -> bool:
    """Returns whether a count has become a larger share of the messages that it is out of."""
    return bool(change.after * of[0] > change.before * of[1])


LARGE = 10
"""Expected cases from which on a normal distribution is accurate enough."""

_ROUNDING = 1e-7
"""Tolerance for outcomes that are as probable as the observed one, because their last digits may differ."""


def compare_shares(some: int, of: int, others: int, of_others: int) -> float:
    """Returns the probability that two shares (`some` of `of` and so on) differ this much by chance."""
    total, marked = of + of_others, some + others
    if not of or not of_others or marked in (0, total):
        return 1.0
    expected = min(marked, total - marked) * min(of, of_others) / total
    if expected >= LARGE:
        share = marked / total
        deviation = math.sqrt(share * (1 - share) * (1 / of + 1 / of_others))
        return _tails((some / of - others / of_others) / deviation)
    low, high = max(0, marked - of_others), min(marked, of)
    steps = np.arange(low, high, dtype=np.float64)
    odds = (marked - steps) * (of - steps) / ((steps + 1) * (of_others - marked + steps + 1))
    return _sum_improbable(odds, some - low)


def compare_percentiles(one: Ints, other: Ints, thousandths: int) -> float:
    """Returns the probability that a percentile (500: median) of two sorted samples differs by chance."""
    total = len(one) + len(other)
    if not len(one) or not len(other):
        return 1.0
    both = np.concatenate((one, other))
    rank = max((total * thousandths + 999) // 1000, 1) - 1
    edge = np.partition(both, rank)[rank]
    above, others = (len(each) - int(np.searchsorted(each, edge, "right")) for each in (one, other))
    return compare_shares(above, len(one), others, len(other))


def compare_rates(some: int, span: int, others: int, other_span: int) -> float:
    """Returns the probability that two rates differ by chance; the spans of time have the same unit."""
    total = some + others
    if not total or span <= 0 or other_span <= 0:
        return 1.0
    share = span / (span + other_span)
    if total * min(share, 1 - share) >= LARGE:
        return _tails((some - total * share) / math.sqrt(total * share * (1 - share)))
    steps = np.arange(total, dtype=np.float64)
    return _sum_improbable((total - steps) / (steps + 1) * (share / (1 - share)), some)


def _tails(deviations: float) -> float:
    """Returns the probability of at least this deviation (in standard deviations), on either side."""
    return math.erfc(abs(deviations) / math.sqrt(2))


def _sum_improbable(odds: Floats, seen: int) -> float:
    """Returns the probability of all outcomes that are not more probable than the observed one, `seen`.

    odds: for each outcome but the first, its probability divided by that of the one before.
    """
    logs = np.concatenate(([0.0], np.cumsum(np.log(odds))))
    likely = np.exp(logs - logs.max())
    return min(float(likely[likely <= likely[seen] * (1 + _ROUNDING)].sum() / likely.sum()), 1.0)
