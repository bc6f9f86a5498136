"""The payloads of users' records, as far as they say themselves what they are: JSON, and Schema Registry's framing.

Theory. A record's key and value are anybody's bytes, so this is a reading, for trees alone: the value stays the bytes.
JSON is what a strict parser takes, an object or an array, whole.

Facts (Confluent's wire format). Behind a zero byte stands a schema's id, an int32, and behind that the payload: JSON,
Avro, or Protocol Buffers after the path of the message in its schema (a count and as many indexes, zig-zag varints; a
lone 0 for the first message). The framing has no checksum, and much that is binary begins with a zero, so it needs
evidence:

- an id from 1 on, and a payload behind it; so no int32 and no small int64;
- JSON there, or fields of Protocol Buffers to the last byte in ascending order, each of a possible number: enough;
- else (Avro shows nothing) an id below 2^24, and not what may as well be numbers of 64 bits: a length that is a
  multiple of eight, with nothing in it that speaks for text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeAlias

from dissectors.field import FieldSpec
from dissectors.wire.emit import FAILURES
from dissectors.wire.json_text import DEPTH, read_json
from dissectors.wire.protobuf_bare import is_message, read_bare
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many
from dissectors.wire.varint import Unfit, uvarint, zigzag

MOST = 256 * 1024
"""Bytes of payloads of one message that are taken apart: a node costs far more than the bytes it shows."""

Read: TypeAlias = Callable[[Reader], None]
"""Adds nodes from the reader's place to its end."""

_MAGIC = FieldSpec("magic", "int8")
_SCHEMA_ID = FieldSpec("schemaId", "int32", lambda number: f"Schema Registry, schema {number}")
_INDEXES = Many("messageIndexes", "array")
_PROTOBUF = FieldSpec("protobuf", "struct", lambda _: "by the wire format alone")
_AVRO = FieldSpec("payload", "bytes")
_HEAD = 5
_MOST_INDEXES = 32
_LARGEST_ID = 1 << 24
_TEXT = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_INNERMOST = re.compile(rb"\[\]|\{\}")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Payloads:
    """Those of one message, up to a bound. nodes: that its tree may still have; there are at most two for a byte."""

    def __init__(self, nodes: int) -> None:
        self.left = min(MOST, nodes // 2)

    def reading(self, data: bytes) -> Read | None:
        """What adds the nodes of a payload; None where it stays bytes."""
        if len(data) > self.left:
            return None
        read = _json(data) or _registered(data)
        if read is not None:
            self.left -= len(data)
        return read


def _json(data: bytes) -> Read | None:
    if data.lstrip(b" \t\r\n")[:1] not in (b"{", b"[") or not _is_strict(data):
        return None
    if _is_too_deep(data):
        return None
    return lambda reader: read_json(reader, "json")


def _is_too_deep(data: bytes) -> bool:
    """Whether strict JSON nests deeper than is read: its brackets, layer by layer from within."""
    if data.count(b"{") + data.count(b"[") <= DEPTH:
        return False
    brackets = _TEXT.sub(b"", data).translate(None, _NO_BRACKETS)
    for _ in range(DEPTH):
        brackets = _INNERMOST.sub(b"", brackets)
    return bool(brackets)


def _is_strict(data: bytes) -> bool:
    try:
        json.loads(data.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _registered(data: bytes) -> Read | None:
    """A payload behind a schema's id."""
    number = int.from_bytes(data[1:_HEAD], signed=True)
    if len(data) <= _HEAD or data[0] or number < 1:
        return None
    payload = data[_HEAD:]
    inner = _json(payload) or _protobuf(payload)
    if inner is None:
        if number >= _LARGEST_ID or (len(data) % 8 == 0 and not _speaks(payload)):
            return None
        inner = _rest

    def read(reader: Reader) -> None:
        reader.leaf(_MAGIC, 0, reader.at + 1)
        reader.leaf(_SCHEMA_ID, number, reader.at + 4)
        inner(reader)

    return read


def _rest(reader: Reader) -> None:
    reader.leaf(_AVRO, reader.data[reader.at : reader.end], reader.end)


def _speaks(payload: bytes) -> bool:
    """Whether there is a word in it: four printable characters in a row."""
    run = 0
    for byte in payload:
        run = run + 1 if 0x20 <= byte < 0x7F else 0
        if run == 4:
            return True
    return False


def _protobuf(data: bytes) -> Read | None:
    """Fields of Protocol Buffers behind the path of their message."""
    try:
        indexes, at = _message_indexes(data)
    except FAILURES:
        return None
    if not is_message(data, at):
        return None

    def read(reader: Reader) -> None:
        start = reader.at
        reader.leaf(_INDEXES, indexes, start + at)
        reader.enter(_PROTOBUF)
        read_bare(reader, reader.end)
        reader.leave()

    return read


def _message_indexes(data: bytes) -> tuple[list[int], int]:
    """The path of a message in its schema, and where it ends. Raises Unfit for what is none."""
    unsigned, at = uvarint(data, 0)
    count = zigzag(unsigned)
    if count == 0:
        return [0], at
    if not 0 < count <= _MOST_INDEXES:
        raise Unfit
    found = []
    for _ in range(count):
        unsigned, at = uvarint(data, at)
        found.append(zigzag(unsigned))
    if min(found) < 0:
        raise Unfit
    return found, at
