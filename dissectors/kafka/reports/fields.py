"""Subscriptions of Kafka's reports: messages by API name, and the fields that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from dissectors.correlator import Handler, Merge, MessageEvent, MessageKind, Subscription, subscribe
from dissectors.kafka.labels import error_name
from dissectors.kafka.schemas import apis
from dissectors.message import Path, Role
from dissectors.values import number, struct, structs
from dissectors.wire.embedded import EmbeddedValue

KAFKA = "kafka"

REQUESTS = (Role.REQUEST, Role.ONEWAY)
ANSWERS = (Role.RESPONSE,)

NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


@cache
def api_keys() -> Mapping[str, int]:
    """Returns the API keys of Kafka's protocol by the names of the APIs."""
    return {api.name: key for key, api in apis().items()}


def subscribe_to(
    names: str, roles: Iterable[Role], handle: Handler, *paths: str | Path, merge: Merge | None = None
) -> dict[MessageKind, Subscription]:
    """Subscribes a handler to APIs (names with spaces between) in some roles; paths: the fields that it reads.

    merge: how it takes alike messages at once.
    """
    kinds = [(KAFKA, api_keys()[name], role) for name in names.split() for role in roles]
    return subscribe(kinds, handle, ((path,) if isinstance(path, str) else path for path in paths), merge)


def read_error(values: Mapping[str, Any], name: str = "errorCode") -> str | None:
    """Returns the name of an error; None for no error, and where the field is missing."""
    code = number(values, name)
    return error_name(code) if code else None


def list_errors(value: object) -> Iterator[str]:
    """Lists the names of all errors in an answer, at every depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("errorCode", "partitionErrorCode"):
                error = read_error(value, name)
                if error is not None:
                    yield error
            else:
                yield from list_errors(inner)
    elif isinstance(value, list):
        for each in value:
            yield from list_errors(each)


def read_embedded(value: object) -> Mapping[str, Any]:
    """Returns the structure in a bytes field; an empty one if it was not decoded."""
    content = value.value if isinstance(value, EmbeddedValue) else None
    return content if isinstance(content, dict) else {}


def list_texts(value: object) -> list[str]:
    """Returns the texts of an array; an empty list for a value that is not an array."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def list_numbers(value: object) -> list[int]:
    """Returns the integers of an array; none of what is none."""
    return [each for each in value if isinstance(each, int)] if isinstance(value, list) else []


def name_topic(event: MessageEvent, topic: Mapping[str, Any]) -> str | None:
    """Returns the name of a topic: from its fields, from other messages by its id, or else the id."""
    for name in ("topic", "name"):
        found = topic.get(name)
        if isinstance(found, str) and found:
            return found
    number = topic.get("topicId")
    if not isinstance(number, str) or number == NO_TOPIC_ID:
        return None
    return event.resolve_name("topic", number) or number


Listed = list[tuple[str, int, Mapping[str, Any]]]
"""What a message says of partitions: topic (empty where it is unknown), number, and a struct of each."""


def _read_once(read: Callable[[MessageEvent], Listed]) -> Callable[[MessageEvent], Listed]:
    """Remembers what was read last: several reports ask the same of each message, one after the other."""
    last: tuple[object, Listed] = (None, [])

    def get(event: MessageEvent) -> Listed:
        nonlocal last
        values, found = last
        if values is not event.values:
            found = read(event)
            last = event.values, found
        return found

    return get


def list_partitions(
    event: MessageEvent, topics: object, partitions: str = "partitions", index: str = "partitionIndex"
) -> Listed:
    """Returns the partitions in an array of topics."""
    found: Listed = []
    for topic in structs(topics):
        name = name_topic(event, topic) or ""
        found += [(name, number(each, index, -1), each) for each in structs(topic.get(partitions))]
    return found


def read_replica(values: Mapping[str, Any]) -> int:
    """Returns the broker that a Fetch is of, as a follower; less than zero for a consumer."""
    return max(number(each, "replicaId", -1) for each in (values, struct(values, "replicaState")))


@_read_once
def list_batches(event: MessageEvent) -> Listed:
    """Returns the headers of the batches of a Produce request."""
    found: Listed = []
    for name, index, partition in list_partitions(event, event.values.get("topicData"), "partitionData", "index"):
        found += [(name, index, batch) for batch in structs(partition.get("records")) if "count" in batch]
    return found


@_read_once
def list_produced(event: MessageEvent) -> Listed:
    """Returns the partitions of an answer to Produce."""
    return list_partitions(event, event.values.get("responses"), "partitionResponses", "index")


@_read_once
def list_fetched(event: MessageEvent) -> Listed:
    """Returns the partitions of an answer to Fetch."""
    return list_partitions(event, event.values.get("responses"))


def format_counts(counts: Mapping[str, int]) -> list[str]:
    """Formats each name with its count, if that is more than one: `UNKNOWN_MEMBER_ID 2x`."""
    return [f"{name} {count}x" if count > 1 else name for name, count in counts.items()]


def format_ratio(parts: int, of: int) -> str | None:
    """Formats a ratio with at least two digits: `0.97`, `12.3`, `150`; None if it cannot be computed."""
    if not of:
        return None
    ratio = parts / of
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"
