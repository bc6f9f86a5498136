"""Facts derived from leaves of any protocol: correct or wrong checksums, the pairs in a text."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from dissectors.field import Field, FieldSpec
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.plan import DerivedStep
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LENGTH, Wrapping
from dissectors.wire.varint import Unfit


@make_slotted(eq=False)
class Crc32(DerivedStep):
    """Whether a checksum, a member read before, is that of the bytes of another. mask: the bits of it that count."""

    valid: FieldSpec
    member: str
    of: str
    mask: int

    def add(self, values: dict[str, Any], budget: Budget) -> None:
        """Adds the result to the values only if the checksum is wrong."""
        if crc32(values[self.of]) & self.mask != values[self.member]:
            raise Unfit
        values[self.valid.name] = True

    def show(self, reader: Reader) -> None:
        """Adds the checksum's verdict to its leaf, with a Finding if it is wrong."""
        node, computed = reader.node(self.member), crc32(reader.node(self.of).value) & self.mask
        valid = node.value == computed
        node.children.append(Field(self.valid, valid, node.offset, node.length, node.source, bits=self.mask))
        if not valid:
            text = f"{reader.path(self.member)} is {node.value}, the bytes have {computed}"
            reader.warn("crc-mismatch", text, node.offset, node.offset + node.length)


@make_slotted(eq=False)
class Pairs(DerivedStep):
    """Splits a text into pairs: `middle` ends a name, `end` a value. The leaf's value is a dict of them."""

    type: str
    middle: bytes
    end: bytes

    def show(self, reader: Reader) -> None:
        """Adds a leaf for each pair, after one for the length of the text."""
        node = reader.into[-1]
        if not isinstance(node.value, dict) or not node.value:
            return
        at, end = node.offset + node.head, node.offset + node.length
        node.children.append(Field(LENGTH[f"int{8 * node.head}"], end - at, node.offset, node.head, node.source))
        for item in reader.data[at:end].split(self.end):
            name, middle, value = item.partition(self.middle)
            length = min(len(item) + 1, end - at)
            if length:
                spec, head = Wrapping(name.decode(), self.type), len(name) + len(middle)
                node.children.append(Field(spec, value.decode(), at, length, node.source, head))
            at += length
