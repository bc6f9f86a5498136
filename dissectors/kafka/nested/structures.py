"""What the bytes fields of Kafka's messages and records hold, by the bytes' own beginning.

Facts (ConsumerProtocol, RecordSerde, ControlRecordType). A subscription, an assignment, a principal and a coordinator's
record value begin with an int16 version, a coordinator's record key with an int16 type. Metadata and remote log records
begin with the uvarints 1, type and version. A control record's key is a version and a type; behind them, the end of a
transaction has a version in front, what Raft writes has it inside.

A structure counts only where it takes all its bytes (fits.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from dissectors.field import FieldSpec
from dissectors.kafka.nested.payload_detection import VERSION, Fit, Structure, fit, framed_kind, leading, structure
from dissectors.kafka.schemas import named_schema, record_schema, variants
from dissectors.kafka.tables import table
from dissectors.wire.dialect import Scanned
from dissectors.wire.plan import Leaf
from dissectors.wire.primitive import INT16
from dissectors.wire.varint import uvarint

_TYPE = Leaf(FieldSpec("_type", INT16.type), INT16)
_UVARINT = Scanned("uvarint", uvarint)
_FRAMED = tuple(Leaf(FieldSpec(name, _UVARINT.type), _UVARINT) for name in ("_type", "_version"))

Pair = tuple[Fit | None, Fit | None]
"""What the key and the value of a record hold; None for what stays bytes."""


def versioned(name: str, data: bytes) -> Fit | None:
    """A structure of the tables behind the int16 of its version."""
    return fit(structure(named_schema(name), leading(data), (VERSION,)), data)


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
    prefix = () if rules["controlValuePrefix"][number] is None else (VERSION,)
    found = fit(structure(named_schema(name), leading(value), prefix), value)
    return kind, found or _earlier(name, value)


def _earlier(name: str, value: bytes) -> Fit | None:
    """A control record as early releases wrote it: without a version, in the only layout that they had."""
    found = (fit(Structure(name, variant.plan), value) for variant in variants(name, 0))
    return next((each for each in found if each is not None), None)


def record(module: str, key: bytes | None, value: bytes | None) -> Pair:
    """A record of an internal topic, which is the `module`'s that the tables name."""
    if module not in _coordinators():
        return None, None if value is None else _metadata(module, value)
    if key is None:
        return None, None
    schema = record_schema(module, "coordinatorKey", leading(key))
    kind = None if schema is None else fit(structure(schema, 0, (_TYPE,)), key)
    if kind is None or value is None:
        return kind, None
    schema = record_schema(module, "coordinatorValue", kind.values["_type"])
    return kind, None if schema is None else fit(structure(schema, leading(value), (VERSION,)), value)


def _metadata(module: str, data: bytes) -> Fit | None:
    kind = framed_kind(data)
    if kind is None:
        return None
    schema = record_schema(module, "metadata", kind[0])
    return None if schema is None else fit(structure(schema, kind[1], _FRAMED, True), data)


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
