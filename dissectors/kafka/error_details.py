"""Details of refused requests: sizes of batches, offsets, users that log in, and what the broker says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dissectors.kafka.reports.fields import read_error
from dissectors.kafka.sasl.tokens import read_user
from dissectors.message import Context, Role
from dissectors.values import number, shorten, structs, text

_HEAD = 12
"""Bytes of a batch before what its length counts."""

_AUTHENTICATE = 36
"""The key of SaslAuthenticate."""

_MOST = 4
"""Partitions that are described."""

_TELLING = frozenset(
    {
        *("INVALID_CONFIG", "INVALID_REQUEST", "INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR", "POLICY_VIOLATION"),
        *("INVALID_REPLICA_ASSIGNMENT", "RESOURCE_NOT_FOUND", "STREAMS_INVALID_TOPOLOGY", "UNACCEPTABLE_CREDENTIAL"),
        *("REQUEST_TIMED_OUT", "INVALID_TOPIC_EXCEPTION", "UNKNOWN_SERVER_ERROR", "INVALID_UPDATE_VERSION"),
    }
)
"""Errors of which the message beside them tells more than their names do."""


def describe_error(error: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Describes what was asked for that an answer refuses, or what the broker says; None for nothing to tell."""
    lists = _LISTS.get(error)
    if error == "SASL_AUTHENTICATION_FAILED":
        user, statement = read_user(request, Context(Role.REQUEST, _AUTHENTICATE)), text(answer, "errorMessage")
        parts = [
            f"the client logged in as {user}" if user else "",
            f"the broker says: {shorten(statement)}" if statement else "",
        ]
        return "; ".join(filter(None, parts)) or None
    if lists is None:
        statement = _find_message(error, answer) if error in _TELLING else None
        return None if statement is None else f"the broker says: {shorten(statement)}"
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


def _find_message(error: str, answer: Mapping[str, Any], depth: int = 3) -> str | None:
    """The message beside an error, here or in one of the lists of an answer."""
    if read_error(answer) == error and (statement := text(answer, "errorMessage")):
        return statement
    inside = (_find_message(error, each, depth - 1) for value in answer.values() for each in structs(value))
    return next(filter(None, inside), None) if depth else None


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
