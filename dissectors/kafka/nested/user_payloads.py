"""Self-describing payloads in users' records: JSON, and Schema Registry's framing.

Theory. A record's key and value are bytes of any application, so this is an interpretation, for trees alone: the value
stays bytes. JSON is a whole object or array that a strict parser accepts.

Facts (Confluent's wire format). A zero byte comes first, then a schema's id, an int32, then the payload: JSON, Avro, or
Protocol Buffers after the path of the message in its schema (a count and as many indexes, zig-zag varints; a lone 0 for
the first message). The framing has no checksum, and much binary data begins with a zero, so evidence is needed:

- an id from 1 on, and a payload behind it; so no int32 and no small int64;
- JSON there: enough;
- otherwise an id below 2^24, and nothing that fits another format as well: a length before as many bytes, or numbers.
  Runs of numbers contain no word, and have a size that is a multiple of four, or a zero in the last byte of the id;
- Protocol Buffers are fields to the last byte in ascending order, each with a possible number, and more than one or
  with a word. Avro has no marks of its own, so it is the remaining case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from dissectors.field import FieldSpec
from dissectors.wire.emit import FAILURES
from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import read_json
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
_WORD = re.compile(rb"[ -~]{4}")


class Payloads:
    """Those of one message, up to a bound. nodes: that its tree may still have; there are at most two for a byte."""

    def __init__(self, nodes: int) -> None:
        self.left = min(MOST, nodes // 2)

    def reading(self, data: bytes) -> Read | None:
        """Returns a function that adds the nodes of a payload; None for one that stays bytes."""
        if len(data) > self.left:
            return None
        read = _detect_json(data) or _detect_registered(data)
        if read is not None:
            self.left -= len(data)
        return read


def _detect_json(data: bytes) -> Read | None:
    if data.lstrip(b" \t\r\n")[:1] not in (b"{", b"[") or not is_json(data):
        return None
    return lambda reader: read_json(reader, "json")


def _detect_registered(data: bytes) -> Read | None:
    """A payload behind a schema's id."""
    number = int.from_bytes(data[1:_HEAD], signed=True)
    if len(data) <= _HEAD or data[0] or number < 1:
        return None
    payload = data[_HEAD:]
    inner = _detect_json(payload)
    if inner is None:
        words = _WORD.search(payload) is not None
        if number >= _LARGEST_ID or _is_length(data) or (not words and _may_be_numbers(data, number)):
            return None
        inner = _detect_protobuf(payload, 1 if words else 2) or _read_rest

    def add_nodes(reader: Reader) -> None:
        reader.leaf(_MAGIC, 0, reader.at + 1)
        reader.leaf(_SCHEMA_ID, number, reader.at + 4)
        inner(reader)

    return add_nodes


def _read_rest(reader: Reader) -> None:
    reader.leaf(_AVRO, reader.data[reader.at : reader.end], reader.end)


def _is_length(data: bytes) -> bool:
    """Whether the first four bytes count the rest, or all."""
    return int.from_bytes(data[:4]) in (len(data), len(data) - 4)


def _may_be_numbers(data: bytes, number: int) -> bool:
    """Whether these bytes, read as an id and a payload, may as well be integers side by side."""
    return len(data) % 4 == 0 or number & 0xFF == 0


def _detect_protobuf(data: bytes, least: int) -> Read | None:
    """At least so many fields of Protocol Buffers behind the path of their message."""
    try:
        indexes, at = _message_indexes(data)
    except FAILURES:
        return None
    if not is_message(data, at, least):
        return None

    def add_nodes(reader: Reader) -> None:
        start = reader.at
        reader.leaf(_INDEXES, indexes, start + at)
        reader.enter(_PROTOBUF)
        read_bare(reader, reader.end)
        reader.leave()

    return add_nodes


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
