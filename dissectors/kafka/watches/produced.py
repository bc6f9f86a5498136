"""The batches that a Produce request carries, wherever its version keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

PRODUCE = 0
_TOPIC = ("name", "topicId")


class Produced(NamedTuple):
    """A batch, or a message of the formats before batches, on its way into a partition; `topic` is a name or an id."""

    topic: str
    partition: int
    batch: Mapping[str, Any]


def produced(values: Mapping[str, Any]) -> Iterator[Produced]:
    """The entries of all partitions, as far as they could be read."""
    for topic in _structs(values.get("topicData")):
        name = next((topic[key] for key in _TOPIC if isinstance(topic.get(key), str)), None)
        for partition in _structs(topic.get("partitionData")):
            index = partition.get("index")
            for entry in _structs(partition.get("records")):
                if name is not None and index is not None:
                    yield Produced(name, index, entry)


def _structs(value: object) -> Iterator[Mapping[str, Any]]:
    """The structs of an array; nothing of what is none, or was not read."""
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())
