"""What differs between two profiles of captures, the most telling first.

Theory. A figure is told if its change matters and is no chance: latencies and sizes change by the factor MATTERS, rates
by BUSIER, and the probability, multiplied by the number of tests that were made (Bonferroni), is below CHANCE. Facts
need no test: an operation, a version or a program that only one capture has, and an error that only the later one has.
The weight of a difference is that of its kind, which says how soon an engineer wants to hear of it, and up to STRENGTH
more for its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.arrays import Ints
from analyzer.insight.counts import UNKNOWN
from analyzer.insight.metrics import SECOND
from analyzer.insight.percentiles import nearest_rank
from analyzer.insight.profile import OperationKey, OperationProfile, Profile, Setting
from analyzer.insight.significance import compare_percentiles, compare_rates, compare_shares
from dissectors.slotted import make_slotted

CHANCE = 0.01
"""The corrected probability from which on a change may be chance."""

MATTERS, BUSIER, SHORT = 1.2, 1.5, 1_000_000
"""Factors that matter, of latencies and sizes, and of rates; ns by which latencies must differ to weigh in full."""

WEIGHTS = {
    "protocol": 90, "new-error": 70, "error": 60, "unanswered": 60, "slower": 55, "setting": 50, "software": 48,
    "operation": 40, "fewer-errors": 38, "version": 36, "faster": 34, "rate": 26, "size": 24, "connections": 20,
    "client": 14,
}  # fmt: skip
STRENGTH, DOUBTFUL, BRIEF = 30, 20, 25
"""What the size of a change adds at most; what is taken from a new error that may be chance, and from short times."""

NAMELESS = "(none)"
"""The operation of messages that name none."""

PERCENTILES = {"p50": 500, "p90": 900, "p99": 990}


@make_slotted
class Change:
    """A figure or a set before and after; significance: the corrected probability of chance, None for a fact."""

    name: str
    before: Any
    after: Any
    significance: float | None = None


@make_slotted
class Difference:
    """kind: a key of WEIGHTS. changes: of one operation, the one that tells most first; of several, each called by its
    operation, where `operation` is None and the kind is `operation` or `version`.

    of: for counts, how many messages each is out of. clients: some of those with a new value.
    """

    kind: str
    protocol: str | None
    operation: str | None
    weight: float
    changes: Sequence[Change]
    of: tuple[int, int] | None = None
    clients: Sequence[str] = ()


def find_differences(before: Profile, after: Profile) -> list[Difference]:
    """All differences that matter, the most telling first."""
    tests = _Tests(before, after)
    tests.compare_traffic()
    for key, mine in after.operations.items():
        tests.compare_operation(key, before.operations.get(key), mine)
    found = [*tests.list_differences(), *_find_facts(before, after)]
    return sorted(
        found, key=lambda each: (-each.weight, each.protocol or "", each.operation or "", each.changes[0].name)
    )


class _Tests:
    """Tests figures of two profiles; when all have been made, their number corrects each probability."""

    def __init__(self, before: Profile, after: Profile) -> None:
        self._before, self._after = before, after
        self._count = 0
        self._candidates: list[Difference] = []

    def compare_traffic(self) -> None:
        """The rates of all messages and of new connections."""
        before, after = self._before, self._after
        self._test_rate("rate", (None, None), before.total.messages, after.total.messages)
        self._test_rate("connections", (None, None), before.streams, after.streams)

    def compare_operation(self, key: OperationKey, one: OperationProfile | None, other: OperationProfile) -> None:
        """Errors of an operation, and what else can be compared where both have it."""
        asked, answered = (0, 0) if one is None else (one.figures.requests, one.figures.answers)
        for error, count in other.errors.items():
            known = 0 if one is None else one.errors.get(error, 0)
            of = (max(answered, known), max(other.figures.answers, count))
            self._test_share("error" if known else "new-error", key, error, (known, count), of)
        if one is None:
            return
        for error in one.errors.keys() - other.errors.keys():
            of = (max(answered, one.errors[error]), other.figures.answers)
            self._test_share("error", key, error, (one.errors[error], 0), of)
        silent = (one.figures.unanswered, other.figures.unanswered)
        self._test_share("unanswered", key, "unanswered", silent, (asked, other.figures.requests))
        self._test_percentiles("slower", key, "", one.latencies, other.latencies)
        self._test_percentiles("size", key, "request ", one.request_sizes, other.request_sizes)
        self._test_percentiles("size", key, "response ", one.response_sizes, other.response_sizes)
        if self._before.total.messages and self._after.total.messages:
            self._test_rate("rate", key, one.figures.messages, other.figures.messages)

    def list_differences(self) -> Iterator[Difference]:
        """Those that matter and are no chance."""
        for each in self._candidates:
            changes = [_correct(change, self._count) for change in each.changes]
            sure = [change for change in changes if change.significance is not None and change.significance < CHANCE]
            if each.kind == "new-error":
                weight = _rate_share(each) - (0 if sure or not (each.of or (0, 0))[0] else DOUBTFUL)
                yield _replace(each, changes, WEIGHTS[each.kind] + weight)
            elif sure:
                yield self._weigh(each, sorted(sure, key=lambda change: -find_factor(change)))

    def _weigh(self, each: Difference, changes: Sequence[Change]) -> Difference:
        first = changes[0]
        kind, strength = each.kind, min(STRENGTH, 10 * math.log2(find_factor(first)))
        if each.of is not None:
            kind = "fewer-errors" if kind == "error" and not _is_worse(first, each.of) else kind
            strength = _rate_share(each)
        elif kind == "slower":
            kind = "slower" if first.after > first.before else "faster"
            strength -= BRIEF if abs(first.after - first.before) < SHORT else 0
        elif each.protocol is not None:  # of what hardly occurs, rates and sizes tell little
            strength *= self._find_share((each.protocol, each.operation))
        return Difference(kind, each.protocol, each.operation, WEIGHTS[kind] + strength, changes, each.of)

    def _find_share(self, key: OperationKey) -> float:
        parts = (
            profile.operations[key].figures.bytes / max(profile.total.bytes, 1)
            for profile in (self._before, self._after)
        )
        return max(parts)

    def _test_share(
        self, kind: str, key: OperationKey, name: str, counts: tuple[int, int], of: tuple[int, int]
    ) -> None:
        self._count += 1
        chance = compare_shares(counts[0], of[0], counts[1], of[1])
        self._candidates.append(Difference(kind, *key, 0, [Change(name, *counts, chance)], of))

    def _test_percentiles(self, kind: str, key: OperationKey, name: str, one: Ints, other: Ints) -> None:
        """Columns in order."""
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

    def _test_rate(self, kind: str, key: tuple[str | None, str | None], one: int, other: int) -> None:
        spans = (self._before.span, self._after.span)
        if not all(spans):
            return
        self._count += 1
        rates = (one * SECOND / spans[0], other * SECOND / spans[1])
        change = Change("messages", *rates, compare_rates(one, spans[0], other, spans[1]))
        every = [profile.total.messages * SECOND / profile.span for profile in (self._before, self._after)]
        share = Change("share", change.before / every[0], change.after / every[1])
        # An operation that grows as all others do is no news.
        if find_factor(change) >= BUSIER and (key[0] is None or find_factor(share) >= BUSIER):
            self._candidates.append(Difference(kind, *key, 0, [change]))


def find_factor(change: Change) -> float:
    """How many times as large the larger figure is; what is less than nothing counts as next to nothing."""
    low, high = sorted((float(change.before), float(change.after)))
    least = 1.0 if isinstance(change.after, int) else 1e-9
    return max(high, least) / max(low, least)


def _is_worse(change: Change, of: tuple[int, int]) -> bool:
    return bool(change.after * of[0] > change.before * of[1])


def _rate_share(each: Difference) -> float:
    """What a share of messages adds to a weight: that by which it changed."""
    assert each.of is not None
    first = each.changes[0]
    before, after = first.before / max(each.of[0], 1), first.after / max(each.of[1], 1)
    return STRENGTH * math.sqrt(min(abs(after - before), 1))


def _correct(change: Change, tests: int) -> Change:
    assert change.significance is not None
    return Change(change.name, change.before, change.after, min(change.significance * tests, 1.0))


def _replace(each: Difference, changes: Sequence[Change], weight: float) -> Difference:
    return Difference(each.kind, each.protocol, each.operation, weight, changes, each.of, each.clients)


def _find_facts(before: Profile, after: Profile) -> Iterator[Difference]:
    """What only one of the captures has."""
    mine, theirs = ({protocol for protocol, _ in each.operations} for each in (before, after))
    for protocol in mine ^ theirs:
        counts = [_count_protocol(each, protocol) for each in (before, after)]
        share = max(counts) / max(before.total.messages, after.total.messages)
        kind = "operation" if protocol == UNKNOWN else "protocol"
        yield _make_fact(kind, protocol, None, [Change("messages", *counts)], share)
    both = mine & theirs
    for protocol in both:
        yield from _compare_operations(protocol, before, after)
    for name, setting in after.settings.items():
        if name in before.settings:
            yield from _compare_setting(name, before.settings[name], setting)
    for protocol in both:
        for kind, one, other in (
            ("software", before.software, after.software),
            ("client", before.clients, after.clients),
        ):
            yield from _compare_programs(kind, protocol, one.get(protocol, {}), other.get(protocol, {}))


def _make_fact(
    kind: str,
    protocol: str,
    operation: str | None,
    changes: Sequence[Change],
    share: float,
    clients: Sequence[str] = (),
) -> Difference:
    """share: of the messages that have to do with it."""
    weight = WEIGHTS[kind] + STRENGTH * math.sqrt(min(share, 1))
    return Difference(kind, protocol, operation, weight, changes, None, clients)


def _count_protocol(profile: Profile, protocol: str) -> int:
    return sum(each.figures.messages for (name, _), each in profile.operations.items() if name == protocol)


def _compare_operations(protocol: str, before: Profile, after: Profile) -> Iterator[Difference]:
    """The operations that only one has, and those that are spoken in other versions, the most frequent first."""
    found: dict[str, list[tuple[float, Change]]] = {}
    for key in before.operations.keys() | after.operations.keys():
        one, other = (each.operations.get(key) for each in (before, after))
        if key[0] != protocol:
            continue
        share = max(
            0 if each is None else each.figures.messages / profile.total.messages
            for each, profile in ((one, before), (other, after))
        )
        name = key[1] or NAMELESS
        if one is None or other is None:
            counts = (0 if each is None else each.figures.messages for each in (one, other))
            found.setdefault("gone" if other is None else "new", []).append((share, Change(name, *counts)))
        elif one.versions and other.versions and one.versions.keys() != other.versions.keys():
            versions = Change(name, sorted(one.versions), sorted(other.versions))
            found.setdefault("version", []).append((share, versions))
    for state, changes in found.items():
        changes.sort(key=lambda each: (-each[0], each[1].name))
        kind = "version" if state == "version" else "operation"
        share = min(sum(each for each, _ in changes), 1)
        yield _make_fact(kind, protocol, None, [change for _, change in changes], share / 2)


def _compare_setting(name: tuple[str, str], one: Setting, other: Setting) -> Iterator[Difference]:
    """A setting with a value that only one has; samples must show that this is no chance."""
    changed = [value for value in one.values.keys() ^ other.values.keys() if _is_sure(value, one, other)]
    if not changed:
        return
    protocol, field = name
    new = [other.values[value] for value in changed if value in other.values]
    share = max(
        sum(each.values[value].messages for value in changed if value in each.values) / max(each.messages, 1)
        for each in (one, other)
    )
    change = Change(field, sorted(one.values), sorted(other.values))
    clients = list(dict.fromkeys(client for value in new for client in value.clients))
    yield _make_fact("setting", protocol, field.partition(".")[0], [change], share / 2, clients)


def _is_sure(value: str, one: Setting, other: Setting) -> bool:
    if one.complete and other.complete:
        return True
    mine, theirs = (each.values[value].messages if value in each.values else 0 for each in (one, other))
    return compare_shares(mine, one.messages, theirs, other.messages) < CHANCE


def _compare_programs(
    kind: str, protocol: str, one: Mapping[str, int], other: Mapping[str, int]
) -> Iterator[Difference]:
    if one.keys() != other.keys():
        share = max(
            sum(each[name] for name in each.keys() - rest.keys()) / max(sum(each.values()), 1)
            for each, rest in ((one, other), (other, one))
        )
        yield _make_fact(kind, protocol, None, [Change(kind, sorted(one), sorted(other))], share / 2)
