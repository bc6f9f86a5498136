"""Finds metrics of two profiles that changed: errors, latencies, sizes, rates, network; each with its significance.

Theory. Each comparison is one test, or one for each percentile. After all tests, their number corrects each probability
(Bonferroni), and changes that may be chance are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from analyzer.columns.arrays import Ints
from analyzer.insight.difference import (
    BRIEF,
    BUSIER,
    CHANCE,
    DOUBT,
    DOUBTFUL,
    MATTERS,
    SHORT,
    STRENGTH,
    WEIGHTS,
    Change,
    Difference,
    compare_percentiles,
    compare_rates,
    compare_shares,
    find_factor,
    is_worse,
)
from analyzer.insight.metrics import SECOND
from analyzer.insight.percentiles import nearest_rank
from analyzer.insight.profile import OperationKey, OperationProfile, Profile
from dissectors.slotted import replace

_Key: TypeAlias = tuple[str | None, str | None]
"""A protocol and an operation."""

EVERYTHING: _Key = (None, None)

PERCENTILES = {"p50": 500, "p90": 900, "p99": 990}


class MetricTests:
    """Tests metrics of two profiles; after all tests, their number corrects each probability."""

    def __init__(self, before: Profile, after: Profile) -> None:
        self._before, self._after = before, after
        self._count = 0
        self._candidates: list[Difference] = []

    def compare_traffic(self) -> None:
        """Compares the rates of all messages and connections, and network faults of the connections."""
        before, after = self._before, self._after
        self._test_rate("rate", EVERYTHING, before.total.messages, after.total.messages)
        one, other = before.network, after.network
        self._test_rate("connections", EVERYTHING, one.connections, other.connections)
        self._test_percentiles("slower", EVERYTHING, "", one.round_trips, other.round_trips)
        messages = (before.total.messages, after.total.messages)
        for name in ("retransmissions", "zero_windows"):
            counts = (getattr(one, name), getattr(other, name))
            of = (messages[0] + counts[0], messages[1] + counts[1])
            self._test_share("network", EVERYTHING, name, counts, of)
        self._test_share(
            "network", EVERYTHING, "resets", (one.resets, other.resets), (one.connections, other.connections)
        )

    def compare_operation(self, key: OperationKey, one: OperationProfile | None, other: OperationProfile) -> None:
        """Compares the errors of an operation, and its other metrics if both captures have it."""
        requests, answered = (0, 0) if one is None else (one.metrics.requests, one.metrics.answers)
        for error, count in other.errors.items():
            known = 0 if one is None else one.errors.get(error, 0)
            of = (max(answered, known), max(other.metrics.answers, count))
            self._test_share("error" if known else "new-error", key, error, (known, count), of)
        if one is None:
            return
        for error in one.errors.keys() - other.errors.keys():
            of = (max(answered, one.errors[error]), other.metrics.answers)
            self._test_share("error", key, error, (one.errors[error], 0), of)
        silent = (one.metrics.unanswered, other.metrics.unanswered)
        self._test_share("unanswered", key, "unanswered", silent, (requests, other.metrics.requests))
        self._test_percentiles("slower", key, "", one.latencies, other.latencies)
        self._test_percentiles("size", key, "request ", one.request_sizes, other.request_sizes)
        self._test_percentiles("size", key, "response ", one.response_sizes, other.response_sizes)
        if self._before.total.messages and self._after.total.messages:
            self._test_rate("rate", key, one.metrics.messages, other.metrics.messages)

    def list_differences(self) -> Iterator[Difference]:
        """Returns the differences that are large enough and not explained by chance."""
        for each in self._candidates:
            changes = [_correct(change, self._count) for change in each.changes]
            sure = [change for change in changes if change.significance is not None and change.significance < CHANCE]
            if each.kind == "new-error":
                assert each.of is not None
                is_doubtful = each.of[0] and (changes[0].significance or 0) >= DOUBT
                weight = WEIGHTS[each.kind] + _rate_share(each) - (DOUBTFUL if is_doubtful else 0)
                yield replace(each, changes=changes, weight=weight)
            elif sure:
                yield self._weigh(each, sorted(sure, key=lambda change: -find_factor(change)))

    def _weigh(self, each: Difference, changes: Sequence[Change]) -> Difference:
        first = changes[0]
        kind, strength = each.kind, min(STRENGTH, 10 * math.log2(find_factor(first)))
        if each.of is not None:
            kind = "fewer-errors" if kind == "error" and not is_worse(first, each.of) else kind
            strength = _rate_share(each) - (DOUBTFUL if kind == "network" and not is_worse(first, each.of) else 0)
        elif kind == "slower":
            kind = "slower" if first.after > first.before else "faster"
            strength -= BRIEF if abs(first.after - first.before) < SHORT else 0
        elif each.protocol is not None:  # rates and sizes of rare operations say little
            strength *= self._find_share((each.protocol, each.operation))
        return Difference(kind, each.protocol, each.operation, WEIGHTS[kind] + strength, changes, each.of)

    def _find_share(self, key: OperationKey) -> float:
        both = (self._before, self._after)
        return max(profile.operations[key].metrics.bytes / max(profile.total.bytes, 1) for profile in both)

    def _test_share(self, kind: str, key: _Key, name: str, counts: tuple[int, int], of: tuple[int, int]) -> None:
        self._count += 1
        chance = compare_shares(counts[0], of[0], counts[1], of[1])
        self._candidates.append(Difference(kind, *key, 0, [Change(name, *counts, chance)], of))

    def _test_percentiles(self, kind: str, key: _Key, name: str, one: Ints, other: Ints) -> None:
        """Tests percentiles of two sorted columns."""
        if not len(one) or not len(other):
            return
        self._count += len(PERCENTILES)
        changes = [
            Change(f"{name}{percentile}", before, after, compare_percentiles(one, other, thousandths))
            for percentile, thousandths in PERCENTILES.items()
            for before, after in [(nearest_rank(one, thousandths), nearest_rank(other, thousandths))]
        ]
        if mattering := [each for each in changes if find_factor(each) >= MATTERS]:
            self._candidates.append(Difference(kind, *key, 0, mattering))

    def _test_rate(self, kind: str, key: _Key, one: int, other: int) -> None:
        spans = (self._before.span, self._after.span)
        if not all(spans):
            return
        self._count += 1
        rates = (one * SECOND / spans[0], other * SECOND / spans[1])
        change = Change("messages", *rates, compare_rates(one, spans[0], other, spans[1]))
        every = [profile.total.messages * SECOND / profile.span for profile in (self._before, self._after)]
        share = Change("share", change.before / every[0], change.after / every[1])
        # An operation that grows as all others do is not a difference.
        if find_factor(change) >= BUSIER and (key[0] is None or find_factor(share) >= BUSIER):
            self._candidates.append(Difference(kind, *key, 0, [change]))


def _rate_share(each: Difference) -> float:
    """Returns the weight for a change of a share of messages."""
    assert each.of is not None
    first = each.changes[0]
    before, after = first.before / max(each.of[0], 1), first.after / max(each.of[1], 1)
    return STRENGTH * math.sqrt(min(abs(after - before), 1))


def _correct(change: Change, tests: int) -> Change:
    assert change.significance is not None
    return replace(change, significance=min(change.significance * tests, 1.0))
