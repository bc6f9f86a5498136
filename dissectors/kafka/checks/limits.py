"""Checks of limits: batches that are too large for their topic, and offsets that partitions do not have.

Facts. A topic accepts batches of at most max.message.bytes; if it has no such setting, the broker's message.max.bytes
applies. Settings are in requests that set them, in answers to DescribeConfigs, and from version 5 on in answers to
CreateTopics. A consumer that asks for an offset that the partition does not have gets OFFSET_OUT_OF_RANGE. It then asks
for the first or last offset (ListOffsets) and continues there, according to its auto.offset.reset.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.check import Check
from dissectors.correlator import BoundedTable, MessageEvent, for_request, merge_by
from dissectors.finding import Finding, Severity
from dissectors.kafka.records.layout import ENTRY
from dissectors.kafka.reports.fields import (
    ANSWERS,
    REQUESTS,
    list_fetched,
    list_partitions,
    list_produced,
    read_error,
    subscribe_to,
)
from dissectors.values import host_of, number, structs, text

_TOO_LARGE = frozenset({"MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
_OF_TOPIC, _OF_BROKER = 2, 4
"""Types of resources that have settings."""

_LIMITS = {"max.message.bytes": _OF_TOPIC, "message.max.bytes": _OF_BROKER}
_ANY = ""

_ALTER = "AlterConfigs IncrementalAlterConfigs"
_RESOURCE = "resourceType", "resourceName"


def _list_paths(place: str, *names: str) -> list[tuple[str, ...]]:
    """The paths of structs that have settings: these fields, and the names and values of the settings."""
    return [*((place, name) for name in names), (place, "configs", "name"), (place, "configs", "value")]


class SizeLimits(Check):
    """Finds batches that a topic refuses, where the capture tells what it takes."""

    def _begin(self) -> None:
        self.limits: BoundedTable[str, tuple[int, str]] = BoundedTable()
        """By topic the limit and the name of the setting; by an empty name that of the brokers."""

    def learn(self, topic: str, settings: object) -> None:
        """Notes the limit among the settings of a topic."""
        for each in structs(settings):
            value = text(each, "value")
            if _LIMITS.get(text(each, "name") or "") == _OF_TOPIC and value is not None and value.isdecimal():
                self.limits[topic] = int(value[:18]), "max.message.bytes"

    def receive_topics(self, event: MessageEvent) -> None:
        """Handles CreateTopics, the request or the answer."""
        for each in structs(event.values.get("topics")):
            if (name := text(each, "name")) is not None:
                self.learn(name, each.get("configs"))

    def receive_settings(self, event: MessageEvent) -> None:
        """Handles settings that are described or changed."""
        for each in (*structs(event.values.get("results")), *structs(event.values.get("resources"))):
            name = text(each, "resourceName")
            if number(each, "resourceType") == _OF_TOPIC and name is not None:
                self.learn(name, each.get("configs"))
            for setting in structs(each.get("configs")) if number(each, "resourceType") == _OF_BROKER else ():
                value = text(setting, "value") or ""
                if _LIMITS.get(text(setting, "name") or "") == _OF_BROKER and value.isdecimal():
                    self.limits[_ANY] = int(value[:18]), "message.max.bytes"

    def receive_produced(self, event: MessageEvent) -> None:
        """Handles the errors in an answer to Produce."""
        refused = {
            (name, index): error
            for name, index, each in list_produced(event)
            if (error := read_error(each)) in _TOO_LARGE and (name in self.limits or _ANY in self.limits)
        }
        request = event.read_partner() if refused else {}
        for name, index, each in list_partitions(event, request.get("topicData"), "partitionData", "index"):
            sizes = [ENTRY.size + number(batch, "length") for batch in structs(each.get("records"))]
            known = self.limits.get(name) or self.limits.get(_ANY)
            if (name, index) in refused and known is not None and sizes and max(sizes) > known[0]:
                sentence = (
                    f"the batch for {name}[{index}] has {max(sizes):,} bytes, and the topic takes at most "
                    f"{known[0]:,} ({known[1]})"
                )
                self.emit(Finding(Severity.ERROR, "message-refused", sentence, subject=f"topic {name}"))

    on = (
        subscribe_to("CreateTopics", REQUESTS, receive_topics, *_list_paths("topics", "name"))
        | subscribe_to("CreateTopics", ANSWERS, receive_topics, *_list_paths("topics", "name"))
        | subscribe_to("DescribeConfigs", ANSWERS, receive_settings, *_list_paths("results", *_RESOURCE))
        | subscribe_to(_ALTER, REQUESTS, receive_settings, *_list_paths("resources", *_RESOURCE))
        | subscribe_to(
            *("Produce", ANSWERS, receive_produced, ("responses", "name"), ("responses", "topicId")),
            *(("responses", "partitionResponses", name) for name in ("index", "errorCode")),
            merge=merge_by(None, quiet={("responses", "partitionResponses", "errorCode"): 0}),
        )
    )


_Reader = tuple[str, str | None, str, int]
"""A host, the client id there, topic and partition."""


class _Reset(NamedTuple):
    """A partition whose first or last offset a client asks for: the time that it names, -1 or -2 for these."""

    reader: _Reader
    time: int


_PLACES = {-1: "its end, so it passes over what is before", -2: "its beginning, so it reads again what is there"}


class OffsetResets(Check):
    """Finds consumers whose offset a partition does not have, and where they go on."""

    def _begin(self) -> None:
        self.lost: BoundedTable[_Reader, int] = BoundedTable()
        """By reader the offset that it asked for and that is not there."""

    def receive_fetched(self, event: MessageEvent) -> None:
        """Handles the errors in an answer to Fetch."""
        refused = {
            (name, index) for name, index, each in list_fetched(event) if read_error(each) == "OFFSET_OUT_OF_RANGE"
        }
        request = event.read_partner() if refused else {}
        for name, index, each in list_partitions(event, request.get("topics"), index="partition"):
            if (name, index) in refused:
                self.lost[(host_of(event.client), event.client_name, name, index)] = number(each, "fetchOffset", -1)

    def ask(self, event: MessageEvent) -> None:
        """Notes for which offsets a client asks with ListOffsets."""
        lookups = [
            _Reset((host_of(event.client), event.client_name, name, index), number(each, "timestamp"))
            for name, index, each in list_partitions(event, event.values.get("topics") if len(self.lost) else None)
        ]
        self.await_answer(event, lookups)

    def answer(self, lookups: list[_Reset], event: MessageEvent) -> None:
        """Handles the answer to ListOffsets, which tells where a consumer goes on."""
        partitions = list_partitions(event, event.values.get("topics"))
        offsets = {(name, index): each for name, index, each in partitions}
        for each in lookups:
            _, client, name, index = each.reader
            found = offsets.get((name, index))
            offset = -1 if found is None or read_error(found) is not None else number(found, "offset", -1)
            before = self.lost.pop(each.reader) if offset >= 0 else None
            if before is not None:
                where = f", {_PLACES[each.time]}" if each.time in _PLACES else ""
                sentence = f"consumer {client} asked for offset {before:,} of {name}[{index}], which is not there"
                self.warn("offset-moved", f"{sentence}; it goes on at {offset:,}{where}", f"topic {name}")

    on = (
        subscribe_to(
            *("Fetch", ANSWERS, receive_fetched, ("responses", "topic"), ("responses", "topicId")),
            *(("responses", "partitions", name) for name in ("partitionIndex", "errorCode")),
            merge=merge_by(None, quiet={("responses", "partitions", "errorCode"): 0}),
        )
        | subscribe_to(
            *("ListOffsets", REQUESTS, ask, ("topics", "name")),
            *(("topics", "partitions", name) for name in ("partitionIndex", "timestamp")),
        )
        | subscribe_to(
            *("ListOffsets", ANSWERS, for_request(answer), ("topics", "name")),
            *(("topics", "partitions", name) for name in ("partitionIndex", "errorCode", "offset")),
        )
    )
