"""The annotated tree: a static spec, and where its value lies.

Theory. As in Wireshark's field_info, all occurrences of a field share its constant properties (name, type, label), and
an occurrence adds its value and its place. Offsets count in a Source: the message itself, or bytes that were
decompressed or reassembled from its fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dissectors.finding import Finding
from dissectors.slotted import field, make_slotted

Label = Callable[[Any], str | None]
"""What people read beside a plain value; None for nothing."""


@make_slotted
class FieldSpec:
    """The properties that all occurrences of a field share.

    `type` is the protocol's own type name in lower case (`int16`, `compact_string`, `array`, `struct`); `label` turns a
    plain value into what people read beside it, or None. `secret` values are masked unless asked for.
    """

    name: str
    type: str
    label: Label | None = None
    secret: bool = False


@make_slotted
class Source:
    """Bytes that offsets count in. `parent` is the path of child indexes of the node it was made from.

    `data` may end early where too many bytes are lost to stand for them; then `declared` is how long it was.
    """

    id: int
    name: str
    data: bytes
    parent: tuple[int, ...] | None = None
    declared: int | None = None

    @property
    def length(self) -> int:
        """Bytes that the leaves of this source cover."""
        return len(self.data) if self.declared is None else self.declared


@make_slotted(frozen=False)
class Field:
    """One occurrence: `length` bytes at `offset` of source number `source`, the first `head` of them before the value.

    `bits` (a mask) marks a part of its parent's integer. A node with children in another source is a leaf of its own.
    """

    spec: FieldSpec
    value: Any
    offset: int
    length: int
    source: int = 0
    head: int = 0
    bits: int | None = None
    children: list[Field] = field(default_factory=list)

    @property
    def text(self) -> str | None:
        """The label of the value for people: an enum's name, a time, a size; None if there is none."""
        return self.spec.label(self.value) if self.spec.label is not None else None


@make_slotted(frozen=False)
class Tree:
    """One decoded message: its nodes, the sources that contain them (the message first), and the findings."""

    fields: list[Field]
    sources: list[Source]
    findings: list[Finding]
