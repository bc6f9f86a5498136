"""kafka-python's own codec as an oracle: messages of random values, of every API and version it has, which we read.

Values are made by the definitions that library carries, so a field that it has and our tables lack is a difference.
"""

from __future__ import annotations

import importlib
import uuid
import warnings
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.labels import error_name
from dissectors.kafka.types import uuid_text
from dissectors.wire.message import fold_tree
from tests.dissectors.kafka.truth import difference, faults, printed
from tests.dissectors.trees import assert_tiles

PARTS = ("admin", "consumer", "metadata", "producer", "sasl")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the library reads its schemas in a way of the day before
    from kafka.protocol.api_message import ApiMessage

    for part in PARTS:
        importlib.import_module(f"kafka.protocol.{part}")

KAFKA = Kafka()
INTEGERS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}
UNNAMED = "authorized_operations"
"""What the library calls a field that has other names in the schemas, by message."""

NEWER_NAMES = {("TxnOffsetCommitRequest", "generationId"): "generationIdOrMemberEpoch"}
"""Fields of a message that newer schemas have renamed."""

WORDS = ("", "a", "orders.v2", "grüße", "x" * 200)


def messages() -> list[tuple[type[ApiMessage], int]]:
    """All messages of the library, in all their versions."""
    found = {cls.name: cls for cls in ApiMessage.__subclasses__() if cls._class_version is None}
    return [(cls, version) for _, cls in sorted(found.items()) for version in versions(cls)]


def versions(cls: type[ApiMessage]) -> range:
    low, _, high = cls.json["validVersions"].partition("-")
    return range(int(low), int(high or low) + 1)


MESSAGES = messages()


def scalar(kind: str, random: Random) -> tuple[Any, Any]:
    """A value as the library takes it, and as we print it."""
    if kind in INTEGERS:
        bits = INTEGERS[kind]
        value = random.choice([0, 1, random.getrandbits(bits), random.getrandbits(min(bits, 7))])
        value = -value if not kind.startswith("u") and random.random() < 0.2 else value
        return value, value
    if kind == "bitfield":
        bits = {bit for bit in range(32) if random.random() < 0.2}
        return bits, int.from_bytes(sum(1 << bit for bit in bits).to_bytes(4), signed=True)
    if kind == "bool":
        flag = random.random() < 0.5
        return flag, flag
    if kind == "float64":
        number = random.randrange(1 << 20) / 8
        return number, number
    if kind == "string":
        word = random.choice(WORDS)
        return word, word
    if kind == "bytes":
        data = random.randbytes(random.choice([0, 3, 130]))
        return data, printed(data)
    assert kind == "uuid", kind
    value = uuid.UUID(bytes=random.randbytes(16))
    return value, uuid_text(value.bytes)


def some(field: Any, version: int, random: Random) -> tuple[Any, Any]:
    """A field's value both ways."""
    kind = field.type_str.removeprefix("[]")
    if kind == "records":
        return None, None
    if field.nullable_for_version_q(version) and random.random() < 0.3:
        return None, None
    if field.is_struct():
        return struct(field, version, random)
    if not (field.is_struct_array() or field.is_array()):
        return scalar(kind, random)
    count = random.choice([0, 1, 3])
    each = [struct(field, version, random) if field.is_struct_array() else scalar(kind, random) for _ in range(count)]
    return [theirs for theirs, _ in each], [ours for _, ours in each]


def struct(field: Any, version: int, random: Random) -> tuple[Any, Any]:
    """A struct both ways."""
    theirs, ours = members(field._fields, version, random)
    return SimpleNamespace(**theirs), ours


def members(fields: Any, version: int, random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values by the library's names and by ours."""
    theirs, ours = {}, {}
    for field in fields:
        tagged = field.tagged_field_q(version)
        if not field.for_version_q(version) or (tagged and random.random() < 0.5):
            continue
        theirs[field.name], shown = some(field, version, random)
        written = not tagged or theirs[field.name] != field.default
        if written and field._name != UNNAMED:
            ours[field._name[0].lower() + field._name[1:]] = shown
    return theirs, ours


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(2))
def test_what_kafka_python_writes_is_read(seed: int) -> None:
    for cls, version in MESSAGES:
        random = Random(f"{cls.name} {version} {seed}")
        theirs, ours = members(cls._struct._fields, version, random)
        ours = {NEWER_NAMES.get((cls.name, name), name): value for name, value in ours.items()}
        message = cls(version=version, **theirs)
        message.with_header(correlation_id=5)
        frame = bytes(message.encode(header=True, framed=True))
        context = Context(Role.REQUEST if cls.is_request() else Role.RESPONSE, cls.API_KEY, version)
        body, tree = KAFKA.values(frame, context), KAFKA.tree(frame, context)
        name = f"{cls.name} v{version}: {body.findings}"
        assert difference(ours, printed(body.values)) is None, name
        assert faults(body.findings) == [], name
        assert_tiles(tree)
        assert fold_tree(tree, error_name) == body, name


def test_how_far_it_reaches() -> None:
    assert len({cls.API_KEY for cls, _ in MESSAGES}) == 52
    assert len(MESSAGES) == 478
