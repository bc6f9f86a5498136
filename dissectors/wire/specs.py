"""Kinds of nodes that a tree needs beside plain fields, and the way from a tree back to plain values.

Theory. A tree shows every byte, so it has nodes that carry the layout and no value: counts, presence marks, tag
numbers. They are of the class Layout; nodes around the values are Wrapping. The rest folds into exactly the result of
the values decoder, which makes the two decoders comparable, and gives the values that were read from a damaged message.
Classes without a field of their own inherit the dataclass methods, because making them again would slow down the start.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dissectors.field import Field, FieldSpec, Label
from dissectors.slotted import make_slotted
from dissectors.wire.embedded import CutList, Holder, embed
from dissectors.wire.primitive import LENGTHS


class LayoutSpec(FieldSpec):
    """The spec of a node that exists for the layout only: its value is not a value of the message."""

    __slots__ = ()


class Wrapping(FieldSpec):
    """A node around the message's values, its length prefix or header: neither it nor its parts are among them."""

    __slots__ = ()


class Many(FieldSpec):
    """A container of elements named by their index: it folds into a list."""

    __slots__ = ()


class PartedSpec(FieldSpec):
    """A value taken apart for people: its parts add nothing to it, and say for themselves which of them are secret."""

    __slots__ = ()


class OpenedSpec(Holder, PartedSpec):
    """A secret whose bytes have content that is worth reading: what they say is among the values, beside them, and each
    part says for itself whether it is secret.
    """

    __slots__ = ()


class RepeatedSpec(Many):
    """A run of elements of a list that may have others further on, as in Protocol Buffers: the runs fold into one."""

    __slots__ = ()


class More(LayoutSpec):
    """A leaf over the last items of a list, which have no nodes; its value is their number (dissectors.wire.embedded).

    Behind it there may be one that ends the list.
    """

    __slots__ = ()


@make_slotted
class UnknownField(FieldSpec):
    """A field of Protocol Buffers that the tables do not know: its number and wire type; the value is its bytes."""

    number: int = 0
    wire: int = 0


@make_slotted
class UnknownTag(FieldSpec):
    """The spec of a tagged field that the tables do not have; `tag` is its number."""

    tag: int = 0


COUNT = {kind: LayoutSpec("count", kind) for kind in ("int32", "uvarint", "int")}
PRESENT = {kind: LayoutSpec("present", kind) for kind in ("int8", "uvarint")}
LENGTH = {kind: LayoutSpec("length", kind) for kind in (*LENGTHS, "int")}
TAG = LayoutSpec("tag", "uvarint")
NUM_TAGGED = LayoutSpec("numTaggedFields", "uvarint")
UNDECODED = LayoutSpec("undecoded", "undecoded")
REST = FieldSpec("_rest", "bytes")
MORE = More("more", "elements", "{:,} more, not shown".format)
MORE_SECRET = More("more", "elements", "{:,} more, not shown".format, secret=True)
"""The same where one of them may be a secret."""


@lru_cache(maxsize=4096)
def element(index: int, kind: str, label: Label | None = None, secret: bool = False) -> FieldSpec:
    """Returns the spec of an array's element."""
    return FieldSpec(f"[{index}]", kind, label, secret)


@lru_cache(maxsize=256)
def unknown_tag(tag: int) -> UnknownTag:
    """Returns the spec of an unknown tagged field."""
    return UnknownTag(f"_tag{tag}", "tagged_field", tag=tag)


def fold(node: Field) -> Any:
    """Returns the plain value of a node: what the values decoder gives for the same bytes."""
    if isinstance(node.spec, Holder) and node.children:
        return embed(node.value, members(node.children), node.spec.holds)
    if isinstance(node.spec, PartedSpec):
        return node.value
    if isinstance(node.spec, Many) and node.children:
        items = [fold(child) for child in node.children if not isinstance(child.spec, (LayoutSpec, Wrapping))]
        more = next((child for child in node.children[-2:] if isinstance(child.spec, More)), None)
        return items if more is None else CutList(items, len(items) + more.value, hides=more.spec.secret)
    return members(node.children) if node.children else node.value


def members(nodes: list[Field]) -> dict[str, Any]:
    """Returns the values of a struct's nodes by name; parts of a leaf, such as bits, are next to it."""
    values: dict[str, Any] = {}
    unknown: list[dict[str, Any]] = []
    for node in nodes:
        spec = node.spec
        if isinstance(spec, Wrapping):
            continue
        if isinstance(spec, LayoutSpec):
            values.update(members(node.children))
        elif isinstance(spec, UnknownTag):
            unknown.append({"tag": spec.tag, "data": node.value})
        elif isinstance(spec, UnknownField):
            row = {"number": spec.number, "wireType": spec.wire, "data": node.value}
            values.setdefault("_unknownFields", []).append(row)
        elif isinstance(spec, RepeatedSpec):
            values.setdefault(spec.name, []).extend(fold(node))
        elif isinstance(spec, PartedSpec) and not isinstance(spec, Holder):
            values[spec.name] = node.value
        elif node.children and node.value is not None and not isinstance(spec, Holder):
            values[spec.name] = node.value
            values.update(members(node.children))
        else:
            values[spec.name] = fold(node)
    if unknown:
        values["_unknownTaggedFields"] = unknown
    return values
