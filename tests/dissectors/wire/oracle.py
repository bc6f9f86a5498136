"""Random schemas, values that fit them, and an encoder written from the protocol guide alone: the engine's oracle.

The dialect is a test's own, so that nothing of Kafka's is taken for granted: fixed types, text and bytes with a length
of two or four bytes, or compact with a varint.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dissectors.wire import Dialect, FieldSchema, FixedWidth, Length, Schema, SizedBytes, Versions
from dissectors.wire.dialect import Primitive, Rest, Varint
from dissectors.wire.primitive import LENGTHS
from dissectors.wire.schema import MORE

FIXED = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "bool": "?"}
_INT16, _INT32, _UVARINT, _INT8 = (
    Length("int16", "h"),
    Length("int32", "i"),
    Length("uvarint", None, 1),
    Length("int8", "b"),
)


def _hex(raw: bytes) -> str:
    return raw.hex()


def _primitive(name: str, flexible: bool, nullable: bool) -> Primitive:
    if name in FIXED:
        return FixedWidth(name, FIXED[name])
    if name == "digest":
        return FixedWidth(name, "4s", _hex)
    if name == "rest":
        return Rest(name)
    if name == "uvarint":
        return Varint(name)
    if name == "string":
        return SizedBytes(name, _UVARINT if flexible else _INT16, nullable, bytes.decode)
    return SizedBytes(name, _UVARINT if flexible else _INT32, nullable)


DIALECT = Dialect(
    primitive=_primitive,
    count=lambda flexible: _UVARINT if flexible else _INT32,
    presence=lambda tagged: _UVARINT if tagged else _INT8,
    array=lambda flexible, nullable: "array",
    labels=lambda enum: None,
)

DEPTH = 2
_ALWAYS = Versions(0, 0)
_NEVER = Versions(0, -1)


@st.composite
def fields(draw: st.DrawFn, flexible: bool, depth: int) -> tuple[FieldSchema, ...]:
    """The members of a struct; tags are numbered without regard to order.

    A struct inside of another has at least a byte: elements without any are not counted beyond what is left.
    """
    count = draw(st.integers(1 if depth < DEPTH and not flexible else 0, 3))
    tags = draw(st.permutations(range(6)))
    members = []
    for index in range(count):
        tag = tags[index] if flexible and draw(st.booleans()) else None
        array = draw(st.booleans())
        inner = draw(fields(flexible, depth - 1)) if depth and draw(st.booleans()) else None
        kinds = ["struct"] if inner is not None else [*FIXED, "digest", "string", "bytes"]
        kind = draw(st.sampled_from(kinds))
        can_be_null = array or inner is not None or kind in ("string", "bytes")
        members.append(
            FieldSchema(
                name=f"f{depth}{index}",
                type=kind,
                versions=_ALWAYS,
                array=array,
                nullable=_ALWAYS if can_be_null and draw(st.booleans()) else _NEVER,
                tag=tag,
                tagged=_NEVER if tag is None else _ALWAYS,
                enum="error" if kind == "int16" and not array and draw(st.booleans()) else None,
                fields=inner,
            )
        )
    return tuple(
        members if flexible or not draw(st.booleans()) else [*members, *draw(conditional()), draw(part(depth))]
    )


@st.composite
def conditional(draw: st.DrawFn) -> tuple[FieldSchema, ...]:
    """A number made of bits, and a member that is there only where these say so."""
    values = draw(st.none() | st.frozensets(st.integers(0, 3), max_size=2))
    flags = FieldSchema("flags", "uint16", _ALWAYS, bits=(("one", 0x8000), ("two", 0x0006)))
    when = (draw(st.sampled_from(("one", "two"))), values)
    return flags, FieldSchema("chosen", draw(st.sampled_from(("int16", "string", "uvarint"))), _ALWAYS, when=when)


@st.composite
def part(draw: st.DrawFn, depth: int) -> FieldSchema:
    """A struct behind its length: keyed, or one that ends with what goes up to its end."""
    length = draw(st.sampled_from(("uint16", "uvarint")))
    if draw(st.booleans()):
        kinds = (("int16", False), ("string", True), ("uvarint", False))
        keyed = (FieldSchema(f"k{tag}", kind, _ALWAYS, array, tag=tag) for tag, (kind, array) in enumerate(kinds, 126))
        return FieldSchema(f"keyed{depth}", "struct", _ALWAYS, length=length, keyed=True, fields=tuple(keyed))
    last = draw(
        st.sampled_from(
            (
                FieldSchema("last", "rest", _ALWAYS),
                FieldSchema("last", "string", _ALWAYS, True, until_end=True),
                FieldSchema("last", "string", _ALWAYS, when=(MORE, None)),
            )
        )
    )
    return FieldSchema(f"part{depth}", "struct", _ALWAYS, length=length, fields=(*draw(fields(False, 0)), last))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    flexible = draw(st.booleans())
    return Schema("random", DIALECT, _ALWAYS, _ALWAYS if flexible else _NEVER, draw(fields(flexible, DEPTH)))


_TEXT = st.text(max_size=4) | st.just("x" * 130)
_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "digest": st.binary(min_size=4, max_size=4).map(bytes.hex),
    "string": _TEXT,
    "bytes": st.binary(max_size=5),
    "rest": st.binary(max_size=5),
    "uvarint": st.integers(0, 2**32 - 1),
}


def _value(field: FieldSchema, flexible: bool) -> st.SearchStrategy[Any]:
    if field.keyed:
        return keyed_values(field)
    single = _PLAIN[field.type] if field.fields is None else values(field.fields, flexible)
    whole = st.lists(single, max_size=4) if field.array else single
    return whole | st.none() if 0 in field.nullable else whole


@st.composite
def keyed_values(draw: st.DrawFn, field: FieldSchema) -> dict[str, Any]:
    """Some of the members, in any order; one that may come again is a list with something in it."""
    chosen = draw(st.permutations(field.fields or ()))[: draw(st.integers(0, 3))]
    lists = {each.name: st.lists(_PLAIN[each.type], min_size=1, max_size=3) for each in chosen if each.array}
    return {each.name: draw(lists.get(each.name, _PLAIN[each.type])) for each in chosen}


@st.composite
def values(draw: st.DrawFn, members: tuple[FieldSchema, ...], flexible: bool) -> dict[str, Any]:
    """Values of a struct: tagged members may be absent, unknown tags present."""
    drawn: dict[str, Any] = {}
    for member in members:
        if member.when is not None:
            name, wanted = member.when
            is_there = (
                draw(st.booleans()) if name == MORE else drawn[name] in wanted if wanted is not None else drawn[name]
            )
        else:
            is_there = member.tag is None or draw(st.booleans())
        if is_there:
            drawn[member.name] = draw(_value(member, flexible))
        for name, mask in member.bits:
            text = (drawn[member.name] & mask) // (mask & -mask)
            drawn[name] = bool(text) if mask & mask - 1 == 0 else text
    if flexible and draw(st.integers(0, 5)) == 0:
        drawn["_unknownTaggedFields"] = [{"tag": 200, "data": draw(st.binary(max_size=3))}]
    return drawn


@dataclass(frozen=True)
class Message:
    schema: Schema
    values: dict[str, Any]
    data: bytes


@st.composite
def messages(draw: st.DrawFn) -> Message:
    schema = draw(schemas())
    flexible = 0 in schema.flexible
    drawn = draw(values(schema.fields, flexible))
    return Message(schema, drawn, encode(schema.fields, drawn, flexible))


def uvarint(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def encode(members: tuple[FieldSchema, ...], drawn: dict[str, Any], flexible: bool) -> bytes:
    """A struct's bytes."""
    plain = [member for member in members if member.tag is None and (member.when is None or member.name in drawn)]
    data = b"".join(_member(member, drawn[member.name], flexible) for member in plain)
    if not flexible:
        return data
    tagged = [
        (member.tag, _member(member, drawn[member.name], True))
        for member in members
        if member.tag is not None and member.name in drawn
    ]
    tagged += [(unknown["tag"], unknown["data"]) for unknown in drawn.get("_unknownTaggedFields", ())]
    return data + uvarint(len(tagged)) + b"".join(uvarint(tag) + uvarint(len(raw)) + raw for tag, raw in tagged)


def _length(size: int, code: str, flexible: bool) -> bytes:
    return uvarint(size + 1) if flexible else struct.pack(">" + code, size)


def _member(member: FieldSchema, value: Any, flexible: bool) -> bytes:
    if member.until_end:
        return b"".join(_single(member, item, flexible) for item in value)
    if member.length is not None:
        inside = _keyed(member, value) if member.keyed else encode(member.fields or (), value, flexible)
        code = LENGTHS[member.length].code
        return (uvarint(len(inside)) if code is None else struct.pack(">" + code, len(inside))) + inside
    if member.array:
        if value is None:
            return _length(-1, "i", flexible)
        return _length(len(value), "i", flexible) + b"".join(_single(member, item, flexible) for item in value)
    if member.fields is not None and 0 in member.nullable:
        present = value is not None
        mark = uvarint(present) if member.tag is not None else struct.pack(">b", 1 if present else -1)
        return mark + (encode(member.fields, value, flexible) if present else b"")
    return _single(member, value, flexible)


def _keyed(member: FieldSchema, value: dict[str, Any]) -> bytes:
    """Each value behind its key, those of a list behind the same one."""
    named = {each.name: each for each in member.fields or ()}
    pairs = [(named[name], each) for name, one in value.items() for each in (one if named[name].array else [one])]
    return b"".join(uvarint(each.tag or 0) + _single(each, item, False) for each, item in pairs)


def _single(member: FieldSchema, value: Any, flexible: bool) -> bytes:
    if member.fields is not None:
        return encode(member.fields, value, flexible)
    if member.type in FIXED:
        return struct.pack(">" + FIXED[member.type], value)
    if member.type == "digest":
        return bytes.fromhex(value)
    if member.type == "uvarint":
        return uvarint(value)
    if member.type == "rest":
        return bytes(value)
    code = "h" if member.type == "string" else "i"
    if value is None:
        return _length(-1, code, flexible)
    raw = value.encode() if isinstance(value, str) else value
    return _length(len(raw), code, flexible) + raw
