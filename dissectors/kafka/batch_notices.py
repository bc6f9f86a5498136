"""What is wrong with the batches of one message, as far as their headers tell.

Facts. Brokers refuse a batch in a Produce of a version that is older than its format or its codec, and take back from
older messages what newer ones may carry (KIP-98, KIP-110). A Fetch of version 0 to 2 may get only the beginning of a
batch, where a whole one is longer than the partition's maximum (KIP-74), and its consumer asks for the same for ever.
The rest are headers that contradict themselves. What takes reading all records is not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from dissectors.finding import Finding, Severity
from dissectors.holes import below, derived
from dissectors.kafka.embedded.rules import RECORDS, RecordSite
from dissectors.kafka.tables import table
from dissectors.wire.embedded import Embedded

_MOST = 3
"""Findings about batches of one message."""

_PRODUCE, _FETCH = 0, 1
_BATCHES_FROM = 3
"""The version of Produce that took record batches in the place of older messages."""

_TOPIC, _PARTITION = ("topic", "name", "topicId"), ("partitionIndex", "partition", "index")
_MARKERS = frozenset({0, 1})
"""Control records that end a transaction; others are a controller's."""

_PROBLEMS = ("magic2", "magic01", "zstd", "count", "timestamp", "sequence", "control")
"""Names of sentences in the table, by the number of the problem, from 1 on."""


class Rules(NamedTuple):
    """What a message may carry. unfit: a beginning of a batch alone is worth a finding."""

    batches: bool
    messages: bool
    zstd: bool
    unfit: bool


def batch_check(key: int, version: int, response: bool) -> Callable[[Mapping[str, Any]], Iterable[Finding]]:
    """The check of an API whose messages have a records field."""
    content, site = table("notices"), RECORDS[key, response]
    codec = content["zstd"].get(str(key))
    produce = key == _PRODUCE
    rules = Rules(
        not produce or version >= _BATCHES_FROM,
        not produce or version < _BATCHES_FROM,
        codec is None or version >= codec[0],
        key == _FETCH,
    )
    sentences = dict(content["batches"])
    if codec is not None:
        sentences["zstd"] = sentences["zstd"].format(version=codec[0], api=codec[1])
    texts = [sentences[name] for name in _PROBLEMS]

    def verdict(entries: Any) -> int:
        return _verdict(entries, rules) if isinstance(entries, list) else 0

    def found(values: Mapping[str, Any]) -> Iterator[Finding]:
        for place, entries in _fields(values, site):
            number = derived(verdict, entries)
            if number:
                yield _finding(place, int(number), texts)

    return lambda values: islice(found(values), _MOST)


def _finding(place: _Place, number: int, texts: Sequence[str]) -> Finding:
    if number > 0:
        return Finding(Severity.WARNING, "inconsistent-batch", f"{place}: {texts[number - 1]}")
    text = f"only {-number} bytes of a batch are here, and no whole one: a consumer that asks for no more is stuck"
    return Finding(Severity.WARNING, "oversized-batch", f"{place}: {text}")


def _fields(values: Mapping[str, Any], site: RecordSite) -> Iterator[tuple[_Place, Any]]:
    """Each records field, and the name of its partition; a body that breaks may lack anything."""
    for topic in values.get(site.topics) or ():
        if not isinstance(topic, dict):
            continue
        for partition in topic.get(site.partitions) or ():
            entries = partition.get(site.field) if isinstance(partition, dict) else None
            if entries is not None:
                yield _Place(topic, partition), entries


class _Place:
    """The name of a partition, made when it is said: few are."""

    __slots__ = ("partition", "topic")

    def __init__(self, topic: Mapping[str, Any], partition: Mapping[str, Any]) -> None:
        self.topic, self.partition = topic, partition

    def __str__(self) -> str:
        topic = next((self.topic[name] for name in _TOPIC if self.topic.get(name)), "?")
        return f"{topic}-{next((self.partition[name] for name in _PARTITION if name in self.partition), '?')}"


def _verdict(entries: Sequence[Mapping[str, Any]], rules: Rules) -> int:
    """The number of the first problem, 0 for none; of a beginning of a batch alone its bytes, negative."""
    for entry in entries:
        if "partial" in entry:
            return -entry["length"] if rules.unfit and len(entries) == 1 else 0
        number = _problem(entry, rules)
        if number:
            return number
    return 0


def _problem(entry: Mapping[str, Any], rules: Rules) -> int:
    if entry.get("magic") != 2:
        return 0 if rules.messages or "magic" not in entry else 2
    if not rules.batches:
        return 1
    if entry.get("compression") == "zstd" and not rules.zstd:
        return 3
    if "count" not in entry:
        return 0
    if below(entry["lastOffsetDelta"], entry["count"] + -1):
        return 4
    if entry["maxTimestamp"] < 0 and _has_times(entry):
        return 5
    if entry["producerId"] < 0 < entry["baseSequence"]:
        return 6
    return 7 if entry["control"] and not entry["transactional"] and _is_marker(entry) else 0


def _has_times(batch: Mapping[str, Any]) -> bool:
    """Whether its records have times; a delete horizon stands in the place of the first one."""
    return bool(batch["count"] and not batch["deleteHorizon"] and batch["baseTimestamp"] >= 0)


def _is_marker(batch: Mapping[str, Any]) -> bool:
    records = batch.get("records")
    key = records[0]["key"] if records else None
    return isinstance(key, Embedded) and isinstance(key.value, dict) and key.value.get("type") in _MARKERS
