"""Detects the structures in bytes fields: records of internal topics, and data of group members.

Facts (ConsumerProtocol, RecordSerde, ControlRecordType). A subscription, an assignment, a principal and a coordinator's
record value begin with an int16 version, a coordinator's record key with an int16 type. Metadata and remote log records
begin with the uvarints 1, type and version. A control record's key is a version and a type. In its value, the end of a
transaction has a version in front, and Raft's records have it inside.

A structure is accepted only if it takes all its bytes (payload_detection.py).

Facts (StickyAssignor, CooperativeStickyAssignor, SubscriptionInfo, AssignmentInfo, ConnectProtocol,
IncrementalCooperativeConnectProtocol). A JoinGroup carries each member's metadata, a SyncGroup the leader's assignment;
the group's protocol type tells their layout. Those of a consumer contain user data, whose layout the assignor's name
tells. The sticky assignors' has no version: all layouts are tried, and only one fits, because they differ in length.
Streams' begins with an int32 version of its own, Connect's with an int16, as consumers' does. Those of Schema
Registry's servers (SchemaRegistryIdentity, SchemaRegistryProtocol) are a JSON object. The names of the schemas are ours
where Kafka has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from dissectors.field import FieldSpec
from dissectors.kafka.nested.payload_detection import (
    VERSION,
    DetectedPayload,
    Pair,
    Structure,
    detect,
    make_structure,
    read_framed_kind,
    read_leading_number,
)
from dissectors.kafka.schemas import list_variants, load_named_schema, record_schema
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.slotted import make_slotted, replace
from dissectors.wire.budget import Budget
from dissectors.wire.dialect import Dialect, Primitive, ScannedValue
from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import read_object
from dissectors.wire.plan import Leaf
from dissectors.wire.primitive import INT16
from dissectors.wire.reader import Reader
from dissectors.wire.schema import Schema
from dissectors.wire.specs import members
from dissectors.wire.varint import Unfit, uvarint

_TYPE = Leaf(FieldSpec("_type", INT16.type), INT16)
_UVARINT = ScannedValue("uvarint", uvarint)
_FRAMED = tuple(Leaf(FieldSpec(name, _UVARINT.type), _UVARINT) for name in ("_type", "_version"))


def detect_versioned(name: str, data: bytes, _: object = None) -> DetectedPayload | None:
    """Decodes a structure that begins with its version as int16; None if the bytes do not fit."""
    return detect(make_structure(load_named_schema(name), read_leading_number(data), (VERSION,)), data)


def detect_control(key: bytes | None, value: bytes | None) -> Pair:
    """Decodes a control record: its key has the type, which determines the layout of the value."""
    kind = None if key is None else detect_versioned("ControlRecordTypeSchema", key)
    if kind is None or value is None:
        return kind, None
    number = str(kind.values["type"])
    rules = table("quirks")
    name = rules["controlValue"].get(number)
    if name is None:
        return kind, None
    prefix = () if rules["controlValuePrefix"][number] is None else (VERSION,)
    found = detect(make_structure(load_named_schema(name), read_leading_number(value), prefix), value)
    return kind, found or _detect_earlier_control(name, value)


def _detect_earlier_control(name: str, value: bytes) -> DetectedPayload | None:
    """A control record as early releases wrote it: without a version, in the only layout that they had."""
    found = (detect(Structure(name, variant.plan), value) for variant in list_variants(name, 0))
    return next((each for each in found if each is not None), None)


def detect_record(module: str, key: bytes | None, value: bytes | None) -> Pair:
    """Decodes a record of the internal topic that `module` writes."""
    if module not in _coordinators():
        return None, None if value is None else _metadata(module, value)
    if key is None:
        return None, None
    schema = record_schema(module, "coordinatorKey", read_leading_number(key))
    kind = None if schema is None else detect(make_structure(schema, 0, (_TYPE,)), key)
    if kind is None or value is None:
        return kind, None
    schema = record_schema(module, "coordinatorValue", kind.values["_type"])
    return kind, None if schema is None else detect(
        make_structure(schema, read_leading_number(value), (VERSION,)), value
    )


def _metadata(module: str, data: bytes) -> DetectedPayload | None:
    kind = read_framed_kind(data)
    if kind is None:
        return None
    schema = record_schema(module, "metadata", kind[0])
    return None if schema is None else detect(make_structure(schema, kind[1], _FRAMED, True), data)


@cache
def _coordinators() -> tuple[str, ...]:
    """The modules whose records begin with a type in the key; theirs can be told by what they are."""
    return tuple(sorted({row["module"] for row in table("records")["records"] if row["kind"] == "coordinatorKey"}))


def detect_records(rows: Iterable[tuple[bytes | None, bytes | None]], module: str | None) -> list[Pair] | None:
    """Returns what the records of a partition hold, in order; None for bytes of no known structure.

    Without a module the topic is known by its id alone. Then it is a coordinator's where each key is one of its keys,
    at least one has a value, and each value is that of its key, to the last byte.
    """
    found = list(rows)
    if module is not None:
        return [detect_record(module, *row) for row in found]
    for each in _coordinators():
        pairs = []
        for row in found:
            pair = detect_record(each, *row)
            if pair[0] is None or (row[1] is not None and pair[1] is None):
                break
            pairs.append(pair)
        if len(pairs) == len(found) and any(value for _, value in pairs):
            return pairs
    return None


_SUBSCRIPTION_INFO = "SubscriptionInfoData"


def detect_newest(name: str, data: bytes, _: object = None) -> DetectedPayload | None:
    """Decodes metadata after its int16 version, a newer version as the newest known; None if it does not fit."""
    return detect(make_structure(group_schema(name), read_leading_number(data), (VERSION,), newer=True), data)


def detect_streams(name: str, data: bytes, _: object = None) -> DetectedPayload | None:
    """Streams' user data: its version, an int32, is the first field of the schema."""
    return detect(make_structure(group_schema(name), read_leading_number(data, 4)), data)


def detect_json_object(name: str, data: bytes, _: object = None) -> DetectedPayload | None:
    """Decodes bytes that are an object of strict JSON; None for all others."""
    return detect(_JsonObject(name), data)


def detect_unversioned(name: str, data: bytes, _: object = None) -> DetectedPayload | None:
    """Returns the newest layout that takes all bytes."""
    schema = group_schema(name)
    for version in range(schema.versions.high, schema.versions.low - 1, -1):
        found = detect(make_structure(schema, version), data)
        if found is not None:
            return found
    return None


@make_slotted(eq=False)
class _JsonObject:
    """A JSON object, which names its own members."""

    name: str
    inflates: bool = False

    def values(self, data: bytes) -> dict[str, Any] | None:
        """Returns the values of a JSON object, folded from its nodes; None for other bytes."""
        if not data.startswith(b"{") or not is_json(data):
            return None
        reader = Reader.start(data, Budget())
        return members(reader.tree.fields) if reader.guard(self.unfold, len(data)) else None

    def unfold(self, reader: Reader) -> None:
        """Adds the members of the JSON object as nodes."""
        read_object(reader, self.name)


@lru_cache(maxsize=64)
def group_schema(name: str) -> Schema:
    """Returns the schema of what members of groups write. Raises KeyError for an unknown name."""
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


_CHARS = ScannedValue("chars", _chars, size=4)
_JAVA: Dialect = replace(KAFKA, primitive=_primitive)
"""Kafka's types, and what Streams writes by hand: its texts (writeUTF) are strings, as far as they are plain."""
