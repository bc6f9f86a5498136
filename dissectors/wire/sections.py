"""A message of sections, each behind its own size, read as plain values or as symbolic ones (dissectors.symbolic).

Theory. Some frames consist of Protocol Buffers messages behind sizes of four bytes, a checksum of the bytes behind it,
and a rest without a size of its own. One function of the protocol describes the layout for both readers here: it
compares values, and the reader reads them. The rest may hold a value that depends on all of its bytes, because it is
compressed or a batch; if values are symbolic, such a value belongs to one message only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Protocol

from dissectors.api import Body, Context
from dissectors.slotted import make_slotted
from dissectors.symbolic import MessageTemplate, NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import UVARINT, Checksum, Extent, Integer, Term
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.message_template import ReadContent, build_silent_template, decode_together
from dissectors.wire.protobuf import DEPTH, MessageType
from dissectors.wire.protobuf_template import ProtobufTemplater
from dissectors.wire.protobuf_values import decode
from dissectors.wire.varint import Unfit, uvarint

FREE = 1 << 20
"""Bytes of Protocol Buffers up to which nobody counts what may be in them."""

FIELD = 2
"""Bytes of the shortest field, whose value takes a hundred times as much."""

_WORD = 4

_MAGIC, _SIZE = Struct(">H"), Struct(">I")


@make_slotted
class SectionLayout:
    """A section of a frame.

    message: what it holds behind its size; None: the CRC-32C of all bytes that follow, which has no size. magic: the
    two bytes by which a section that may be missing is known; None for one that always stands there.
    """

    name: str
    message: MessageType | None
    magic: int | None


def find_sections(data: bytes, at: int, layouts: Sequence[SectionLayout]) -> Iterator[tuple[SectionLayout, int, int]]:
    """Finds the sections that stand from an offset on: the beginning of each behind magic and size, and its end.

    The end of the last one may lie behind the end of the data. Raises struct.error where the data ends before that.
    """
    for layout in layouts:
        if layout.magic is not None:
            if _MAGIC.unpack_from(data, at)[0] != layout.magic:
                continue
            at += _MAGIC.size
        size = _SIZE.size
        if layout.message is not None:
            size = _SIZE.unpack_from(data, at)[0]
            at += _SIZE.size
        yield layout, at, at + size
        at += size


class Sections(Protocol):
    """Reads a message from `begin` to `end` of `data`. All methods raise one of emit.FAILURES or NotTemplatable."""

    data: bytes
    begin: int
    end: int
    size: int
    """The number that the message begins with."""

    def inner(self, begin: int, at: int, end: int, message: MessageType) -> dict[str, Any]:
        """Decodes the message after the varint at `at`, in a section that begins at `begin` and ends with it."""

    def section(self, begin: int, end: int, message: MessageType) -> dict[str, Any]:
        """Decodes the message of a section; its size is in front of `begin`."""

    def checksum(self, at: int) -> dict[str, Any]:
        """Reads the CRC-32C at `at`, which is that of all bytes after it."""

    def rest(self, at: int) -> Any:
        """Returns the bytes from `at` to the end."""

    def content(self, at: int, read: ReadContent, numbers: tuple[Any, ...]) -> Any:
        """Decodes the bytes from `at` to the end with `read`, which gets `numbers` as plain numbers."""

    def embed(self, at: int, message: MessageType) -> Any:
        """Decodes the bytes from `at` to the end as a message."""


class PlainSections:
    """Implements Sections for the bytes of one message: its values are plain, not symbolic."""

    __slots__ = ("begin", "data", "end", "size")

    def __init__(self, data: bytes) -> None:
        self.data, self.begin, self.end = data, 0, len(data)
        self.size = int.from_bytes(data[:_WORD])

    def inner(self, begin: int, at: int, end: int, message: MessageType) -> dict[str, Any]:
        """Decodes the message behind the varint at `at`, which ends with its section. Raises one of FAILURES."""
        return self._message(uvarint(self.data, at)[1], end, message, DEPTH - 1)

    def section(self, begin: int, end: int, message: MessageType) -> dict[str, Any]:
        """Decodes the message from `begin` to `end`. Raises one of FAILURES."""
        return self._message(begin, end, message, DEPTH)

    def _message(self, begin: int, end: int, message: MessageType, depth: int) -> dict[str, Any]:
        """One with too many fields is out of the ordinary, too."""
        if end > self.end or (end - begin > FREE and not Budget().take((end - begin) // FIELD)):
            raise Unfit
        return decode(self.data, begin, end, message, depth)

    def checksum(self, at: int) -> dict[str, Any]:
        """Returns the CRC-32C at `at`, which must be that of all bytes behind it. Raises Unfit."""
        return {"value": _sound(self.data, at, self.end), "valid": True}

    def rest(self, at: int) -> Any:
        """Returns the bytes from `at` to the end."""
        return self.data[at:]

    def content(self, at: int, read: ReadContent, numbers: tuple[Any, ...]) -> Any:
        """Decodes the bytes from `at` to the end with `read`. Raises one of FAILURES."""
        return read(self.data[at:], numbers, Budget())

    def embed(self, at: int, message: MessageType) -> Any:
        """Returns the bytes from `at` to the end with the message that they hold. Raises one of FAILURES."""
        return EmbeddedValue(self.data[at:], self.section(at, self.end, message), message.name)


class SymbolicSections:
    """Implements Sections with symbolic values.

    The template's data can be two messages one after the other: `begin` and `end` are one of them.
    """

    def __init__(self, builder: TemplateBuilder, begin: int, end: int) -> None:
        self.data, self.begin, self.end = builder.data, begin, end
        self.size: Any = builder.encloses(Term(begin, _WORD, "I"), 0, begin + _WORD, end)
        self._builder, self._reader = builder, ProtobufTemplater(builder)
        self._sizes: list[Term] = []

    def inner(self, begin: int, at: int, end: int, message: MessageType) -> dict[str, Any]:
        """Returns the symbolic values of the message behind the varint at `at`.

        Raises NotTemplatable or one of FAILURES.
        """
        body = uvarint(self.data, at)[1]
        found = self._reader.part(Term(at, body - at, UVARINT), body, end, message, DEPTH - 1)
        self._sizes.append(Term(begin - _WORD, _WORD, "I"))
        self._builder.encloses(self._sizes[-1], 0, begin, end)
        return found

    def section(self, begin: int, end: int, message: MessageType) -> dict[str, Any]:
        """The symbolic values of the message from `begin` to `end`. Raises NotTemplatable or one of FAILURES."""
        if end > self.end:
            raise NotTemplatable
        term = Term(begin - _WORD, _WORD, "I")
        found = self._reader.part(term, begin, end, message)
        self._sizes.append(term)
        return found

    def checksum(self, at: int) -> dict[str, Any]:
        """Returns the symbolic CRC-32C at `at`, which is checked for each message. Raises Unfit."""
        value = _sound(self.data, at, self.end)
        self._builder.checksums.append(Checksum(at, at + _WORD, self.end))
        return {"value": self._builder.integer(Term(at, _WORD, "I"), value), "valid": True}

    def rest(self, at: int) -> Any:
        """Returns the symbolic bytes from `at` to the end."""
        return self._builder.bytes(self._extent(at))

    def content(self, at: int, read: ReadContent, numbers: tuple[Any, ...]) -> Any:
        """Makes a nested value: `read` decodes the bytes of each message. Raises NotTemplatable."""
        if at == self.end or not all(type(each) is Integer for each in numbers):
            raise NotTemplatable
        read_many = decode_together(read)
        (value,) = read_many([self.data[at : self.end]], [tuple(each.value for each in numbers)])
        if value is None:
            raise NotTemplatable
        return self._builder.add_nested(self._extent(at), read_many, value, numbers)

    def embed(self, at: int, message: MessageType) -> Any:
        """Raises NotTemplatable: few messages have one, so each stands for itself."""
        raise NotTemplatable

    def _extent(self, at: int) -> Extent:
        """What is left from a place on: the message's size, less those of its sections and of what has none."""
        sizes = [int.from_bytes(self.data[term.at : term.at + term.size]) for term in self._sizes]
        bias = at - self.begin - _WORD - sum(sizes)
        return Extent(Term(self.begin, _WORD, "I"), bias, at, self.end, tuple(self._sizes))


def _sound(data: bytes, at: int, end: int) -> int:
    """The checksum at a place. Raises Unfit where the bytes behind it have another."""
    from dissectors.wire.checksum import crc32c  # few messages have one

    value = int.from_bytes(data[at : at + _WORD])
    if crc32c(memoryview(data)[at + _WORD : end]) != value:
        raise Unfit
    return value


def symbolic(
    read: Callable[[Sections], dict[str, Any]],
    body: Callable[[dict[str, Any], Sections, Context], Body],
    message: bytes,
    context: Context,
    request: tuple[bytes, Context] | None,
) -> MessageTemplate | None:
    """Makes the result of Dissector.template: `read` reads a message, and `body` makes a Body of its values.

    None for a message that fits no template, for example one with a finding.
    """

    def read_message(builder: TemplateBuilder, begin: int, end: int, context: Context) -> Body:
        sections = SymbolicSections(builder, begin, end)
        values = read(sections)
        return Body(values, None) if begin else body(values, sections, context)

    return build_silent_template(read_message, message, context, request)
