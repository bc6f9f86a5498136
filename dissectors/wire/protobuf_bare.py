"""Protocol Buffers without a table: fields by number, as far as the wire format alone tells them.

Theory. A field tells the length of its value but not its meaning, so the reader is strict: it accepts fields to the
last byte, with plausible numbers in ascending order, as all serializers write them. Bytes that are not text and consist
of such fields are read as a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dissectors.field import FieldSpec
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf import BYTES, FIXED32, FIXED64, VARINT
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec
from dissectors.wire.varint import Unfit, uvarint, uvarlong

DEPTH = 8
"""Messages within messages that are guessed."""

_MOST_FIELDS = 4096
_LARGEST_NUMBER = 1 << 16
_LENGTH = LayoutSpec("length", "uvarint")
_WIRE = {VARINT: "varint", FIXED64: "fixed64", BYTES: "bytes", FIXED32: "fixed32"}


class _Span(NamedTuple):
    """A field: its number and wire type, where its value begins and where it ends."""

    number: int
    wire: int
    begin: int
    stop: int


def is_message(data: bytes, at: int = 0, least: int = 1) -> bool:
    """Returns whether the bytes from `at` are at least so many fields, and nothing else."""
    try:
        return len(list(_spans(data, at, len(data)))) >= least
    except FAILURES:
        return False


def _spans(data: bytes, at: int, end: int) -> Iterator[_Span]:
    """The fields of a message, in ascending order, to the last byte. Raises one of FAILURES where that is not so."""
    last = 1
    for _ in range(_MOST_FIELDS):
        if at == end:
            return
        tag, begin = uvarint(data, at)
        number, wire = tag >> 3, tag & 7
        stop = begin
        if wire == VARINT:
            _, stop = uvarlong(data, begin)
        elif wire == BYTES:
            size, begin = uvarint(data, begin)
            stop = begin + size
        elif wire in (FIXED32, FIXED64):
            stop = begin + (4 if wire == FIXED32 else 8)
        else:
            raise Unfit
        if not last <= number < _LARGEST_NUMBER or stop > end:
            raise Unfit
        yield _Span(number, wire, begin, stop)
        last, at = number, stop
    raise Unfit


def read_bare(reader: Reader, end: int, depth: int = DEPTH) -> None:
    """Reads the fields up to `end`, of which is_message() said that there are some."""
    for span in list(_spans(reader.data, reader.at, end)):
        content = reader.data[span.begin : span.stop]
        spec = _spec(span.number, span.wire)
        value: object = content
        if span.wire == VARINT:
            value, _ = uvarlong(reader.data, span.begin)
        elif span.wire != BYTES:
            value = int.from_bytes(content, "little")
        elif depth and not _text(content) and is_message(content):
            reader.enter(_make_nested_spec(span.number))
            reader.leaf(_LENGTH, len(content), span.begin)
            read_bare(reader, span.stop, depth - 1)
            reader.leave()
            continue
        reader.leaf(spec, value, span.stop, span.begin - reader.at)


def _text(content: bytes) -> str | None:
    """The text that bytes are, without controls; None for bytes that are none, or no bytes."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if text and text.isprintable() else None


@lru_cache(maxsize=256)
def _spec(number: int, wire: int) -> FieldSpec:
    return FieldSpec(f"field {number}", _WIRE[wire], _text if wire == BYTES else None)


@lru_cache(maxsize=256)
def _make_nested_spec(number: int) -> FieldSpec:
    return FieldSpec(f"field {number}", "struct")
