"""Protocol Buffers by a table of its own: every type, every way to write it, both decoders."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.protobuf import Library
from dissectors.wire.protobuf_fields import read_fields
from dissectors.wire.protobuf_values import decode
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import members
from tests.dissectors.trees import assert_tiles

TYPES = (
    *("uint64", "int64", "uint32", "int32", "sint32", "sint64", "bool", "double", "fixed64", "sfixed64"),
    *("float", "fixed32", "sfixed32", "string", "bytes"),
)
NUMBER = {kind: number for number, kind in enumerate(TYPES, 1)}
ROWS: list[dict[str, Any]] = [
    *({"number": number, "name": kind, "type": kind, "label": "optional"} for kind, number in NUMBER.items()),
    *({"number": 100 + at, "name": f"{kind}s", "type": kind, "label": "repeated"} for kind, at in NUMBER.items()),
    {"number": 20, "name": "color", "type": "enum", "of": "Color", "label": "optional"},
    {"number": 21, "name": "inner", "type": "message", "of": "Inner", "label": "optional"},
    {"number": 22, "name": "inners", "type": "message", "of": "Inner", "label": "repeated"},
    {"number": 23, "name": "private", "type": "message", "of": "Private", "label": "optional"},
    {"number": 25, "name": "now", "type": "bool", "label": "optional"},
    {"number": 25, "name": "once", "type": "message", "of": "Inner", "label": "repeated", "former": True},
]  # fmt: skip
INNER = [{"number": 1, "name": "id", "type": "uint64", "label": "required"}]
PRIVATE = [
    {"number": 1, "name": "token", "type": "string", "label": "optional", "secret": True},
    {"number": 2, "name": "key", "type": "bytes", "label": "optional", "secret": True},
]
LIBRARY = Library(
    {"Outer": ROWS, "Inner": INNER, "Private": PRIVATE}, {"Color": {"0": "RED", "7": "BLUE"}}, lambda shown: str
)
OUTER = LIBRARY.message("Outer")


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def tagged(number: int, wire: int, data: bytes) -> bytes:
    return varint(number << 3 | wire) + data


def sized(number: int, data: bytes) -> bytes:
    return tagged(number, 2, varint(len(data)) + data)


MINUS_ONE = varint(2**64 - 1)

# type: the bytes of a value, and the value
VALUES: dict[str, list[tuple[bytes, Any]]] = {
    "uint64": [(varint(0), 0), (varint(2**63), 2**63), (MINUS_ONE, 2**64 - 1), (b"\x80\x00", 0)],
    "int64": [(varint(5), 5), (MINUS_ONE, -1), (varint(2**63), -(2**63))],
    "uint32": [(varint(2**32 - 1), 2**32 - 1), (MINUS_ONE, 2**32 - 1)],
    "int32": [(varint(7), 7), (MINUS_ONE, -1), (varint(2**32 - 1), -1), (varint(2**64 - 2**31), -(2**31))],
    "sint32": [(varint(1), -1), (varint(2**32 - 1), -(2**31))],
    "sint64": [(varint(2), 1), (MINUS_ONE, -(2**63))],
    "bool": [(varint(0), False), (varint(1), True), (varint(300), True)],
    "double": [(struct.pack("<d", 0.5), 0.5), (struct.pack("<d", float("inf")), NonFinite("inf"))],
    "fixed64": [(b"\xff" * 8, 2**64 - 1)],
    "sfixed64": [(b"\xff" * 8, -1)],
    "float": [(struct.pack("<f", -0.5), -0.5)],
    "fixed32": [(b"\xff" * 4, 2**32 - 1)],
    "sfixed32": [(b"\xff" * 4, -1)],
    "string": [(varint(3) + "tö".encode(), "tö"), (varint(0), "")],
    "bytes": [(varint(2) + b"\xff\x00", b"\xff\x00")],
}
WIRE = dict.fromkeys(("double", "fixed64", "sfixed64"), 1) | dict.fromkeys(("float", "fixed32", "sfixed32"), 5)
WIRE |= {"string": 2, "bytes": 2}


def fields(data: bytes) -> Tree:
    reader = Reader.start(data, Budget())
    reader.guard(lambda each: read_fields(each, OUTER, whole=True), len(data))
    assert_tiles(reader.tree)
    return reader.tree


def read(data: bytes) -> dict[str, Any]:
    """What both decoders say."""
    found, tree = decode(data, 0, len(data), OUTER), fields(data)
    assert tree.findings == []
    assert members(tree.fields) == found
    return found


@pytest.mark.parametrize("kind", TYPES)
def test_every_type(kind: str) -> None:
    for data, value in VALUES[kind]:
        found = read(tagged(NUMBER[kind], WIRE.get(kind, 0), data))[kind]
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("kind", TYPES)
def test_repeated_ones_in_any_form(kind: str) -> None:
    number, wire, expected = 100 + NUMBER[kind], WIRE.get(kind, 0), [value for _, value in VALUES[kind]]
    apart = [tagged(number, wire, data) for data, _ in VALUES[kind]]
    other = tagged(NUMBER["bool"], 0, b"\x01")
    assert read(b"".join(apart)) == {f"{kind}s": expected}
    assert read(other.join([b"", *apart])) == {f"{kind}s": expected, "bool": True}
    if wire != 2:
        packed = sized(number, b"".join(data for data, _ in VALUES[kind]))
        assert read(packed) == {f"{kind}s": expected}
        assert read(apart[0] + packed + other + packed) == {
            f"{kind}s": expected[:1] + expected + expected,
            "bool": True,
        }
        assert read(sized(number, b"")) == {f"{kind}s": []}


CASES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "nothing": (b"", {}),
    "an enum by name": (tagged(20, 0, b"\x07"), {"color": "BLUE"}),
    "an enum without a name": (tagged(20, 0, b"\x08"), {"color": 8}),
    "an enum of too many bits": (tagged(20, 0, varint(2**32 + 7)), {"color": "BLUE"}),
    "a message": (sized(21, b"\x08\x05"), {"inner": {"id": 5}}),
    "several": (sized(22, b"\x08\x05") + sized(22, b"\x08\x06"), {"inners": [{"id": 5}, {"id": 6}]}),
    "the last counts": (sized(21, b"\x08\x05") + sized(21, b"\x08\x06"), {"inner": {"id": 6}}),
    "secrets": (
        sized(23, sized(1, b"a") + sized(2, b"b")),
        {"private": {"token": Secret("a"), "key": Secret(b"b")}},
    ),
    "unknown beside a secret": (
        sized(23, sized(60, b"x") + tagged(61, 0, b"\x05")),
        {
            "private": {
                "_unknownFields": [
                    {"number": 60, "wireType": 2, "data": Secret(b"x")},
                    {"number": 61, "wireType": 0, "data": Secret(b"\x05")},
                ]
            }
        },
    ),
    "unknown above a secret": (
        sized(60, b"x"),
        {"_unknownFields": [{"number": 60, "wireType": 2, "data": Secret(b"x")}]},
    ),
    "unknown": (
        sized(
            21,
            b"\x08\x05" + tagged(60, 0, b"\x05") + tagged(61, 1, bytes(8)) + sized(62, b"x") + tagged(63, 5, bytes(4)),
        ),
        {
            "inner": {
                "id": 5,
                "_unknownFields": [
                    {"number": 60, "wireType": 0, "data": b"\x05"},
                    {"number": 61, "wireType": 1, "data": bytes(8)},
                    {"number": 62, "wireType": 2, "data": b"x"},
                    {"number": 63, "wireType": 5, "data": bytes(4)},
                ],
            }
        },
    ),
    "a number that means something else now": (tagged(25, 0, b"\x01"), {"now": True}),
    "what it meant before": (sized(25, b"\x08\x05") + sized(25, b"\x08\x06"), {"once": [{"id": 5}, {"id": 6}]}),
    "both, and others between": (
        sized(25, b"\x08\x05") + tagged(25, 0, b"\x00") + sized(25, b"\x08\x06"),
        {"once": [{"id": 5}, {"id": 6}], "now": False},
    ),
    "a group in a group": (
        tagged(60, 3, b"") + tagged(1, 0, b"\x05") + tagged(61, 3, b"") + tagged(61, 4, b"") + tagged(60, 4, b""),
        {
            "_unknownFields": [
                {
                    "number": 60,
                    "wireType": 3,
                    "data": Secret(tagged(1, 0, b"\x05") + tagged(61, 3, b"") + tagged(61, 4, b"")),
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_messages(case: str) -> None:
    data, expected = CASES[case]
    assert read(data) == expected


@pytest.mark.parametrize("content", [b"text", b"", b"\x08", b"\x10\x05", b"\x08\x05\x0c"])
def test_what_surely_is_not_what_a_number_meant_before_is_unknown(content: bytes) -> None:
    data = sized(25, content)
    with pytest.raises(FAILURES):
        decode(data, 0, len(data), OUTER)
    tree = fields(data)
    assert tree.findings == []
    assert members(tree.fields) == {"_unknownFields": [{"number": 25, "wireType": 2, "data": Secret(content)}]}


# what is wrong with it: bytes, and what the finding says
BROKEN: dict[str, tuple[bytes, str]] = {
    "field number 0": (b"\x00\x01", "field 0 at offset 0 has wire type 0"),
    "wire type 6": (b"\x0e", "field 1 at offset 0 has wire type 6"),
    "wire type 7": (b"\x0f", "field 1 at offset 0 has wire type 7"),
    "an end of no group": (b"\x0c", "field 1 at offset 0 has wire type 4"),
    "a group that ends as another": (tagged(60, 3, b"") + tagged(61, 4, b""), "field 60 at offset 0 has wire type 3"),
    "a group without end": (tagged(60, 3, b"") + tagged(1, 0, b"\x05"), "field 60 needs"),
    "a varint of eleven bytes": (tagged(1, 0, b"\x80" * 10 + b"\x01"), "is a varint of more than 10 bytes"),
    "a varint that is cut": (tagged(1, 0, b"\x80"), "uint64 needs 2 bytes"),
    "a tag that is cut": (b"\x80", "tag needs 2 bytes"),
    "text that is cut": (tagged(14, 2, b"\x05ab"), "string needs 5 bytes at offset 2, 2 are left"),
    "an unknown field that is cut": (tagged(60, 2, b"\x05ab"), "field 60 needs"),
    "a double that is cut": (tagged(8, 1, bytes(7)), "double needs 8 bytes"),
    "packed doubles of a broken size": (sized(108, bytes(12)), "doubles[1] needs 8 bytes"),
    "packed values that are cut": (tagged(101, 2, b"\x05\x01"), "uint64s needs 5 bytes"),
    "a message that is cut": (tagged(21, 2, b"\x05\x08\x05"), "inner needs 5 bytes at offset 3, 2 are left"),
    "a message that lacks its id": (sized(21, b""), "inner at offset 3 lacks id, which must be there"),
    "one of several that lacks it": (sized(22, b"\x08\x05") + sized(22, b""), "inners[1] at offset 8 lacks id"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_messages(case: str) -> None:
    data, text = BROKEN[case]
    with pytest.raises(FAILURES):
        decode(data, 0, len(data), OUTER)
    (finding,) = fields(data).findings
    assert finding.code == "malformed-body"
    assert text in finding.text


def test_text_that_is_none_stays_bytes() -> None:
    data = sized(14, b"\xff") + sized(23, sized(1, b"\xff"))
    with pytest.raises(FAILURES):
        decode(data, 0, len(data), OUTER)
    assert members(fields(data).fields) == {"string": b"\xff", "private": {"token": Secret(b"\xff")}}


@given(st.binary(max_size=40))
def test_what_one_decoder_reads_the_other_reads_alike(data: bytes) -> None:
    tree = fields(data)
    try:
        found = decode(data, 0, len(data), OUTER)
    except FAILURES:
        return
    assert tree.findings == []
    assert members(tree.fields) == found or "nan" in repr(found).lower()
