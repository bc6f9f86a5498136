"""What the members of a classic group tell each other through their coordinator, which does not read it.

Facts (StickyAssignor, CooperativeStickyAssignor, SubscriptionInfo, AssignmentInfo, ConnectProtocol,
IncrementalCooperativeConnectProtocol). A JoinGroup carries each member's metadata, a SyncGroup what the leader assigns;
which layout they have says the group's protocol type. A consumer's have user data within, and what that is says the
assignor's name. The sticky assignors' has no version: all layouts are tried, and which fits is never in doubt, for they
differ in length. Streams' begins with an int32 version of its own, Connect's with an int16, as consumers' does. What
Schema Registry's servers say (SchemaRegistryIdentity, SchemaRegistryProtocol) is a JSON object. The names of the
schemas are ours where Kafka has none.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from dissectors.kafka.nested.payload_detection import (
    VERSION,
    DetectedPayload,
    detect,
    make_structure,
    read_leading_number,
)
from dissectors.kafka.schemas import load_named_schema
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.slotted import replace, slotted
from dissectors.wire.budget import Budget
from dissectors.wire.dialect import Dialect, Primitive, Scanned
from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import read_object
from dissectors.wire.reader import Reader
from dissectors.wire.schema import Schema
from dissectors.wire.specs import members
from dissectors.wire.varint import Unfit

_SUBSCRIPTION_INFO = "SubscriptionInfoData"


def detect_newest(name: str, data: bytes) -> DetectedPayload | None:
    """Metadata behind the int16 of its version; a newer one is read as the newest known, as Kafka itself does."""
    return detect(make_structure(group_schema(name), read_leading_number(data), (VERSION,), newer=True), data)


def detect_streams(name: str, data: bytes) -> DetectedPayload | None:
    """Streams' user data: its version, an int32, is the first field of the schema."""
    return detect(make_structure(group_schema(name), read_leading_number(data, 4)), data)


def detect_json_object(name: str, data: bytes) -> DetectedPayload | None:
    """An object of strict JSON."""
    return detect(_JsonObject(name), data)


def detect_unversioned(name: str, data: bytes) -> DetectedPayload | None:
    """The newest layout that takes all bytes."""
    schema = group_schema(name)
    for version in range(schema.versions.high, schema.versions.low - 1, -1):
        found = detect(make_structure(schema, version), data)
        if found is not None:
            return found
    return None


@slotted(eq=False)
class _JsonObject:
    """Content that says itself what its members are; see fits.Content."""

    name: str
    inflates: bool = False

    def values(self, data: bytes) -> dict[str, Any] | None:
        """See Content. There are few of them, and so this is what their nodes say."""
        if not data.startswith(b"{") or not is_json(data):
            return None
        reader = Reader.start(data, Budget())
        return members(reader.tree.fields) if reader.guard(self.unfold, len(data)) else None

    def unfold(self, reader: Reader) -> None:
        """See Content."""
        read_object(reader, self.name)


@lru_cache(maxsize=64)
def group_schema(name: str) -> Schema:
    """What members of groups write, by its name; KeyError for an unknown one."""
    row = _rows().get(name)
    return load_named_schema(name) if row is None else Schema.parse(name, row, _JAVA)


@cache
def _rows() -> dict[str, dict[str, object]]:
    generated = next(row for row in table("records")["records"] if row["name"] == _SUBSCRIPTION_INFO)
    return {row["name"]: row for row in (*table("groups")["structures"], generated)}


def _chars(data: bytes, at: int) -> tuple[str, int]:
    """What Java's DataOutputStream.writeChars writes, behind its length: an int32 count of UTF-16 units."""
    begin = at + 4
    stop = begin + 2 * int.from_bytes(data[at:begin], signed=True)
    if not begin <= stop <= len(data):
        raise Unfit
    return data[begin:stop].decode("utf-16-be"), stop


def _primitive(name: str, flexible: bool, nullable: bool) -> Primitive:
    return _CHARS if name == _CHARS.type else KAFKA.primitive(name, flexible, nullable)


_CHARS = Scanned("chars", _chars, size=4)
_JAVA: Dialect = replace(KAFKA, primitive=_primitive)
"""Kafka's types, and what Streams writes by hand: its texts (writeUTF) are strings, as far as they are plain."""
