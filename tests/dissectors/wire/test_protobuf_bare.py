"""Protocol Buffers without a table: what counts as a message, and what its nodes are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.field import Field
from dissectors.wire.budget import Budget
from dissectors.wire.protobuf_bare import DEPTH, is_message, read_bare
from dissectors.wire.reader import Reader
from tests.dissectors.trees import assert_tiles, every


@pytest.mark.parametrize(("data", "expected"), [
    (b"\x08\x01", True),
    (b"\x08\x01\x08\x02", True),
    (b"\x0d\0\0\0\0", True),
    (b"\x09" + bytes(8), True),
    (b"\x0a\0", True),
    (b"", False),
    (b"\x08", False),
    (b"\x0a\5abc", False),
    (b"\x0d\0\0\0", False),
    (b"\0\1", False),
    (b"\x10\1\x08\1", False),
    (b"\x0b\x0c", False),
    (b"\x0f", False),
    (b"\x80\x80\x80\x80\x80\x80", False),
    (b"\x80\x80\x20\x01", False),
    (b"\x08\x01" * 5000, False),
], ids=lambda value: repr(value)[:24])  # fmt: skip
def test_what_is_a_message(data: bytes, expected: bool) -> None:
    assert is_message(data) is expected


def read(data: bytes) -> list[Field]:
    reader = Reader.start(data, Budget())
    read_bare(reader, len(data))
    assert_tiles(reader.tree)
    return reader.tree.fields


def test_values() -> None:
    found = read(b"\x08\xac\x02\x15\1\0\0\0\x19\2\0\0\0\0\0\0\0\x22\3abc\x2a\2\xff\xfe")
    assert [(node.spec.name, node.spec.type, node.value, node.text) for node in found] == [
        ("field 1", "varint", 300, None),
        ("field 2", "fixed32", 1, None),
        ("field 3", "fixed64", 2, None),
        ("field 4", "bytes", b"abc", "abc"),
        ("field 5", "bytes", b"\xff\xfe", None),
    ]


def test_depth_is_bounded() -> None:
    data = b"\x08\1"
    for _ in range(40):
        data = b"\x0a" + bytes([len(data)]) + data
    assert sum(node.spec.type == "struct" for node in every(read(data))) == DEPTH


@given(st.binary(max_size=40))
def test_whatever_is_a_message_tiles(data: bytes) -> None:
    if is_message(data):
        assert read(data)
