"""Parts as nodes of a tree, below the node that holds the value, and as plain values: what these nodes fold to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.field import Field, FieldSpec, Source, Tree
from dissectors.wire.parts import ValuePart
from dissectors.wire.specs import members


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
