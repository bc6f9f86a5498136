"""A value taken apart: parts with places, each of which is a secret or not.

Theory. Some fields hold a text or bytes with a format of their own: a SASL token, a line of configuration. A reader of
such a field returns parts that tile it. A tree shows them as nodes below the field's node, and the field's value is
folded from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.field import Field, FieldSpec, Label, Source, Tree
from dissectors.slotted import make_slotted
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, PartedSpec, members


@make_slotted
class ValuePart:
    """`stop - start` bytes of a value from `start` on, the first `head` of them before the value.

    inside: parts that tile it; the head is then theirs. decoded: what its text decodes to, a source of its own.
    """

    spec: FieldSpec
    value: object
    start: int
    stop: int
    head: int = 0
    inside: tuple[ValuePart, ...] = ()
    decoded: DecodedPart | None = None


@make_slotted
class DecodedPart:
    """Bytes made out of a part, and the parts that tile them."""

    name: str
    data: bytes
    parts: tuple[ValuePart, ...]


def text_of(data: bytes) -> str | bytes:
    """Decodes bytes as UTF-8 text; returns the bytes themselves if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def show_part(
    name: str, value: object, start: int, stop: int, head: int = 0, kind: str = "text", label: Label | None = None
) -> ValuePart:
    """Makes a part that is never secret; `label` is its text for people."""
    return ValuePart(FieldSpec(name, kind, label), value, start, stop, head)


def hide_part(name: str, data: bytes, start: int, stop: int, head: int = 0, kind: str = "text") -> ValuePart:
    """Makes a secret part; `data` is the whole value."""
    value = data[start + head : stop]
    secret = Secret(value if kind == "bytes" else text_of(value))
    return ValuePart(FieldSpec(name, kind, secret=True), secret, start, stop, head)


def seal_part(name: str, data: bytes, inside: tuple[ValuePart, ...], head: int = 0, kind: str = "text") -> ValuePart:
    """Makes a secret whose parts cover it and say which of them are secret."""
    start, stop = inside[0].start, inside[-1].stop
    value = Secret(text_of(data[start + head : stop]))
    return ValuePart(PartedSpec(name, kind, secret=True), value, start, stop, inside=inside)


def struct(name: str, inside: tuple[ValuePart, ...]) -> ValuePart:
    """Makes a ValuePart with members; it extends from the first of the parts `inside` to the last."""
    return ValuePart(FieldSpec(name, "struct"), None, inside[0].start, inside[-1].stop, inside=inside)


def mark(name: str, data: bytes, start: int, stop: int, kind: str = "text") -> ValuePart:
    """Returns bytes that are there for the layout."""
    return ValuePart(LayoutSpec(name, kind), text_of(data[start:stop]), start, stop)


def take_apart(
    tree: Tree,
    node: Field,
    path: tuple[int, ...],
    parts: Iterable[ValuePart],
    spec: FieldSpec,
    length: FieldSpec | None,
) -> None:
    """Gives a leaf at a path children that tile it: its length, which `length` names if it has one, then the parts.

    `spec` is the node's from now on; it says what of the parts is among the values.
    """
    content = node.offset + node.head
    node.spec = spec
    if node.head and length is not None:
        size = node.length - node.head
        node.children.append(Field(length, size, node.offset, node.head, node.source))
        node.head = 0
    add_parts(tree, node, path, parts, node.source, content)


def add_parts(
    tree: Tree, parent: Field, path: tuple[int, ...], parts: Iterable[ValuePart], source: int, start: int
) -> None:
    """Adds nodes below `parent`; `start` is where the parts' offsets count from."""
    for part in parts:
        node = _node(part, source, start)
        parent.children.append(node)
        own = (*path, len(parent.children) - 1)
        if part.decoded is not None:
            below = Source(len(tree.sources), part.decoded.name, part.decoded.data, own)
            tree.sources.append(below)
            add_parts(tree, node, own, part.decoded.parts, below.id, 0)
        add_parts(tree, node, own, part.inside, source, start)


def part_values(parts: Iterable[ValuePart]) -> dict[str, Any]:
    """Returns the values of the nodes of these parts, without values decoded from them."""
    return members([_make_whole(part) for part in parts])


def _make_whole(part: ValuePart) -> Field:
    node = _node(part, 0, 0)
    node.children.extend(map(_make_whole, part.inside))
    return node


def _node(part: ValuePart, source: int, start: int) -> Field:
    return Field(part.spec, part.value, start + part.start, part.stop - part.start, source, part.head)
