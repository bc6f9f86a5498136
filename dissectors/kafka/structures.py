"""What the bytes fields of Kafka's messages and records hold, by the bytes' own beginning.

Facts (ConsumerProtocol, RecordSerde, ControlRecordType). A subscription, an assignment, a principal and a coordinator's
record value begin with an int16 version, a coordinator's record key with an int16 type. Metadata and remote log records
begin with the uvarints 1, type and version. A control record's key is a version and a type; behind them, the end of a
transaction has a version in front, what Raft writes has it inside. An Envelope holds a request or a response as they
stand in a frame, header and body.

A structure counts only where it takes all its bytes. A client may put anything there, so what does not fit is not
broken: it is bytes, and there is nothing to say of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dissectors.field import FieldSpec
from dissectors.kafka.header import ENVELOPE
from dissectors.kafka.schemas import apis, body_schema, header_version, named_schema, record_schema
from dissectors.kafka.tables import table
from dissectors.slotted import replace, slotted
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Array, Leaf, Plan, Step, Struct, Tags, resolve
from dissectors.wire.primitive import INT16, Scanned
from dissectors.wire.reader import Reader
from dissectors.wire.schema import Schema
from dissectors.wire.specs import Layout
from dissectors.wire.varint import uvarint

_VERSION = Leaf(FieldSpec("_version", INT16.type), INT16)
_TYPE = Leaf(FieldSpec("_type", INT16.type), INT16)
_UVARINT = Scanned("uvarint", uvarint)
_FRAMED = tuple(Leaf(FieldSpec(name, _UVARINT.type), _UVARINT) for name in ("_type", "_version"))
_FRAME = Layout("frameVersion", _UVARINT.type)
_FRAME_VERSION = 1
_FIELDS = FieldSpec("fields", "struct")
_ENVELOPED = {
    "requestApiKey": "code",
    "requestApiVersion": "version",
    "correlationId": "correlation",
    "clientId": "client",
}


@slotted(eq=False)
class Structure:
    """A layout of all bytes of a field: `head`, behind a frame version if it is `framed`, and below `fields` a body."""

    name: str
    head: Plan
    body: Plan | None = None
    framed: bool = False

    def values(self, data: bytes) -> dict[str, Any] | None:
        """What these bytes decode to; None unless they fit exactly."""
        try:
            values, at = values_decoder(self.head)(data, int(self.framed), Budget())
            if self.body is not None:
                values[_FIELDS.name], at = values_decoder(self.body)(data, at, Budget())
        except FAILURES:
            return None
        return values if at == len(data) else None

    def unfold(self, reader: Reader) -> None:
        """The same as nodes, of bytes that fit."""
        if self.framed:
            reader.leaf(_FRAME, _FRAME_VERSION, reader.at + 1)
        read_members(reader, self.head.steps)
        if self.body is not None:
            reader.enter(_FIELDS)
            read_members(reader, self.body.steps)
            reader.leave()


class Fit(NamedTuple):
    """A structure, and what it makes of the bytes it was chosen for."""

    structure: Structure
    values: dict[str, Any]


Pair = tuple[Fit | None, Fit | None]
"""What the key and the value of a record hold; None for what stays bytes."""


def _fit(structure: Structure | None, data: bytes) -> Fit | None:
    values = None if structure is None else structure.values(data)
    return None if structure is None or values is None else Fit(structure, values)


def _int16(data: bytes) -> int:
    """The number that the bytes begin with; one that is no version and no type where they are too few."""
    return int.from_bytes(data[:2], signed=True) if len(data) >= 2 else -1


@lru_cache(maxsize=256)
def _structure(schema: Schema, version: int, prefix: tuple[Leaf, ...], framed: bool = False) -> Structure | None:
    """A schema in a version, behind the numbers that stand before it."""
    if version not in schema.versions:
        return None
    plan = resolve(schema, version)
    return Structure(schema.name, Plan(schema.name, version, (*prefix, *plan.steps)), framed=framed)


def versioned(name: str, data: bytes) -> Fit | None:
    """A structure of the tables behind the int16 of its version."""
    return _fit(_structure(named_schema(name), _int16(data), (_VERSION,)), data)


def control(key: bytes | None, value: bytes | None) -> Pair:
    """A record of a control batch: its type is the key, and says what the value is."""
    kind = None if key is None else versioned("ControlRecordTypeSchema", key)
    if kind is None or value is None:
        return kind, None
    number = str(kind.values["type"])
    rules = table("quirks")
    name = rules["controlValue"].get(number)
    if name is None:
        return kind, None
    prefix = () if rules["controlValuePrefix"][number] is None else (_VERSION,)
    return kind, _fit(_structure(named_schema(name), _int16(value), prefix), value)


def record(module: str, key: bytes | None, value: bytes | None) -> Pair:
    """A record of an internal topic, which is the `module`'s that the tables name."""
    if module not in _coordinators():
        return None, None if value is None else _metadata(module, value)
    if key is None:
        return None, None
    schema = record_schema(module, "coordinatorKey", _int16(key))
    kind = None if schema is None else _fit(_structure(schema, 0, (_TYPE,)), key)
    if kind is None or value is None:
        return kind, None
    schema = record_schema(module, "coordinatorValue", kind.values["_type"])
    return kind, None if schema is None else _fit(_structure(schema, _int16(value), (_VERSION,)), value)


def _metadata(module: str, data: bytes) -> Fit | None:
    if data[:1] != bytes([_FRAME_VERSION]):
        return None
    try:
        kind, at = uvarint(data, 1)
        version, _ = uvarint(data, at)
    except FAILURES:
        return None
    schema = record_schema(module, "metadata", kind)
    return None if schema is None else _fit(_structure(schema, version, _FRAMED, True), data)


@cache
def _coordinators() -> tuple[str, ...]:
    """The modules whose records begin with a type in the key; theirs can be told by what they are."""
    return tuple(sorted({row["module"] for row in table("records")["records"] if row["kind"] == "coordinatorKey"}))


def records(rows: Iterable[tuple[bytes | None, bytes | None]], module: str | None) -> list[Pair] | None:
    """What the records of a partition hold, in order; None for bytes.

    Without a module the topic is known by its id alone. Then it is a coordinator's where each key is one of its keys,
    at least one has a value, and each value is that of its key, to the last byte.
    """
    found = list(rows)
    if module is not None:
        return [record(module, *row) for row in found]
    for each in _coordinators():
        pairs = []
        for row in found:
            pair = record(each, *row)
            if pair[0] is None or (row[1] is not None and pair[1] is None):
                break
            pairs.append(pair)
        if len(pairs) == len(found) and any(value for _, value in pairs):
            return pairs
    return None


def enveloped_request(data: bytes) -> Fit | None:
    """The request in an Envelope. One that nests another, or has records, which brokers never forward, stays bytes."""
    return _fit(_enveloped(_int16(data), _int16(data[2:]), False), data)


def enveloped_response(data: bytes, key: int, version: int) -> Fit | None:
    """The response to the request of this key and version, in an Envelope."""
    return _fit(_enveloped(key, version, True), data)


@lru_cache(maxsize=256)
def _enveloped(key: int, version: int, response: bool) -> Structure | None:
    api = apis().get(key)
    if api is None or key == ENVELOPE or version not in api.versions:
        return None
    header = named_schema("ResponseHeader" if response else "RequestHeader")
    head = resolve(header, header_version(key, version, response))
    schema = body_schema(key, response)
    body = resolve(schema, version)
    if any(map(_has_records, body.steps)):
        return None
    steps = tuple(_renamed(step) if isinstance(step, Leaf) else step for step in head.steps)
    return Structure(schema.name, replace(head, steps=steps), body)


def _renamed(step: Leaf) -> Leaf:
    return replace(step, spec=replace(step.spec, name=_ENVELOPED[step.spec.name]))


def _has_records(step: Step) -> bool:
    if isinstance(step, Leaf):
        return step.spec.type == "records"
    if isinstance(step, Array):
        return _has_records(step.element)
    inside = step.steps.values() if isinstance(step, Tags) else step.steps
    assert isinstance(step, Struct | Tags)
    return any(map(_has_records, inside))
