"""What wireanalyze reads from a recording, in the words of a client's journal.

Everything comes from the rows that `list --format ndjson --fields` prints; names of topics for topic ids come from the
answers that carry both, as a reader of the rows would find them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.brokers.kafka.journal import Said

Row = Mapping[str, Any]


def rows_of(capture: Path, *options: str) -> list[Row]:
    """The rows of a capture as the command line prints them, whole."""
    command = [sys.executable, "-m", "analyzer.cli", "list", str(capture), "--format", "ndjson", "--fields"]
    command += ["--bytes-limit", "all", "--max-items", "all", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Decoded:
    """The rows of one recording, asked for what clients did."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self._by_number = {row["number"]: row for row in rows}
        self._topics = {
            topic["topicId"]: topic["name"]
            for row in rows
            if row["role"] == "response" and row["operation"] in ("CreateTopics", "Metadata")
            for topic in row["fields"]["topics"]
            if "topicId" in topic
        }

    def exchanges(self, operation: str, client: str) -> Iterator[tuple[Row, Row]]:
        """The bodies of answered requests of clients whose ids begin so, each with its answer's."""
        for row in self.rows:
            requested = row["operation"] == operation and row["role"] == "request" and row["partner"] is not None
            if requested and row["client"].startswith(client):
                yield row["fields"], self._by_number[row["partner"]]["fields"]

    def created(self, topic: str) -> list[int]:
        """The numbers of partitions that were asked for, by any client, where the broker agreed."""
        return [
            requested["numPartitions"]
            for request, response in self.exchanges("CreateTopics", "")
            for requested, reported in zip(request["topics"], response["topics"], strict=True)
            if requested["name"] == topic and reported["errorCode"] == 0
        ]

    def produced(self, client: str) -> list[Said]:
        """The records that it sent and the broker took, at the offsets that the answers gave them."""
        found = []
        for request, response in self.exchanges("Produce", client):
            bases = {
                (self._name(topic), partition["index"]): partition["baseOffset"]
                for topic in response["responses"]
                for partition in topic["partitionResponses"]
            }
            for topic in request["topicData"]:
                for partition in topic["partitionData"]:
                    at = self._name(topic), partition["index"]
                    for batch in partition["records"]:
                        found += _records(at, batch, bases[at] - batch["baseOffset"])
        return found

    def fetched(self, topic: str, client: str = "") -> set[Said]:
        """The records of this topic in answers to clients so named, without those that are the broker's own."""
        return {
            record
            for partition, batch in self._batches(topic, client)
            if not batch["control"]
            for record in _records((topic, partition), batch, 0)
        }

    def markers(self, topic: str) -> list[str]:
        """How transactions ended in the first partition of this topic, in order."""
        kinds = {
            record["offset"]: record["key"]["value"]["type"]
            for partition, batch in self._batches(topic, "")
            if batch["control"] and partition == 0
            for record in batch["records"]
        }
        return ["commit" if kinds[offset] else "abort" for offset in sorted(kinds)]

    def _batches(self, topic: str, client: str) -> Iterator[tuple[int, Row]]:
        """Whole batches of this topic in answers to clients so named, with their partition."""
        for _, response in self.exchanges("Fetch", client):
            for answer in response["responses"]:
                for partition in answer["partitions"]:
                    if self._name(answer) == topic:
                        for batch in partition["records"] or ():
                            if "partial" not in batch:
                                yield partition["partitionIndex"], batch

    def members(self, group: str) -> set[str]:
        """The members that the broker took into a group, by either protocol."""
        found = set()
        for operation in ("JoinGroup", "ConsumerGroupHeartbeat"):
            for request, response in self.exchanges(operation, ""):
                if request["groupId"] == group and response["errorCode"] == 0:
                    found.add(response["memberId"])
        return found

    def described(self, group: str) -> set[str]:
        """The members of a group in answers to those who asked what it is."""
        found: set[str] = set()
        for operation in ("DescribeGroups", "ConsumerGroupDescribe"):
            for _, response in self.exchanges(operation, ""):
                for each in response["groups"]:
                    if each["groupId"] == group:
                        found.update(member["memberId"] for member in each["members"])
        return found

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The offsets that a group committed last, where the broker took them."""
        found: dict[tuple[str, int], int] = {}
        for request, response in self.exchanges("OffsetCommit", ""):
            if request["groupId"] == group:
                for requested, reported in zip(request["topics"], response["topics"], strict=True):
                    for one, other in zip(requested["partitions"], reported["partitions"], strict=True):
                        if other["errorCode"] == 0:
                            found[self._name(requested), one["partitionIndex"]] = one["committedOffset"]
        return found

    def codecs(self, client: str) -> set[str]:
        """The compressions of the batches that it sent."""
        return {
            batch["compression"]
            for request, _ in self.exchanges("Produce", client)
            for topic in request["topicData"]
            for partition in topic["partitionData"]
            for batch in partition["records"]
        }

    def _name(self, topic: Row) -> str:
        """The name of a topic: layouts have it, or the id, as `name` or as `topic`."""
        name = topic.get("name", topic.get("topic"))
        return str(name) if name is not None else self._topics[topic["topicId"]]


def _records(at: tuple[str, int], batch: Row, moved: int) -> Iterator[Said]:
    for each in batch["records"]:
        headers = tuple((header["key"], _hex(header["value"])) for header in each["headers"])
        yield Said(*at, each["offset"] + moved, each["timestamp"], _hex(each["key"]), _hex(each["value"]), headers)


def _hex(content: Mapping[str, str] | None) -> str | None:
    return None if content is None else content["hex"]
