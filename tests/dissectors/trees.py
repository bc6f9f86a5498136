"""What holds of every tree, whatever the bytes: used by the tests of all protocols."""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.field import Field, Tree


def leaves(nodes: list[Field]) -> Iterator[Field]:
    """Nodes without children in their own source; bits are parts of their parent, not children."""
    for node in nodes:
        inside = [child for child in node.children if child.bits is None and child.source == node.source]
        elsewhere = [child for child in node.children if child.source != node.source]
        if inside:
            yield from leaves(inside)
        else:
            yield node
        yield from leaves(elsewhere)


def every(nodes: list[Field]) -> Iterator[Field]:
    """All nodes, parents first."""
    for node in nodes:
        yield node
        yield from every(node.children)


def assert_tiles(tree: Tree) -> None:
    """The leaves of each source cover it without gap or overlap; what people read beside a value never fails."""
    assert all(isinstance(node.text, str | None) for node in every(tree.fields))
    at = dict.fromkeys((source.id for source in tree.sources), 0)
    for leaf in leaves(tree.fields):
        assert leaf.offset == at[leaf.source], f"{leaf.spec.name} begins at {leaf.offset}, not {at[leaf.source]}"
        assert 0 <= leaf.head <= leaf.length
        at[leaf.source] += leaf.length
    assert at == {source.id: len(source.data) for source in tree.sources}


def node(tree: Tree, *path: str) -> Field:
    """The node at a path of names."""
    nodes = tree.fields
    for name in path:
        found = next(node for node in nodes if node.spec.name == name)
        nodes = found.children
    return found


def at_path(tree: Tree, path: tuple[int, ...]) -> Field:
    """The node at a path of indexes, as Source.parent has it."""
    nodes = tree.fields
    for index in path:
        found = nodes[index]
        nodes = found.children
    return found
