"""Labels beside RocketMQ's values in a tree, and structures in its texts and bytes.

Theory. Header classes type numbers, and bodies have layouts; but many values are a text with a format of its own
(properties, receipt handles, ids) or self-describing bytes (JSON, traces). So a finished tree is walked once, and nodes
get texts (node_texts.py) and children (contents.py). Values do not change, so a tree folds to the same as before. The
other modules need no tree: they read ids, handles, topics and properties from texts alone.
"""

from __future__ import annotations

from functools import partial

from dissectors.field import Field, Tree
from dissectors.rocketmq.body import CHECKPOINT
from dissectors.rocketmq.nested.contents import NestedContents
from dissectors.rocketmq.nested.node_texts import format_text
from dissectors.rocketmq.nested.properties import KIND, format_property
from dissectors.slotted import replace
from dissectors.wire.texts import with_text

_BODIES = ("body", "bodyUncompressed")


def open_tree(tree: Tree, kind: str | None = None) -> Tree:
    """Adds texts and contents to a tree, and returns it. kind: of its body, as in body.py."""
    _open_nodes(tree.fields, (), (), NestedContents(tree), kind)
    return tree


def _open_nodes(
    nodes: list[Field], above: tuple[Field, ...], path: tuple[int, ...], contents: NestedContents, kind: str | None
) -> None:
    for index, node in enumerate(nodes):
        if node.spec.secret:
            continue
        own = (*path, index)
        if node.children:
            _open_nodes(node.children, (*above, node), own, contents, kind)
        if isinstance(node.value, str) and node.bits is None:
            contents.open_text(node, _name_by_class(node), own)
        elif isinstance(node.value, bytes) and node.spec.name in _BODIES:
            _open_body(node, above, own, contents, kind)
        if node.spec.label is None:
            _add_text(node, nodes)


def _add_text(node: Field, nodes: list[Field]) -> None:
    """A text for a node among `nodes`; that of a property waits until somebody reads it, for there are many of them."""
    if node.spec.type == KIND:
        node.spec = replace(node.spec, label=partial(format_property, node.spec.name))
    elif (text := format_text(node, nodes)) is not None:
        node.spec = with_text(node.spec, text)


def _name_by_class(node: Field) -> str:
    """What a field's class calls it."""
    return next((part.spec.name for part in node.children if part.bits is not None), node.spec.name)


def _open_body(
    node: Field, above: tuple[Field, ...], path: tuple[int, ...], contents: NestedContents, kind: str | None
) -> None:
    if kind == CHECKPOINT:
        contents.open_checkpoint(node, path)
    elif not node.children:
        contents.open_body(node, above, path)
