"""The batches that a Produce request carries, wherever its version keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.lesson import Path

PRODUCE = 0
_DATA = "topicData"
_RECORDS = (_DATA, "partitionData", "records")

WHERE = frozenset({(_DATA, "name"), (_DATA, "topicId"), (_DATA, "partitionData", "index")})
"""The fields that tell topic and partition."""

INNER_TIMES: frozenset[Path] = frozenset({(*_RECORDS, "messages", "timestamp")})
"""The times of messages that are compressed in a message of version 1."""


def of_batch(*names: str) -> frozenset[Path]:
    """The paths of a batch's fields, and of WHERE."""
    return WHERE | {(*_RECORDS, name) for name in names}


class Produced(NamedTuple):
    """A batch, or a message of the formats before batches, on its way into a partition; `topic` is a name or an id."""

    topic: str
    partition: int
    batch: Mapping[str, Any]
    by_id: bool

    def place(self, name: Callable[[str, str], str | None]) -> str:
        """`topic[partition]` for people, with the topic's name (Seen.name)."""
        known = name("topic", self.topic) if self.by_id else None
        return f"{known or self.topic}[{self.partition}]"


def produced(values: Mapping[str, Any]) -> Iterator[Produced]:
    """The entries of all partitions, as far as they could be read."""
    for topic in structs(values.get(_DATA)):
        name = topic.get("name", topic.get("topicId"))
        for partition in structs(topic.get("partitionData")) if isinstance(name, str) else ():
            index = partition.get("index")
            if index is not None:
                for entry in structs(partition.get("records")):
                    yield Produced(name, index, entry, "name" not in topic)


def structs(value: object) -> list[Mapping[str, Any]]:
    """The structs of an array; nothing of what is none, or was not read."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
