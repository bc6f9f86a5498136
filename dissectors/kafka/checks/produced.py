"""The batches that a Produce request carries, wherever its version keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.correlator import Handler, MessageEvent, MessageKind, Subscription, subscribe
from dissectors.message import Path, Role
from dissectors.values import structs

KAFKA, PRODUCE = "kafka", 0
_DATA = "topicData"

WHERE = frozenset({(_DATA, "name"), (_DATA, "topicId"), (_DATA, "partitionData", "index")})
"""The fields that tell topic and partition."""

RECORDS = (_DATA, "partitionData", "records")
"""The path to a batch."""


class ProducedBatch(NamedTuple):
    """A batch, or a message of the formats before batches, on its way into a partition; `topic` is a name or an id."""

    topic: str
    partition: int
    batch: Mapping[str, Any]
    by_id: bool

    def place(self, event: MessageEvent) -> str:
        """`topic[partition]` for people, with the topic's name."""
        known = event.resolve_name("topic", self.topic) if self.by_id else None
        return f"{known or self.topic}[{self.partition}]"


def on_produce(handle: Handler, *paths: Path) -> dict[MessageKind, Subscription]:
    """A handler of Produce requests, and the fields that it looks at beside WHERE."""
    kinds = [(KAFKA, PRODUCE, role) for role in (Role.REQUEST, Role.ONEWAY)]
    return subscribe(kinds, handle, {*WHERE, *paths})


def iterate_batches(values: Mapping[str, Any]) -> Iterator[ProducedBatch]:
    """The entries of all partitions, as far as they could be read."""
    for topic in structs(values.get(_DATA)):
        name = topic.get("name", topic.get("topicId"))
        for partition in structs(topic.get("partitionData")) if isinstance(name, str) else ():
            index = partition.get("index")
            if index is not None:
                for entry in structs(partition.get("records")):
                    yield ProducedBatch(name, index, entry, "name" not in topic)
