"""Details of refused requests: sizes of batches, and offsets that partitions do not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dissectors.kafka.reports.fields import read_error
from dissectors.values import number, structs, text

_HEAD = 12
"""Bytes of a batch before what its length counts."""

_MOST = 4
"""Partitions that are described."""


def describe_error(error: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Describes what was asked of the partitions that an answer refuses; None where there is nothing to tell."""
    lists = _LISTS.get(error)
    if lists is None:
        return None
    requested, answers, describe = lists
    places = {
        (_name(topic), number(each, "index", number(each, "partition", -1))): each
        for topic in structs(request.get(requested[0]))
        for each in structs(topic.get(requested[1]))
    }
    refused = (
        (_name(topic), number(each, "index", number(each, "partitionIndex", -1)), each)
        for topic in structs(answer.get(answers[0]))
        for each in structs(topic.get(answers[1]))
        if read_error(each) == error
    )
    found = [
        each
        for topic, index, partition in refused
        for each in describe(places.get((topic, index), {}), index, partition)
    ]
    return " ".join(found[:_MOST]) or None


def _name(topic: Mapping[str, Any]) -> str | None:
    """The name of a topic, or its id, which both halves of an exchange have alike."""
    return text(topic, "name") or text(topic, "topic") or text(topic, "topicId")


def _describe_batches(request: Mapping[str, Any], index: int, _: Mapping[str, Any]) -> Iterator[str]:
    sizes = [_HEAD + number(each, "length") for each in structs(request.get("records"))]
    if sizes:
        yield f"The batch for partition {index} has {max(sizes):,} bytes."


def _describe_offset(request: Mapping[str, Any], index: int, partition: Mapping[str, Any]) -> Iterator[str]:
    first, end = (number(partition, name, -1) for name in ("logStartOffset", "highWatermark"))
    has = f", which has {first:,} to {end:,}" if 0 <= first <= end else ""
    if "fetchOffset" in request:
        yield f"Offset {number(request, 'fetchOffset'):,} was asked for in partition {index}{has}."


_Describe = Callable[[Mapping[str, Any], int, Mapping[str, Any]], Iterator[str]]
_PRODUCE = ("topicData", "partitionData"), ("responses", "partitionResponses"), _describe_batches
_FETCH = ("topics", "partitions"), ("responses", "partitions"), _describe_offset
_LISTS: Mapping[str, tuple[tuple[str, str], tuple[str, str], _Describe]] = {
    "MESSAGE_TOO_LARGE": _PRODUCE,
    "RECORD_LIST_TOO_LARGE": _PRODUCE,
    "OFFSET_OUT_OF_RANGE": _FETCH,
}
"""By error: where the request and the answer have their topics and partitions, and what describes a partition."""
