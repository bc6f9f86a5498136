"""What is compared: commands of ours, the command of tshark's that gives the same user the same answer, the goal.

Works that have the same counterpart stand in one group, so that it runs once a round for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Check, Pipeline, ours

KEYS = "number,time,stream,source,destination,role,operation,version,correlation,client,length,latency_ns"
KAFKA_FIELDS = (
    *("kafka.api_key", "kafka.api_version", "kafka.correlation_id", "kafka.client_id", "kafka.len", "kafka.error"),
    *("kafka.topic_name", "kafka.partition_id", "kafka.offset", "kafka.request_frame", "kafka.response_frame"),
)
_LENGTH = KAFKA_FIELDS.index("kafka.len")

REQUEST = (
    "000000380003000800000007001570726f64756365722d6f72646572"
    "732d65752d30310000000200066f726465727300087061796d656e7473010000"
)
"""A Metadata request, version 8, of 60 bytes, for two topics."""


@dataclass(frozen=True, slots=True)
class Work:
    """One command of ours. check: how many messages its output tells of, where that can be counted."""

    name: str
    arguments: Sequence[str]
    goal: float
    check: Check | None = None

    def ours(self, *captures: Path) -> Pipeline:
        """The command."""
        return ours(*self.arguments, *map(str, captures))


@dataclass(frozen=True, slots=True)
class Group:
    """Works on captures of some kinds, beside one command of tshark's."""

    kinds: Sequence[str]
    works: Sequence[Work]
    said: str
    theirs: Sequence[str] = field(default_factory=tuple)
    check: Check | None = None

    def tshark(self, capture: Path) -> Pipeline:
        """The counterpart."""
        return (["tshark", "-r", str(capture), *self.theirs],)


def lines(head: int) -> Check:
    """Counts lines behind `head` lines of names."""
    return lambda found: sum(1 for _ in found) - head


def counted(found: Iterable[bytes]) -> int:
    """Messages of `stats --format json`."""
    messages: int = json.loads(b"".join(found))["messages"]
    return messages


def lengths(found: Iterable[bytes]) -> int:
    """Messages in tshark's columns: their lengths, of which one packet may have several."""
    cells = (line.split(b"\t")[_LENGTH] for line in found)
    return sum(cell.count(b",") + 1 for cell in cells if cell)


TABLE = Work("`list`", ["list"], 2, lines(1))
ROWS = Work("`list --format tsv -e` of 12 keys", ["list", "--format", "tsv", "-e", KEYS], 16, lines(1))
STATS = Work("`stats --counts`", ["stats", "--counts", "--format", "json"], 20, counted)
BODIES = ("list", "--format", "ndjson", "--fields")

FIELDS_OF_ALL = Work("`list --format ndjson --fields`", BODIES, 6, lines(0))

FIELDS = ("-T", "fields", *(part for name in KAFKA_FIELDS for part in ("-e", name)))
_EK = ("-T", "ek", "-J", "kafka")

MESSAGES = ("small", "real")
"""Captures of small messages: tame, and as real traffic is (traffic.py)."""

GROUPS = (
    Group(MESSAGES, (STATS, ROWS), "`-T fields`, 11 of Kafka's", FIELDS, lengths),
    Group(MESSAGES, (TABLE,), "its default lines"),
    Group(MESSAGES, (FIELDS_OF_ALL,), "`-T ek -J kafka`", _EK),
    Group(
        ("large", "real-large"),
        (Work("`list --format ndjson --fields`", BODIES, 7, lines(0)),),
        "`-T ek -J kafka`",
        _EK,
    ),
)

DECODE_GOAL = 4.5


def decode() -> Pipeline:
    """A message given as hex, from a cold start."""
    return ours("decode", REQUEST)


def decode_theirs(dump: Path) -> Pipeline:
    """The same with text2pcap and tshark; both are counted. `dump` is written: the bytes in the form of od."""
    data = bytes.fromhex(REQUEST)
    rows = [f"{at:06x} {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16)]
    dump.write_text("\n".join([*rows, f"{len(data):06x}", ""]))
    return (["text2pcap", "-q", "-T", "40000,9092", str(dump), "-"], ["tshark", "-r", "-", "-V"])
