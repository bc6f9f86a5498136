"""Protocol Buffers with holes: the same values, or none; what other messages of a shape may differ in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import Bytes, Integer, Text
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf import Library, MessageType
from dissectors.wire.protobuf_template import MOST, ProtobufTemplater
from dissectors.wire.protobuf_values import decode
from tests.dissectors.pulsar.frames import field, varint
from tests.dissectors.symbolic import filled
from tests.dissectors.wire.test_protobuf import (
    CASES,
    INNER,
    LIBRARY,
    NUMBER,
    OUTER,
    ROWS,
    TYPES,
    VALUES,
    WIRE,
    sized,
    tagged,
)

SEVERAL = Library(
    {"Inner": INNER, "Outer": [{"number": 1, "name": "inner", "type": "message", "of": "Inner", "label": "repeated"}]},
    {},
    lambda shown: str,
).message("Outer")
INSIDE = LIBRARY.message("Inner")
NUMBERS = {row["name"]: row["number"] for row in ROWS}


def read(data: bytes, message: MessageType = OUTER) -> tuple[TemplateBuilder, dict[str, Any]]:
    builder = TemplateBuilder(data)
    return builder, ProtobufTemplater(builder).message(0, len(data), message)


def number(name: str, value: int) -> bytes:
    return field(NUMBERS[name], value)


@pytest.mark.parametrize("case", CASES)
def test_what_the_decoder_gives(case: str) -> None:
    """What is a secret, or may be one because nobody knows the field, stands for itself."""
    data, expected = CASES[case]
    if "<secret" in repr(expected):
        with pytest.raises(NotTemplatable):
            read(data)
    else:
        assert filled(read(data)[1]) == expected


@pytest.mark.parametrize("kind", TYPES)
def test_every_type(kind: str) -> None:
    """In all ways to write it, also packed."""
    found = [data for data, _ in VALUES[kind] if data.isascii() or kind != "string"]
    for number in (NUMBER[kind], 100 + NUMBER[kind]):
        data = b"".join(tagged(number, WIRE.get(kind, 0), each) for each in found)
        assert filled(read(data)[1]) == decode(data, 0, len(data), OUTER)
    if kind not in ("string", "bytes"):
        data = sized(100 + NUMBER[kind], b"".join(found))
        assert read(data)[1] == decode(data, 0, len(data), OUTER)


OPEN = {
    "uint64": (number("uint64", 5), "uint64"),
    "the largest of nine bytes": (number("uint64", (1 << 63) - 1), "uint64"),
    "int64": (number("int64", 300), "int64"),
    "int32": (number("int32", (1 << 31) - 1), "int32"),
    "uint32": (number("uint32", (1 << 32) - 1), "uint32"),
    "string": (sized(NUMBERS["string"], b"abc"), "string"),
    "bytes": (sized(NUMBERS["bytes"], b"\xff"), "bytes"),
}
CLOSED = {
    "negative int32": (number("int32", -1), "int32"),
    "negative int64": (number("int64", -1), "int64"),
    "ten bytes": (number("uint64", 1 << 63), "uint64"),
    "more than 32 bits": (number("uint32", 1 << 32), "uint32"),
    "int32 beyond its half": (number("int32", 1 << 31), "int32"),
    "sint32": (number("sint32", 3), "sint32"),
    "bool": (number("bool", 1), "bool"),
    "enum": (number("color", 7), "color"),
    "no text": (sized(NUMBERS["string"], b""), "string"),
    "no bytes": (sized(NUMBERS["bytes"], b""), "bytes"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_may_differ(name: str) -> None:
    data, key = OPEN[name]
    builder, found = read(data)
    assert type(found[key]) in (Integer, Text, Bytes)
    assert not any(builder.fixed[-1:])
    assert filled(found) == decode(data, 0, len(data), OUTER)
    assert all(builder.fixed), "asked for, it is pinned"


@pytest.mark.parametrize("name", CLOSED)
def test_what_must_be_the_same(name: str) -> None:
    data, key = CLOSED[name]
    builder, found = read(data)
    assert type(found[key]) not in (Integer, Text, Bytes)
    assert all(builder.fixed)
    assert found == decode(data, 0, len(data), OUTER)


@pytest.mark.parametrize("name", ["uint32", "int32"])
def test_others_must_fit_the_type_too(name: str) -> None:
    (condition,) = read(number(name, 5))[0].conditions
    assert (condition.name, condition.outcome) == ("gt", False)
    assert condition.other == {"uint32": (1 << 32) - 1, "int32": (1 << 31) - 1}[name]


REFUSED = {
    "a secret text": sized(23, b"hush"),
    "secret bytes": sized(24, b"hush"),
    "text that is not plain": sized(NUMBERS["string"], "größe".encode()),
    "text that is none": sized(NUMBERS["string"], b"\xff"),
    "a field that nobody knows beside secrets": tagged(901, 0, b"\5"),
    "a required field missing": sized(21, b""),
    "text beyond the end": varint(NUMBERS["string"] << 3 | 2) + b"\x05a",
    "a message beyond the end": varint(21 << 3 | 2) + b"\x05\x08",
    "a message longer than the one around it": sized(21, b"\x08\x01\x12\x09"),
    "half a number": varint(NUMBERS["uint64"] << 3) + b"\x80",
    "half a tag": b"\x80",
    "field 0": b"\0\0",
    "more fields than anybody reads": number("uint64", 1) * (MOST + 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stands_for_itself(name: str) -> None:
    with pytest.raises((NotTemplatable, *FAILURES)):
        read(REFUSED[name])


def test_sizes_of_what_is_open_may_differ_and_others_not() -> None:
    data = sized(1, number_of(5)) + sized(1, number_of(300))
    builder, _ = read(data, SEVERAL)
    assert [(extent.begin, extent.end) for extent in builder.extents] == [(2, 4), (6, 9)]
    assert [term.at for term in builder.flowing] == [3, 7]
    builder, _ = read(sized(22, number_of(1 << 63)))
    assert (builder.extents, all(builder.fixed)) == ([], True)


def number_of(value: int) -> bytes:
    """An Inner."""
    return field(1, value)


def test_unknown_fields_are_retained() -> None:
    data = number_of(1 << 63) + tagged(900, 2, b"\3abc") + tagged(901, 0, b"\5") + tagged(902, 3, varint(902 << 3 | 4))
    builder, found = read(data, INSIDE)
    assert type(found["_unknownFields"][0]["data"]) is Bytes
    assert filled(found) == decode(data, 0, len(data), INSIDE)
    assert all(read(number_of(1 << 63) + tagged(901, 0, b"\5"), INSIDE)[0].fixed)
    assert builder.stretches[0].extent.end - builder.stretches[0].extent.begin == 3


@given(st.sampled_from([data for data, _ in CASES.values()]), st.data())
def test_bytes_that_changed(data: bytes, chosen: st.DataObject) -> None:
    """Whatever the bytes are: the decoder's values, or none. Nothing else is raised."""
    content = bytearray(data + number("uint64", 7) + sized(NUMBERS["string"], b"abc") + sized(21, number_of(9)))
    for _ in range(chosen.draw(st.integers(1, 3))):
        content[chosen.draw(st.integers(0, len(content) - 1))] = chosen.draw(st.integers(0, 255))
    try:
        _, found = read(bytes(content))
    except (NotTemplatable, *FAILURES):
        return
    assert repr(filled(found)) == repr(decode(bytes(content), 0, len(content), OUTER))
