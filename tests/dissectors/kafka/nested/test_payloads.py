"""Payloads of users' records in trees: what is taken apart, what is left alone, and that values never change."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context
from dissectors.field import Field, Tree
from dissectors.kafka.nested.user_payloads import MOST, Payloads
from dissectors.wire.json_text import DEPTH
from tests.dissectors.kafka.nested.structured import (
    CONTROL,
    FETCH,
    METADATA_ID,
    OTHER_ID,
    PRODUCE,
    batched,
    both,
    fetched,
    produce,
    unread,
)
from tests.dissectors.kafka.records.test_values import message, wrapper
from tests.dissectors.trees import every

INT64 = struct.Struct(">q")


def parts(data: bytes) -> list[Field]:
    """The nodes below a value, but for its length."""
    body, tree = both(produce(b"orders", batched([(None, data)])), PRODUCE)
    assert not unread(body)
    (record,) = body.values["topicData"][0]["partitionData"][0]["records"][0]["records"]
    assert record["value"] == data
    return _value(tree).children[1:]


def _value(tree: Tree) -> Field:
    return next(each for each in every(tree.fields) if each.spec.name == "value")


def outline(nodes: list[Field]) -> list[object]:
    """Names and values, brackets and lengths left out."""
    return [
        (node.spec.name, outline(node.children) if node.children else node.value)
        for node in nodes
        if node.spec.type != "json_token" and node.spec.name != "length"
    ]


def registered(number: int, payload: bytes) -> bytes:
    return b"\0" + number.to_bytes(4) + payload


TEXTS = {
    "an object": (b'{"a":1,"b":[true,{"c":"\xc3\xa9"}]}',
                  [("json", [("a", 1), ("b", [("[0]", True), ("[1]", [("c", "é")])])])]),
    "an array": (b"[1,2]", [("json", [("[0]", 1), ("[1]", 2)])]),
    "an empty one": (b"{}", [("json", {})]),
    "space around it": (b" \n[ 1 ]\n", [("json", [("[0]", 1)])]),
}  # fmt: skip
NO_TEXTS = [
    b"",
    b"{",
    b"1",
    b'"text"',
    b"null",
    b"{'a':1}",
    b"{a:1}",
    b"[1] [2]",
    b"[INFO] started",
    b'{"a":"\xff"}',
    b"\xef\xbb\xbf{}",
    b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1),
    b"[" * 50_000,
    b"[" + b"9" * 5000 + b"]",
    b"[NaN]",
    b'{"a":-Infinity}',
]


@pytest.mark.parametrize("case", TEXTS)
def test_json(case: str) -> None:
    data, expected = TEXTS[case]
    assert outline(parts(data)) == expected


@pytest.mark.parametrize("data", NO_TEXTS, ids=lambda data: repr(data[:16]))
def test_what_is_no_json(data: bytes) -> None:
    assert parts(data) == []


PROTOBUF = b"\x08\x96\x01\x12\x03abc\x1a\x04\x08\x01\x10\x02\x25\x01\0\0\0"
FIELDS = [("field 1", 150), ("field 2", b"abc"), ("field 3", [("field 1", 1), ("field 2", 2)]), ("field 4", 1)]


@pytest.mark.parametrize(("payload", "expected"), [
    (b'{"a":1}', [("json", [("a", 1)])]),
    (b"\0" + PROTOBUF, [("messageIndexes", [0]), ("protobuf", FIELDS)]),
    (b"\4\0\2" + PROTOBUF, [("messageIndexes", [0, 1]), ("protobuf", FIELDS)]),
    (b"\x06foo\x02", [("payload", b"\x06foo\x02")]),
    (b"\0" + PROTOBUF[:-2], [("payload", b"\0" + PROTOBUF[:-2])]),
    (b"\0\x12\x01a\x08\x01", [("payload", b"\0\x12\x01a\x08\x01")]),
    (b"\0\x08\x0a\x10\x0c", [("messageIndexes", [0]), ("protobuf", [("field 1", 10), ("field 2", 12)])]),
    (b"\0\x08\x8a\1", [("payload", b"\0\x08\x8a\1")]),
    (b"\1\x08\x01x", [("payload", b"\1\x08\x01x")]),
    (b"\x02", [("payload", b"\x02")]),
], ids=["json", "protobuf", "later message", "avro", "cut", "descending",
        "two numbers", "one number", "no path", "one byte"])  # fmt: skip
def test_schema_registry(payload: bytes, expected: list[object]) -> None:
    found = parts(registered(7, payload))
    assert outline(found) == [("magic", 0), ("schemaId", 7), *expected]
    assert found[1].text == "Schema Registry, schema 7"


@pytest.mark.parametrize(
    "data",
    [
        INT64.pack(5),
        INT64.pack(1_700_000_000_123),
        INT64.pack(1 << 40),
        struct.pack(">qq", 1_700_000_000_123, 7),
        struct.pack(">i", 77),
        struct.pack(">i", 1),
        registered(7, b""),
        registered(0, b'{"a":1}'),
        registered(1 << 24, b"\x06foo\x02"),
        b"\0\xff\xff\xff\xff" + b'{"a":1}',
        "text".encode("utf-16-be"),
        bytes(16),
        struct.pack(">i", 12) + b"length first",
        struct.pack(">i", 17) + b"length of all",
        struct.pack(">iq", 77, 1_700_000_000_123),
        struct.pack(">qqi", 1_700_000_000, 1_700_000_000_123, 1),
        struct.pack(">ihhh", 3, 7, 8, 9),
        "text".encode("utf-32-be"),
        b"\1\0\0\0\7{}",
        b"00007{}",
    ],
    ids=["int64", "time", "large int64", "two int64", "int32", "one", "no payload", "id 0", "a large id", "negative id",
         "utf-16", "zeros", "a length", "a length of all", "int32 and time", "a window's key",
         "count and field_aliases", "utf-32", "another magic", "ascii"],
)  # fmt: skip
def test_what_only_begins_with_a_zero(data: bytes) -> None:
    assert parts(data) == []


def test_brackets_in_texts_do_not_nest() -> None:
    inner = b'"' + b"[{" * DEPTH + b'\\"[",' + b"[" * (DEPTH - 1) + b"]" * (DEPTH - 1)
    assert parts(b"[" + inner + b"]") != []


def test_text_in_protobuf_is_recognised() -> None:
    texts = [(node.spec.name, node.text) for node in every(parts(registered(7, b"\0" + PROTOBUF))) if node.text]
    assert texts[1:] == [("protobuf", "by the wire format alone"), ("field 2", "abc")]


def test_a_key_is_taken_apart_too_and_a_header_is_not() -> None:
    _, tree = both(fetched(OTHER_ID, batched([(b'{"k":1}', b"v")])), FETCH)
    assert [node.spec.name for node in every(tree.fields) if node.spec.type == "json_object"] == ["json"]


@pytest.mark.parametrize(
    "entries",
    [message(1, b'{"a":1}'), wrapper(9, message(0, b'{"a":1}')), message(1, b'{"a":1}', 0)],
    ids=["magic 1", "wrapped", "magic 0"],
)
def test_older_messages(entries: bytes) -> None:
    _, tree = both(produce(b"orders", entries), PRODUCE)
    assert [node.value for node in every(tree.fields) if node.spec.type == "json_number"] == [1]


@pytest.mark.parametrize("frame", [
    (produce(b"__consumer_offsets", batched([(b"{}", b'{"a":1}')])), PRODUCE),
    (fetched(METADATA_ID, batched([(None, b'{"a":1}')])), FETCH),
    (produce(b"orders", batched([(b"{}", b'{"a":1}')], CONTROL)), PRODUCE),
], ids=["a coordinator's topic", "the metadata topic", "a control batch"])  # fmt: skip
def test_what_is_no_users_record(frame: tuple[bytes, Context]) -> None:
    _, tree = both(*frame)
    assert not any(node.spec.type.startswith("json") for node in every(tree.fields))


def test_a_message_has_a_bound() -> None:
    payloads, text = Payloads(4 * MOST), b'"' + b"x" * (MOST // 2) + b'"'
    assert [payloads.reading(b"[" + text + b"]") is not None for _ in range(3)] == [True, False, False]
    assert payloads.reading(b"{}") is not None


def test_a_tree_without_room_has_no_payloads() -> None:
    assert Payloads(4).reading(b"{}") is not None
    assert Payloads(3).reading(b"{}") is None


@given(
    st.binary(max_size=12), st.sampled_from([b"", b"\0\0\0\0\7", b"\0\0\0\0\7\0", b"\0\0\0\0\7\2\2", b"[", b'{"a":'])
)
def test_whatever_it_is_values_stay_and_leaves_tile(data: bytes, start: bytes) -> None:
    parts(start + data)
