"""Finds the differences between two profiles of captures, the most important first.

Theory. A metric is reported if its change matters and is not chance: latencies and sizes change by the factor MATTERS,
rates by BUSIER, and the probability, multiplied by the number of tests (Bonferroni), is below CHANCE. Facts need no
test: an operation, a version or a program that only one capture has, and an error that only the later one has. The
weight of a difference is that of its kind, which says how important it is to an engineer, plus up to STRENGTH for its
size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from analyzer.insight.counts import UNKNOWN
from analyzer.insight.difference import CHANCE, NAMELESS, STRENGTH, WEIGHTS, Change, Difference, compare_shares
from analyzer.insight.metric_changes import MetricTests
from analyzer.insight.profile import Profile, Setting


def find_differences(before: Profile, after: Profile) -> list[Difference]:
    """Finds all differences that matter, the most important first."""
    tests = MetricTests(before, after)
    tests.compare_traffic()
    for key, mine in after.operations.items():
        tests.compare_operation(key, before.operations.get(key), mine)
    found = [*tests.list_differences(), *_find_facts(before, after)]
    return sorted(
        found, key=lambda each: (-each.weight, each.protocol or "", each.operation or "", each.changes[0].name)
    )


def _find_facts(before: Profile, after: Profile) -> Iterator[Difference]:
    """Yields what only one of the captures has."""
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
    """Makes a difference without a test. share: the share of messages that it affects."""
    weight = WEIGHTS[kind] + STRENGTH * math.sqrt(min(share, 1))
    return Difference(kind, protocol, operation, weight, changes, None, clients)


def _count_protocol(profile: Profile, protocol: str) -> int:
    return sum(each.metrics.messages for (name, _), each in profile.operations.items() if name == protocol)


def _compare_operations(protocol: str, before: Profile, after: Profile) -> Iterator[Difference]:
    """Yields the operations in only one capture, and those with other versions, the most frequent first."""
    found: dict[str, list[tuple[float, Change]]] = {}
    for key in before.operations.keys() | after.operations.keys():
        one, other = (each.operations.get(key) for each in (before, after))
        if key[0] != protocol:
            continue
        share = max(
            0 if each is None else each.metrics.messages / profile.total.messages
            for each, profile in ((one, before), (other, after))
        )
        name = key[1] or NAMELESS
        if one is None or other is None:
            counts = (0 if each is None else each.metrics.messages for each in (one, other))
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
    """Yields a setting with a value in only one capture; if it was sampled, chance must be unlikely."""
    changed = [value for value in sorted(one.values.keys() ^ other.values.keys()) if _is_sure(value, one, other)]
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
