"""Protocol Buffers to nodes with places and errors; protobuf_values.py is faster.

Theory. A leaf spans tag, length and value. A message is a struct whose own tag and length are leaves in it. Other
fields may interrupt a repeated field, so each unbroken run of it is an array, and the index continues from run to run;
packed values are in such a run without tags of their own. Damage loses everything behind it, because tags are found
only one after the other. A missing required field affects nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dissectors.errors import MalformedField, TooLarge, TruncatedField
from dissectors.field import FieldSpec
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf import BYTES, DEPTH, MessageType, ProtoField
from dissectors.wire.protobuf_values import decode, unknown_span
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LENGTH, TAG, UnknownField, element
from dissectors.wire.varint import Unfit, uvarint


def read_fields(reader: Reader, message: MessageType, whole: bool, depth: int = DEPTH) -> None:
    """Reads a message's fields, up to the reader's end, into the node that is open.

    `whole` false: bytes of it are missing at the end, so nothing is said of missing fields. Raises DecodeError.
    """
    if not depth:
        raise TooLarge(reader.path(), reader.at, "lies too deep in messages")
    seen: set[str] = set()
    counts: dict[int, int] = {}
    while reader.at < reader.end:
        reader.require_nodes(1, "")
        tag, at = reader.uvarint(reader.at, "tag")
        field = message.row(tag)
        if field is None or (tag in message.former and not _is_former(reader, field, at, depth)):
            _unknown(reader, tag, at, message.sensitive)
            continue
        seen.add(field.name)
        if field.many is None:
            _value(reader, field, field.spec, at, depth)
        else:
            counts[field.number] = _run(reader, field, counts.get(field.number, 0), depth)
    if whole and not message.required <= seen:
        _say_missing(reader, message, message.required - seen)


def _is_former(reader: Reader, field: ProtoField, at: int, depth: int) -> bool:
    """Whether a value is surely what its number stood for once: a whole message of that kind."""
    if field.message is None:
        return True
    try:
        size, begin = uvarint(reader.data, at)
        stop = begin + size
        return stop <= reader.end and bool(decode(reader.data, begin, stop, field.message, depth - 1))
    except FAILURES:
        return False


def _takes(field: ProtoField, wire: int) -> bool:
    return wire == field.wire or (wire == BYTES and field.many is not None)


def _say_missing(reader: Reader, message: MessageType, names: set[str]) -> None:
    """One finding for the first message that lacks something: a hostile one may have many."""
    what = f"lacks {', '.join(sorted(names))}, which must be there"
    error = MalformedField(reader.path() or message.name, reader.at, what)
    if not any(finding.code == error.code for finding in reader.tree.findings):
        reader.find(error)


def _run(reader: Reader, field: ProtoField, index: int, depth: int) -> int:
    """Occurrences of a repeated field that stand next to each other, the first as number `index`; their end."""
    assert field.many is not None
    reader.enter(field.many)
    while reader.at < reader.end:
        reader.require_nodes(1, "")
        tag, at = reader.uvarint(reader.at, "tag")
        if tag >> 3 != field.number or not _takes(field, tag & 7):
            break
        if tag & 7 == field.wire:
            _value(reader, field, _element(field, index), at, depth)
            index += 1
        else:
            index = _read_packed(reader, field, at, index)
    reader.leave()
    return index


def _element(field: ProtoField, index: int) -> FieldSpec:
    return element(index, field.spec.type, field.spec.label, field.spec.secret)


def _read_packed(reader: Reader, field: ProtoField, at: int, index: int) -> int:
    size, content = reader.uvarint(at, "length")
    reader.need(size, content, "")
    reader.leaf(TAG, field.number, at)
    reader.leaf(LENGTH["uvarint"], size, content)
    before, reader.end = reader.end, content + size
    while reader.at < reader.end:
        reader.require_nodes(1, "")
        spec = _element(field, index)
        value, stop = _scalar(reader, field, spec, reader.at)
        reader.leaf(spec, value, stop)
        index += 1
    reader.end = before
    return index


def _value(reader: Reader, field: ProtoField, spec: FieldSpec, at: int, depth: int) -> None:
    """One value, whose node begins at the cursor and whose content begins at `at`, behind the tag."""
    if field.wire != BYTES:
        value, stop = _scalar(reader, field, spec, at)
        reader.leaf(spec, value, stop, at - reader.at)
        return
    size, content = reader.uvarint(at, spec.name)
    if field.message is None:
        reader.need(size, content, spec.name)
        stop = content + size
        reader.leaf(spec, _convert(field, reader.data[content:stop]), stop, content - reader.at)
        return
    reader.enter(spec)
    reader.leaf(TAG, field.number, at)
    reader.leaf(LENGTH["uvarint"], size, content)
    read_within(reader, field.message, size, depth - 1)
    reader.leave()


def read_within(reader: Reader, message: MessageType, size: int, depth: int = DEPTH) -> None:
    """Reads a message of `size` bytes at the cursor; one that the source cuts short as far as it goes."""
    at, before = reader.at, reader.end
    available = before - at
    reader.end = at + min(size, available)
    read_fields(reader, message, size <= available, depth)
    reader.end = before
    if size > available:
        raise TruncatedField(reader.path() or message.name, at, size, available)


def _scalar(reader: Reader, field: ProtoField, spec: FieldSpec, at: int) -> tuple[Any, int]:
    """A number at an offset, and the offset behind it."""
    value: Any
    if field.layout is None:
        value, stop = reader.uvarlong(at, spec.name)
    else:
        reader.need(field.layout.size, at, spec.name)
        (value,), stop = field.layout.unpack_from(reader.data, at), at + field.layout.size
    return value if field.convert is None else field.convert(value), stop


def _convert(field: ProtoField, content: bytes) -> object:
    """Text that is not UTF-8 stays bytes."""
    if field.convert is None:
        return content
    try:
        return field.convert(content)
    except UnicodeDecodeError:
        return Secret(content) if field.spec.secret else content


def _unknown(reader: Reader, tag: int, at: int, secret: bool) -> None:
    """A field that is in no table, or in another wire type."""
    number, wire = tag >> 3, tag & 7
    name = f"field {number}"
    try:
        begin, content_end, stop = unknown_span(reader.data, at, reader.end, tag)
    except IndexError:
        raise TruncatedField(reader.path(name), at, reader.end - at + 1, reader.end - at) from None
    except Unfit:
        raise MalformedField(reader.path(name), reader.at, f"has wire type {wire}, or is broken") from None
    value = reader.data[begin:content_end]
    reader.leaf(_unknown_spec(number, wire, secret), Secret(value) if secret else value, stop, begin - reader.at)


@lru_cache(maxsize=256)
def _unknown_spec(number: int, wire: int, secret: bool) -> UnknownField:
    return UnknownField(f"_field{number}", _WIRE_TYPES[wire], None, secret, number, wire)


_WIRE_TYPES = ("varint", "fixed64", "bytes", "group", "", "fixed32")
