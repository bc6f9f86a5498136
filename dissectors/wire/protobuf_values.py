"""Protocol Buffers to plain values: the fast path beside protobuf_fields.py.

Theory. A field that no row describes, or whose wire type differs from its row's, keeps its number and bytes. If a
singular field comes several times, the last one counts. Anything unusual (a missing required field, text that is not
UTF-8, bytes that end too early) raises one of emit.FAILURES, at any place and without a reason; the field decoder then
reports the reason.
"""

from __future__ import annotations

from typing import Any

from dissectors.wire.protobuf import (
    BYTES,
    DEPTH,
    END_GROUP,
    FIXED32,
    FIXED64,
    GROUP,
    MANY,
    NUMBER,
    PACKED,
    STRUCT,
    TEXT,
    VARINT,
    MessageType,
    ProtoField,
)
from dissectors.wire.secret import Secret
from dissectors.wire.varint import Unfit, uvarint, uvarlong


def decode(  # noqa: C901
    d: bytes, p: int, end: int, message: MessageType, depth: int = DEPTH
) -> dict[str, Any]:
    """Returns the values of a message in d from p to end. Raises one of emit.FAILURES where it is out of the ordinary.

    It does not look whether a value runs over the end: p only grows, and is held against the end once. Long and flat on
    purpose: nearly all tags, lengths and numbers are varints of one byte, and are read in line.
    """
    if not depth:
        raise Unfit
    found: dict[str, Any] = {}
    actions = message.actions
    while p < end:
        tag = d[p]
        p += 1
        if tag > 127:
            tag, p = uvarint(d, p - 1)
        action = actions.get(tag)
        if action is None:
            p = _unknown(d, p, end, tag, found, message.sensitive)
            continue
        step, name, extra = action
        if step & 7 == NUMBER:
            value: Any = d[p]
            p += 1
            if value > 127:
                value, p = uvarlong(d, p - 1)
            if extra is not None:
                value = extra(value)
        elif step == PACKED:
            size, p = uvarint(d, p)
            found.setdefault(name, []).extend(decode_packed(d, p, p + size, extra))
            p += size
            continue
        elif step & 7 == STRUCT:
            value = extra.layout.unpack_from(d, p)[0]
            p += extra.layout.size
            if extra.convert is not None:
                value = extra.convert(value)
        else:
            size = d[p]
            p += 1
            if size > 127:
                size, p = uvarint(d, p - 1)
            if step & 7 == TEXT:
                value = d[p : p + size]
                if extra is not None:
                    value = extra(value)
            else:
                value = decode(d, p, p + size, extra, depth - 1)
            p += size
        if step < MANY:
            found[name] = value
        elif name in found:
            found[name].append(value)
        else:
            found[name] = [value]
    if p != end or not message.required <= found.keys():
        raise Unfit
    return found


def decode_packed(d: bytes, p: int, end: int, row: ProtoField) -> list[Any]:
    """Decodes the values of a packed repeated field."""
    found: list[Any] = []
    if row.layout is not None:
        if (end - p) % row.layout.size or end > len(d):
            raise Unfit
        found = [value for (value,) in row.layout.iter_unpack(d[p:end])]
    else:
        while p < end:
            value, p = uvarlong(d, p)
            found.append(value)
        if p != end:
            raise Unfit
    return found if row.convert is None else [row.convert(value) for value in found]


def _unknown(d: bytes, p: int, end: int, tag: int, found: dict[str, Any], secret: bool) -> int:
    """Keeps a field that is in no table; returns the offset behind it."""
    begin, stop, p = unknown_span(d, p, end, tag)
    data = Secret(d[begin:stop]) if secret else d[begin:stop]
    row = {"number": tag >> 3, "wireType": tag & 7, "data": data}
    found.setdefault("_unknownFields", []).append(row)
    return p


def unknown_span(d: bytes, p: int, end: int, tag: int) -> tuple[int, int, int]:
    """Returns where the value behind a tag begins and ends, and where the next field begins.

    Raises Unfit for a number or a wire type that is none, IndexError where the bytes end. A group ends with a tag of
    its own, and may hold groups.
    """
    wire = tag & 7
    if not tag >> 3:
        raise Unfit
    if wire == VARINT:
        _, stop = uvarlong(d, p)
    elif wire == BYTES:
        size, p = uvarint(d, p)
        stop = p + size
    elif wire in (FIXED32, FIXED64):
        stop = p + (8 if wire == FIXED64 else 4)
    elif wire == GROUP:
        return p, *_group_end(d, p, end, tag >> 3)
    else:
        raise Unfit
    if stop > end:
        raise IndexError
    return p, stop, stop


def _group_end(d: bytes, p: int, end: int, number: int) -> tuple[int, int]:
    """Where the content of a group ends, and where its end tag does."""
    unclosed = [number]
    while p < end:
        at = p
        tag, p = uvarint(d, p)
        if tag & 7 == GROUP:
            if len(unclosed) == DEPTH:
                raise Unfit
            unclosed.append(tag >> 3)
        elif tag & 7 != END_GROUP:
            p = unknown_span(d, p, end, tag)[2]
        elif unclosed.pop() != tag >> 3:
            raise Unfit
        elif not unclosed and p <= end:
            return at, p
    raise IndexError
