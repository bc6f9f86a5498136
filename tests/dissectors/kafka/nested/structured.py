"""Frames whose bytes fields hold structures, made of the vendor's own bytes where there are any."""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.field import Tree
from dissectors.finding import Finding
from dissectors.kafka import Kafka
from dissectors.kafka.labels import error_name
from dissectors.kafka.tables import table
from dissectors.wire.message import fold_tree
from tests.dissectors.kafka.records.test_values import batch, record
from tests.dissectors.kafka.truth import STRUCTURES, rows
from tests.dissectors.trees import assert_tiles

KAFKA = Kafka()
PRODUCE, FETCH = Context(Role.REQUEST, 0, 7), Context(Role.RESPONSE, 1, 17)
METADATA_ID = urlsafe_b64decode("AAAAAAAAAAAAAAAAAAAAAQ==")
OTHER_ID = bytes(range(16))
CONTROL = 0x20

Record = tuple[bytes | None, bytes | None]


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content


def batched(records: Sequence[Record], attributes: int = 0) -> bytes:
    return batch(b"".join(record(at, 0, *each) for at, each in enumerate(records)), len(records), attributes)


def produce(topic: bytes, entries: bytes) -> bytes:
    """A Produce v7 of one partition."""
    body = struct.pack(">hhii", -1, 1, 0, 1) + struct.pack(">h", len(topic)) + topic + struct.pack(">ii", 1, 0)
    return framed(struct.pack(">hhih", 0, 7, 1, -1) + body + struct.pack(">i", len(entries)) + entries)


def uvarint(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def fetched(topic: bytes, entries: bytes) -> bytes:
    """A response to Fetch v17 of one partition, of a topic known by its id."""
    partition = struct.pack(">ihqqqBi", 0, 0, 9, 9, 0, 0, -1) + uvarint(len(entries) + 1) + entries + b"\0"
    topics = b"\2" + topic + b"\2" + partition + b"\0"
    return framed(struct.pack(">iB", 1, 0) + struct.pack(">ihi", 0, 0, 0) + topics + b"\0")


def both(frame: bytes, context: Context) -> tuple[Body, Tree]:
    """A frame both ways, which must agree; the tree must tile."""
    body, tree = KAFKA.values(frame, context), KAFKA.tree(frame, context)
    assert_tiles(tree)
    assert fold_tree(tree, error_name) == body
    return body, tree


def unread(body: Body) -> list[Finding]:
    """What is said of places in a message: not what is noted of it as a whole."""
    return [finding for finding in body.findings if finding.offset is not None]


class Vendor(NamedTuple):
    """A structure as the vendor wrote it: without what stands in front of it in a bytes field."""

    name: str
    version: int
    data: bytes
    fields: dict[str, Any]


@cache
def vendor() -> tuple[Vendor, ...]:
    """All structures that the vendor's classes wrote."""
    found = rows(STRUCTURES)
    return tuple(Vendor(row["schema"], row["version"], bytes.fromhex(row["hex"]), row["fields"]) for row in found)


class Held(NamedTuple):
    """A record that holds a structure: the topic it is in (None: a control batch), and where in it the vendor's is."""

    topic: str | None
    pair: Record
    side: str
    holds: Vendor


TOPICS = {
    "group-coordinator": "__consumer_offsets",
    "transaction-coordinator": "__transaction_state",
    "share-coordinator": "__share_group_state",
    "metadata": "__cluster_metadata",
    "storage": "__remote_log_metadata",
}


def held() -> Iterator[Held]:
    """Every structure of records that the vendor wrote, in a record that holds it."""
    schemas = {row["name"]: row for row in table("records")["records"]}
    keys = {(row["module"], row["key"]): row["name"] for row in schemas.values() if row["kind"] == "coordinatorKey"}
    some = {each.name: each for each in vendor()}
    controls = {name: int(number) for number, name in table("quirks")["controlValue"].items()}
    for each in vendor():
        row = schemas.get(each.name, {})
        kind, number = row.get("kind"), row.get("key")
        if kind == "coordinatorKey":
            yield Held(TOPICS[row["module"]], (struct.pack(">h", number) + each.data, None), "key", each)
        elif kind == "coordinatorValue":
            key = struct.pack(">h", number) + some[keys[row["module"], number]].data
            value = struct.pack(">h", each.version) + each.data
            yield Held(TOPICS[row["module"]], (key, value), "value", each)
        elif kind == "metadata":
            value = bytes([1, number, each.version]) + each.data
            yield Held(TOPICS[row["module"]], (None, value), "value", each)
        elif each.name in controls:
            number = controls[each.name]
            prefix = b"" if table("quirks")["controlValuePrefix"][str(number)] is None else struct.pack(">h", 0)
            inside = prefix + each.data
            if not prefix:
                inside = struct.pack(">h", each.version) + each.data[2:]
            yield Held(None, (struct.pack(">hh", 0, number), inside), "value", each)
