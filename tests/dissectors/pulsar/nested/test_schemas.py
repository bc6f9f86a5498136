"""Definitions of schemas as nodes: JSON, those of keys and values, and bytes that are neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.field import Field
from dissectors.pulsar import Pulsar
from dissectors.pulsar.nested import LARGEST
from dissectors.wire.specs import fold
from tests.dissectors.pulsar.frames import field, frame
from tests.dissectors.trees import assert_tiles, node

PULSAR = Pulsar()
CONTEXT = Context(Role.REQUEST, 39)
AVRO = {"type": "record", "name": "User", "fields": [{"name": "age", "type": ["null", "int"], "default": None}]}
DATA = json.dumps(AVRO).encode()
JSON, AVRO_TYPE, PRIMITIVE, KEY_VALUE = 2, 4, 9, 15


def asked(data: bytes, kind: int = AVRO_TYPE) -> bytes:
    schema = field(1, "n") + field(3, data) + field(4, kind)
    return frame(39, field(1, 9), field(2, "t"), field(3, schema))


def opened(message: bytes) -> Field:
    """The node of the definition. Whatever is in it, the tree has the values that it had."""
    found = PULSAR.tree(message, CONTEXT)
    assert_tiles(found)
    assert found.findings == []
    bytes_field = node(found, "command", "getOrCreateSchema", "schema", "schema_data")
    assert PULSAR.values(message, CONTEXT).values["schema"]["schema_data"] == bytes_field.value == fold(bytes_field)
    return bytes_field


def sized(data: bytes | None) -> bytes:
    return b"\xff" * 4 if data is None else len(data).to_bytes(4) + data


def parts(of: Field) -> list[tuple[str, int, Any]]:
    """Behind tag and length: the name of each part, its size, and what it folds to."""
    assert [child.spec.name for child in of.children[:2]] == ["tag", "length"]
    assert of.children[1].value == len(of.value)
    return [(child.spec.name, child.length, fold(child)) for child in of.children[2:]]


@pytest.mark.parametrize("kind", [JSON, AVRO_TYPE, 20])
def test_definitions(kind: int) -> None:
    assert parts(opened(asked(DATA, kind))) == [("definition", len(DATA), AVRO)]


def test_a_union_and_a_name() -> None:
    assert parts(opened(asked(b'["null", "int"]'))) == [("definition", 15, ["null", "int"])]
    assert parts(opened(asked(b'"int"'))) == [("definition", 5, "int")]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (DATA, b"", [AVRO, None]),
        (DATA, b'"int"', [AVRO, "int"]),
        (None, DATA, [None, AVRO]),
        (b"", None, [None, None]),
        (b"\xff", b"x", [b"\xff", b"x"]),
    ],
    ids=repr,
)
def test_keys_and_values(key: bytes | None, value: bytes | None, expected: list[object]) -> None:
    found = parts(opened(asked(sized(key) + sized(value), KEY_VALUE)))
    assert [name for name, _, _ in found] == ["key", "value"]
    assert [content.get("definition") for _, _, content in found] == expected


BROKEN = [
    ("nothing", b"", AVRO_TYPE),
    ("no JSON", b"{type}", AVRO_TYPE),
    ("no UTF-8", b'{"a": "\xff"}', AVRO_TYPE),
    ("more behind it", DATA + b"}", AVRO_TYPE),
    ("a number", b"7", PRIMITIVE),
    ("too deep", b"[" * 100 + b"]" * 100, AVRO_TYPE),
    ("too large", b'"' + b"a" * LARGEST + b'"', AVRO_TYPE),
    ("one size", sized(DATA), KEY_VALUE),
    ("a size of more than there is", sized(DATA) + b"\0\0\0\2a", KEY_VALUE),
    ("a size of less than there is", sized(DATA) + b"\0\0\0\1ab", KEY_VALUE),
    ("a size below -1", b"\xff\xff\xff\xfe" + sized(DATA), KEY_VALUE),
    ("a huge size", b"\x7f\xff\xff\xff" + sized(DATA), KEY_VALUE),
]


@pytest.mark.parametrize(("data", "kind"), [each[1:] for each in BROKEN], ids=[each[0] for each in BROKEN])
def test_what_is_not_surely_a_definition_stays_bytes(data: bytes, kind: int) -> None:
    found = opened(asked(data, kind))
    assert found.children == []
    assert found.value == data


@pytest.mark.parametrize("kind", [AVRO_TYPE, KEY_VALUE])
def test_any_cut(kind: int) -> None:
    whole = sized(DATA) + sized(b'"int"') if kind == KEY_VALUE else DATA
    for stop in range(len(whole)):
        assert opened(asked(whole[:stop], kind)).children == []
    message = asked(whole, kind)
    for stop in range(len(message)):
        assert_tiles(PULSAR.tree(message[:stop], CONTEXT))
