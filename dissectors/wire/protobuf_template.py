"""Protocol Buffers with symbolic values: a reader beside protobuf_values.py and protobuf_fields.py.

Theory. All messages must have the same fields in the same order. Numbers, texts and bytes may differ in value and
length, but a size must have the same number of bytes. Labels of numbers must be equal: enums and booleans must have the
same value, and a number must fit its type. Messages with secrets or with text that is not plain match no template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import FLOWING, UVARINT, WIDEST, Extent, Term
from dissectors.wire.protobuf import BYTES, DEPTH, MANY, NUMBER, PACKED, STRUCT, TEXT, MessageType, ProtoField
from dissectors.wire.protobuf_values import decode_packed, unknown_span
from dissectors.wire.varint import uvarint, uvarlong

MOST = 2000
"""Fields of one message beyond which nothing is like it."""

_ANY = (1 << 7 * WIDEST) - 1
_LARGEST = {"uint64": _ANY, "int64": _ANY, "uint32": (1 << 32) - 1, "int32": (1 << 31) - 1}
"""The numbers, by type, up to which a varint means itself; larger ones, and those of other types, are not left open."""


@dataclass(slots=True)
class ProtobufTemplater:
    """Reads messages out of `builder`. Raises NotTemplatable or one of emit.FAILURES."""

    builder: TemplateBuilder
    read: int = 0

    def message(self, at: int, end: int, message: MessageType, depth: int = DEPTH) -> dict[str, Any]:
        """Returns the symbolic values of the message from `at` to `end`."""
        found: dict[str, Any] = {}
        data = self.builder.data
        if not depth or end > len(data):
            raise NotTemplatable
        while at < end:
            tag, at = uvarint(data, at)
            action, row = message.actions.get(tag), message.row(tag)
            self.read += 1
            if self.read > MOST or (row is not None and row.spec.secret):
                raise NotTemplatable
            if action is None or row is None:
                if message.sensitive:
                    raise NotTemplatable
                at = self._unknown(at, end, tag, found)
                continue
            step, name, _ = action
            if step == PACKED:
                size, at = uvarint(data, at)
                found.setdefault(name, []).extend(decode_packed(data, at, at + size, row))
                at += size
                continue
            value, at = self._value(at, step & 7, row, depth)
            if step < MANY:
                found[name] = value
            else:
                found.setdefault(name, []).append(value)
        if at != end or not message.required <= found.keys():
            raise NotTemplatable
        return found

    def part(self, term: Term, begin: int, end: int, message: MessageType, depth: int = DEPTH) -> dict[str, Any]:
        """Returns the symbolic values of a message with its size in front. The size may differ if the content may."""
        before = self._open()
        found = self.message(begin, end, message, depth)
        if self._open() > before:
            self.builder.encloses(term, 0, begin, end)
        return found

    def _open(self) -> int:
        """How many things of no constant width there are so far."""
        return len(self.builder.stretches) + len(self.builder.flowing)

    def _value(self, at: int, step: int, row: ProtoField, depth: int) -> tuple[Any, int]:
        """One value, and where it ends."""
        data = self.builder.data
        if step == NUMBER:
            number, stop = uvarlong(data, at)
            return self._number(Term(at, stop - at, FLOWING), number, row), stop
        if step == STRUCT:
            assert row.layout is not None
            value = row.layout.unpack_from(data, at)[0]
            return value if row.convert is None else row.convert(value), at + row.layout.size
        extent = self._find_extent(at)
        if step == TEXT:
            return self._content(extent, row), extent.end
        assert row.message is not None
        return self.part(extent.term, extent.begin, extent.end, row.message, depth - 1), extent.end

    def _find_extent(self, at: int) -> Extent:
        size, begin = uvarint(self.builder.data, at)
        if begin + size > len(self.builder.data):
            raise NotTemplatable
        return Extent(Term(at, begin - at, UVARINT), 0, begin, begin + size)

    def _number(self, term: Term, number: int, row: ProtoField) -> Any:
        largest = _LARGEST.get(row.spec.type, -1)
        if number > largest or term.size > WIDEST:
            return number if row.convert is None else row.convert(number)
        symbol = self.builder.integer(term, number)
        if largest < _ANY and symbol > largest:  # asked, so that those of others are not, either
            raise NotTemplatable
        return symbol

    def _content(self, extent: Extent, row: ProtoField) -> Any:
        if row.convert is None:
            return self.builder.bytes(extent)
        if row.convert is not bytes.decode:
            raise NotTemplatable
        return self.builder.text(extent)

    def _unknown(self, at: int, end: int, tag: int, found: dict[str, Any]) -> int:
        """Keeps a field that is in no table; returns the offset behind it."""
        begin, stop, after = unknown_span(self.builder.data, at, end, tag)
        term = Term(at, begin - at, UVARINT)
        data = self.builder.bytes(Extent(term, 0, begin, stop)) if tag & 7 == BYTES else self.builder.data[begin:stop]
        found.setdefault("_unknownFields", []).append({"number": tag >> 3, "wireType": tag & 7, "data": data})
        return after
