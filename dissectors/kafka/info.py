"""One line for people about a message: what it is about, not all that is in it.

Theory. Kafka's schemas use few names for the same things, so one table of names serves all APIs: who (group, member,
transaction), where (topics and partitions, with offsets and record counts), how many of whatever else is listed, and
first of all what went wrong. It looks only at what it finds; a new API gets a line without a new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.api import Body, Context
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
    for key, word in _WORDS:
        if key in values and values[key] not in _NOBODY:
            parts.append(f"{word} {values[key]}")
    if "acks" in values:
        label = labels("acks")
        parts.append(f"acks {(label and label(values['acks'])) or values['acks']}")
    for key in _TOPICS:
        if key in values:
            parts.extend(_topics(key, values[key]))
    for key, noun in _COUNTED:
        items = values.get(key)
        if items and isinstance(items, list):
            parts.append(_count(len(items), noun))
    if values.get("clientSoftwareName"):
        parts.append(f"{values['clientSoftwareName']} {values.get('clientSoftwareVersion', '')}".rstrip())
    if values.get("host"):
        parts.append(f"{values['host']}:{values.get('port')}")
    if values.get("errorMessage"):
        parts.append(str(values["errorMessage"]))
    if values.get("throttleTimeMs"):
        parts.append(f"throttled {values['throttleTimeMs']} ms")
    payload = values.get("payload")
    if isinstance(payload, (bytes, Secret)):
        parts.append(f"{'token, ' if isinstance(payload, Secret) else ''}{_count(len(payload), 'byte')}")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def _topics(key: str, topics: object) -> list[str]:
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
    name = next((topic[key] for key in _TOPIC if topic.get(key)), "")
    partitions = next((topic[key] for key in _PARTITIONS if key in topic), None)
    if not name or not isinstance(partitions, list):
        return str(name)
    shown = [_partition(partition) for partition in partitions[:_SHOWN]]
    if len(partitions) > _SHOWN:
        shown.append(f"{len(partitions) - _SHOWN} more")
    return f"{name}[{', '.join(shown)}]"


def _partition(partition: object) -> str:
    if not isinstance(partition, dict):
        return str(partition)
    text = str(next((partition[key] for key in _PARTITION if key in partition), "?"))
    for key in _OFFSETS:
        if key in partition:
            text += f" at {partition[key]}"
            break
    for key in _RECORDS:
        if key in partition:
            text += f": {_count(_records(partition[key]), 'record')}"
    return text


def _records(entries: object) -> int:
    """How many records there are in a records field, of what could be read."""
    if not isinstance(entries, list):
        return 0
    return sum(_entry(entry) for entry in entries)


def _entry(entry: Mapping[str, Any]) -> int:
    if "count" in entry:
        return int(entry["count"])
    if "messages" in entry:
        return _records(entry["messages"])
    return 0 if "partial" in entry else 1
