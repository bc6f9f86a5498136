"""Detects the layout of a bytes field: one that takes all of its bytes.

Theory. A client may put anything into a bytes field, so content that does not fit is not damaged: it is bytes, without
a finding. Kafka itself reads a version newer than it knows as the newest that it knows for some content (metadata of
consumers and Connect). Only there leftover bytes are `_rest`, and `_readAs` names the version that was used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from dissectors.field import FieldSpec
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Leaf, Plan, resolve
from dissectors.wire.primitive import INT16
from dissectors.wire.reader import Reader
from dissectors.wire.schema import Schema
from dissectors.wire.specs import LayoutSpec
from dissectors.wire.varint import uvarint

VERSION = Leaf(FieldSpec("_version", INT16.type), INT16)
FRAME_VERSION = 1
NEWER = 16
"""Versions beyond the tables that may still be real ones; see header.NEWER."""

_FRAME = LayoutSpec("frameVersion", "uvarint")
_FIELDS = FieldSpec("fields", "struct")
_READ_AS = FieldSpec("_readAs", "int16", lambda version: f"newer than the tables, read as version {version}")
_REST = FieldSpec("_rest", "bytes")
_INT16_BITS = 0xFFFF


class NestedDecoder(Protocol):
    """A decoder of the bytes in a field."""

    @property
    def name(self) -> str:
        """The name of the schema."""

    @property
    def inflates(self) -> bool:
        """Whether its nodes may be in a source of their own, after decompression."""

    def values(self, data: bytes) -> dict[str, Any] | None:
        """Returns the decoded values; None unless the decoder takes all bytes."""

    def unfold(self, reader: Reader) -> None:
        """Adds the nodes of bytes that values() accepts."""


@make_slotted(eq=False)
class Structure:
    """A layout of all bytes of a field: `head`, behind a frame version if it is `framed`, and below `fields` a body.

    newer: the bytes begin with the number of a later version, and may have more behind what is known of it.
    """

    name: str
    head: Plan
    body: Plan | None = None
    framed: bool = False
    newer: bool = False
    inflates: bool = False

    def values(self, data: bytes) -> dict[str, Any] | None:
        """Returns the values of the head and the body; None unless they take all bytes."""
        try:
            values, at = values_decoder(self.head)(data, int(self.framed), Budget())
            if self.body is not None:
                values[_FIELDS.name], at = values_decoder(self.body)(data, at, Budget())
        except FAILURES:
            return None
        if self.newer and at <= len(data):
            version = {VERSION.spec.name: values[VERSION.spec.name], _READ_AS.name: self.head.version}
            return version | values | ({_REST.name: data[at:]} if at < len(data) else {})
        return values if at == len(data) else None

    def unfold(self, reader: Reader) -> None:
        """Adds the nodes of the head and the body."""
        if self.framed:
            reader.leaf(_FRAME, FRAME_VERSION, reader.at + 1)
        read_members(reader, self.head.steps[:1])
        if self.newer:
            reader.bits(_READ_AS, self.head.version, _INT16_BITS)
        read_members(reader, self.head.steps[1:])
        if self.body is not None:
            reader.enter(_FIELDS)
            read_members(reader, self.body.steps)
            reader.leave()
        if self.newer and reader.at < reader.end:
            reader.leaf(_REST, reader.data[reader.at : reader.end], reader.end)


class DetectedPayload(NamedTuple):
    """A structure, and what it makes of the bytes it was chosen for."""

    decoder: NestedDecoder
    values: dict[str, Any]


Pair = tuple[DetectedPayload | None, DetectedPayload | None]
"""What the key and the value of a record hold. None stands for a key or value that stays bytes."""


def detect(decoder: NestedDecoder | None, data: bytes) -> DetectedPayload | None:
    """Returns the structure with its values, if it takes all these bytes."""
    values = None if decoder is None else decoder.values(data)
    return None if decoder is None or values is None else DetectedPayload(decoder, values)


def read_leading_number(data: bytes, size: int = 2) -> int:
    """Returns the number that the bytes begin with; one that is no version and no type where they are too few."""
    return int.from_bytes(data[:size], signed=True) if len(data) >= size else -1


@lru_cache(maxsize=256)
def make_structure(
    schema: Schema, version: int, prefix: tuple[Leaf, ...] = (), framed: bool = False, newer: bool = False
) -> Structure | None:
    """Returns a schema in a version, behind the numbers that stand before it.

    newer: versions a little beyond the schema's are read as its last one.
    """
    last = schema.versions.high
    beyond = newer and last < version <= last + NEWER
    if version not in schema.versions and not beyond:
        return None
    plan = resolve(schema, min(version, last))
    return Structure(schema.name, Plan(schema.name, plan.version, (*prefix, *plan.steps)), framed=framed, newer=beyond)


def read_framed_kind(data: bytes) -> tuple[int, int] | None:
    """Returns type and version of a metadata record, which begins with the uvarints 1, type and version."""
    if data[:1] != bytes([FRAME_VERSION]):
        return None
    try:
        kind, at = uvarint(data, 1)
        return kind, uvarint(data, at)[0]
    except FAILURES:
        return None
