"""Finds the nodes and bytes of a tree that are secret.

Theory. A node is secret if its spec says so or if its value is a Secret. Then everything below it is secret, too. The
exception is a node whose spec is a PartedSpec: each of its parts has its own setting. The bytes of a secret also appear
where they were taken from: in the raw value of an enclosing node, and in the compressed source from which their own
source was made. Both are masked, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.field import Field, Tree
from dissectors.wire.secret import Secret
from dissectors.wire.specs import PartedSpec

Span = tuple[int, int]


def is_secret(node: Field) -> bool:
    """Returns whether the node's own value must be masked."""
    return node.spec.secret or isinstance(node.value, Secret)


def has_hidden_parts(node: Field) -> bool:
    """Returns whether everything below the node is masked with it."""
    return is_secret(node) and not isinstance(node.spec, PartedSpec)


def has_hidden_value(node: Field) -> bool:
    """Returns whether the node's raw value would show a secret: its own, or one that was decoded from it."""
    return is_secret(node) or (isinstance(node.value, bytes) and any(map(_has_secret, node.children)))


def find_secret_spans(tree: Tree) -> dict[int, list[Span]]:
    """Returns for each source with secrets the ascending spans (start, end) to mask."""
    spans: dict[int, list[Span]] = {}
    for node in _find_topmost_secrets(tree.fields):
        spans.setdefault(node.source, []).append((node.offset + node.head, node.offset + node.length))
        for inner in _iterate_below(node) if has_hidden_parts(node) else ():
            if inner.source != node.source:
                spans.setdefault(inner.source, []).append((inner.offset, inner.offset + inner.length))
    for source in reversed(tree.sources):  # a source follows the one that it was made from
        if source.id in spans and source.parent:
            origin = _find_node(tree, source.parent)
            spans.setdefault(origin.source, []).append((origin.offset + origin.head, origin.offset + origin.length))
    return {source: sorted(set(found)) for source, found in spans.items()}


def _find_node(tree: Tree, path: tuple[int, ...]) -> Field:
    node = tree.fields[path[0]]
    for index in path[1:]:
        node = node.children[index]
    return node


def _find_topmost_secrets(nodes: list[Field]) -> Iterator[Field]:
    for node in nodes:
        if is_secret(node) and not _has_parts_here(node):
            yield node
        if not has_hidden_parts(node):
            yield from _find_topmost_secrets(node.children)


def _has_parts_here(node: Field) -> bool:
    """Returns whether the parts of the node decide which of its own bytes are secret."""
    return not has_hidden_parts(node) and any(child.source == node.source for child in node.children)


def _iterate_below(node: Field) -> Iterator[Field]:
    for child in node.children:
        yield child
        yield from _iterate_below(child)


def _has_secret(node: Field) -> bool:
    return is_secret(node) or any(map(_has_secret, node.children))
