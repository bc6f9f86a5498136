"""One line for people about a message: what it is about, not all that is in it.

Theory. Kafka's schemas use few names for the same things, so one table of names serves all APIs: who (group, member,
transaction), where (topics and partitions, with offsets and record counts), how many of whatever else is listed, and
first of all what went wrong. It looks only at what it finds; a new API gets a line without a new row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from dissectors.api import Body, Context
from dissectors.holes import derived, made
from dissectors.kafka.labels import labels
from dissectors.wire.secret import Secret

_SHOWN = 3
"""So many topics, and partitions of each, before the rest is only counted."""

_WORDS = (
    ("groupId", "group"),
    ("memberId", "member"),
    ("groupInstanceId", "instance"),
    ("generationId", "generation"),
    ("memberEpoch", "epoch"),
    ("protocolType", "type"),
    ("protocolName", "protocol"),
    ("transactionalId", "transaction"),
    ("producerId", "producer"),
    ("mechanism", "mechanism"),
    ("key", "key"),
    ("brokerId", "broker"),
    ("replicaId", "replica"),
    ("nodeId", "node"),
    ("leaderId", "leader"),
    ("clusterId", "cluster"),
    ("sessionId", "session"),
)
_TOPICS = ("topics", "topicData", "responses", "topicStates", "topicPartitions", "results", "forgottenTopicsData")
_TOPIC = ("name", "topic", "topicName", "topicId")
_PARTITIONS = ("partitions", "partitionData", "partitionResponses", "partitionIndexes", "partitionStates")
_PARTITION = ("partitionIndex", "partition", "index")
_OFFSETS = ("fetchOffset", "baseOffset", "committedOffset", "offset", "highWatermark")
_RECORDS = ("records", "unalignedRecords")
_COUNTED = (
    ("brokers", "broker"),
    ("apiKeys", "API"),
    ("groups", "group"),
    ("groupsNames", "group"),
    ("members", "member"),
    ("protocols", "protocol"),
    ("assignments", "assignment"),
    ("coordinators", "coordinator"),
    ("resources", "resource"),
    ("entries", "entry"),
    ("mechanisms", "mechanism"),
    ("users", "user"),
    ("tokens", "token"),
    ("transactionStates", "transaction"),
    ("nodeEndpoints", "endpoint"),
    ("finalizedFeatures", "feature"),
)
_NOBODY = (None, "", -1)


def info_line(body: Body, context: Context) -> str:
    """The line for a decoded message; empty for one that says nothing but its name."""
    values = body.values
    parts = [body.error[1]] if body.error is not None else []
    for key, say in _sayings(tuple(values)):
        parts += say(key, values[key], values)
    return ", ".join(parts)


Say = Callable[[str, Any, Mapping[str, Any]], Iterable[str]]
"""What to say of a field: its name, its value, and the body that it stands in."""


@lru_cache(maxsize=1024)
def _sayings(keys: tuple[str, ...]) -> list[tuple[str, Say]]:
    """What has something to say among these fields, in order of importance: few bodies have many of them."""
    return [(key, _SAYINGS[key]) for key in _SAYINGS if key in keys]


def _word(word: str) -> Say:
    return lambda _, value, __: () if value in _NOBODY else (f"{word} {value}",)


def _counted(noun: str) -> Say:
    return lambda _, items, __: (_count(len(items), noun),) if items and isinstance(items, list) else ()


def _acks(_: str, value: object, __: object) -> Iterable[str]:
    label = labels("acks")
    return (f"acks {(label and label(value)) or value}",)


def _client_software(_: str, value: object, values: Mapping[str, Any]) -> Iterable[str]:
    return (f"{value} {values.get('clientSoftwareVersion', '')}".rstrip(),) if value else ()


def _host(_: str, value: object, values: Mapping[str, Any]) -> Iterable[str]:
    return (f"{value}:{values.get('port')}",) if value else ()


def _error_message(_: str, value: object, __: object) -> Iterable[str]:
    return (str(value),) if value else ()


def _throttled(_: str, value: object, __: object) -> Iterable[str]:
    return (f"throttled {value} ms",) if value else ()


def _payload(_: str, value: object, __: object) -> Iterable[str]:
    if not isinstance(value, (bytes, Secret)):
        return ()
    return (f"{'token, ' if isinstance(value, Secret) else ''}{_count(len(value), 'byte')}",)


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return made(lambda count: f"{count} {noun if count == 1 else plural}", number)


def _topics(key: str, topics: object, _: object) -> Iterable[str]:
    if topics is None:
        return ["all topics"]
    if not isinstance(topics, list) or not topics:
        return []
    parts = [_topic(topic) for topic in topics[:_SHOWN]]
    if not all(parts):
        return [_count(len(topics), "result" if key == "results" else "topic")]
    if len(topics) > _SHOWN:
        parts.append(f"{len(topics) - _SHOWN} more")
    return [f"without {part}" for part in parts] if key == "forgottenTopicsData" else parts


def _topic(topic: object) -> str:
    """`orders[0 at 42, 1 at 17]`; empty for what is no topic."""
    if isinstance(topic, str):
        return topic
    if not isinstance(topic, dict):
        return ""
    names, listed, _ = _keys(tuple(topic), _TOPIC, _PARTITIONS)
    name = next((topic[key] for key in names if topic[key]), "")
    partitions = topic[listed[0]] if listed else None
    if not name or not isinstance(partitions, list):
        return str(name)
    shown = [_partition(partition) for partition in partitions[:_SHOWN]]
    if len(partitions) > _SHOWN:
        shown.append(f"{len(partitions) - _SHOWN} more")
    return f"{name}[{', '.join(shown)}]"


def _partition(partition: object) -> str:
    if not isinstance(partition, dict):
        return str(partition)
    index, offset, records = _keys(tuple(partition), _PARTITION, _OFFSETS, _RECORDS)
    text = str(partition[index[0]]) if index else "?"
    if offset:
        text += f" at {partition[offset[0]]}"
    if records:
        text += f": {_count(derived(_records, partition[records[0]]), 'record')}"
    return text


@lru_cache(maxsize=1024)
def _keys(
    keys: tuple[str, ...], first: tuple[str, ...], second: tuple[str, ...], third: tuple[str, ...] = ()
) -> tuple[list[str], list[str], list[str]]:
    """Which of some names a struct has: there are few kinds of structs, and many of each."""
    return (
        [key for key in first if key in keys],
        [key for key in second if key in keys],
        [key for key in third if key in keys],
    )


def _records(entries: object) -> int:
    """How many records there are in a records field, of what could be read."""
    if not isinstance(entries, list):
        return 0
    return sum(_entry(entry) for entry in entries)


def _entry(entry: Mapping[str, Any]) -> int:
    if "count" in entry:
        count: int = entry["count"]
        return count
    if "messages" in entry:
        return _records(entry["messages"])
    return 0 if "partial" in entry else 1


_SAYINGS: Mapping[str, Say] = {
    **{key: _word(word) for key, word in _WORDS},
    "acks": _acks,
    **dict.fromkeys(_TOPICS, _topics),
    **{key: _counted(noun) for key, noun in _COUNTED},
    "clientSoftwareName": _client_software,
    "host": _host,
    "errorMessage": _error_message,
    "throttleTimeMs": _throttled,
    "payload": _payload,
}
