"""Values that stand for those of many similar messages; their uses decide which messages a template fits.

Theory. Most messages differ from an earlier one in few things: an offset, a time, a name. A TemplateBuilder is made for
one message. It records which bytes another message must share, so that both have the same fields (counts, tags, nulls),
and which bytes may differ; texts and bytes may also have another length. The values that may differ are *symbolic*. The
code that formats values (as JSON, or as the summary line) runs once, and leaves a mark wherever it prints a symbolic
value. The texts of all messages that match are then columns (analyzer/decode/template_decoder.py).

The builder records every use of a symbolic value. Printing it leaves a mark. Comparing it with a number records a
condition: the comparison must have the same result for other messages. Any other use *specialises* the value: its bytes
must then be the same in other messages, and the code gets the plain value. A symbolic value claims to be an int, a str
or bytes, but is none, so no function in C can read its content without a record: such a function raises TypeError, and
the message fits no template. Code that formats values must not test `type(value) is int`, match a value against a
sequence, or parse a text that contains a mark. symbolic_values.py has the values with a size in front and records their
uses; symbolic_text.py has the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dissectors.message import Body
from dissectors.symbolic_values import (
    FLOWING,
    UVARINT,
    ZIGZAG,
    Bytes,
    Checksum,
    DerivedInteger,
    Extent,
    Integer,
    NestedValue,
    ReadMany,
    Recorder,
    Stretch,
    Term,
    Text,
)


class MessageTemplate(NamedTuple):
    """A Body with symbolic values, and the structure of the messages that it fits."""

    builder: TemplateBuilder
    body: Body


class NotTemplatable(Exception):
    """This message stands for itself alone."""


class TemplateBuilder(Recorder):
    """Makes symbolic values, and records what another message must have in common with `data`, whose places they have.

    stretches: what may have any length, in order. extents: what encloses something. varints: each takes as many bytes.
    flowing: terms that need not, unless their bytes are pinned. decimals: numbers in digits, also within texts.
    divides: whether parts of bytes with an inner structure may be symbolic values; else such bytes are one NestedValue.
    """

    def __init__(self, data: bytes, *, divides: bool = True) -> None:
        super().__init__(data)
        self.divides = divides
        self.extents: list[Extent] = []
        self.checksums: list[Checksum] = []
        self.varints: list[Term] = []
        self.flowing: list[Term] = []
        self.decimals: list[Term] = []
        self.stretches: list[Stretch] = []

    def integer(self, term: Term, value: int) -> Integer:
        """Makes a symbolic integer; a varint must have the same length in all messages, unless FLOWING."""
        self._open_term(term)
        return Integer(self, (term,), 0, value)

    def _open_term(self, term: Term) -> None:
        self.leave_open(term.at, term.at + term.size)
        if term.code in (UVARINT, ZIGZAG):
            self.varints.append(term)
        elif term.code == FLOWING:
            self.flowing.append(term)

    def encloses(self, term: Term, bias: int, begin: int, end: int, less: tuple[Term, ...] = ()) -> Integer:
        """Makes the size of bytes that contain, or may contain, parts of variable length."""
        extent = Extent(term, bias, begin, end, less)
        self.extents.append(extent)
        self._open_term(term)
        return Integer(self, extent.terms, -bias, end - begin)

    def text(self, extent: Extent) -> Text | str:
        """Makes a symbolic text. Raises NotTemplatable for one that is not plain ASCII."""
        if extent.begin == extent.end:
            return ""
        if not self.data[extent.begin : extent.end].isascii():
            raise NotTemplatable
        text = Text(self, extent, self._size(extent))
        self._add(text)
        return text

    def bytes(self, extent: Extent) -> Bytes | bytes:
        """Makes a symbolic value for bytes whose content no decoder reads; empty bytes stay as they are."""
        if extent.begin == extent.end:
            return b""
        data = Bytes(self, extent, self._size(extent))
        self._add(data)
        return data

    def open_bytes(self, data: Bytes) -> Bytes:
        """Returns a symbolic value for bytes that are specialised, whose content is read as symbolic values next."""
        term = data.extent.term
        self.stretches = [each for each in self.stretches if each is not data]
        self.leave_open(term.at, term.at + term.size)
        return Bytes(self, data.extent, data.size)

    def add_nested(self, extent: Extent, read: ReadMany, value: Any, numbers: tuple[Integer, ...] = ()) -> NestedValue:
        """Makes a symbolic value for bytes that contain a `value` of their own.

        read: decodes these bytes of many messages; for each message it also gets the values of `numbers`.
        """
        nested = NestedValue(self, extent, self._size(extent), read, value, numbers)
        self._add(nested)
        return nested

    def leave_unread(self, nested: NestedValue) -> None:
        """Lets the bytes of a nested value be any, unless a condition needs it; their size still counts."""
        terms = (term for condition in self.conditions for term in condition.terms)
        if any(type(term) is DerivedInteger and term.nested is nested for term in terms):
            return
        self.stretches = [Bytes(self, each.extent, each.size) if each is nested else each for each in self.stretches]

    def _size(self, extent: Extent) -> Integer:
        return self.encloses(*extent)

    def _add(self, stretch: Stretch) -> None:
        self.leave_open(stretch.extent.begin, stretch.extent.end)
        self.stretches.append(stretch)
