"""What people read in a tree beside Pulsar's values, and what stands in its bytes fields: schemas.

Theory. Much of what a value means stands beside it: whether a key is base64, of which ids a bit set speaks, which two
numbers are a transaction. So a finished tree is gone through once, and nodes get texts (texts.py) and children
(schemas.py). Values stay what they are, so a tree folds to the same as before, and what is opened already stays so.
"""

from __future__ import annotations

from dissectors.field import Field, Tree
from dissectors.pulsar.nested.schemas import SCHEMA_DATA, open_schema
from dissectors.pulsar.nested.texts import format_text
from dissectors.wire.texts import with_text


def open_tree(tree: Tree) -> Tree:
    """Adds texts and the content of schemas to a tree, and returns it."""
    _open_nodes(tree, tree.fields, ())
    return tree


def _open_nodes(tree: Tree, nodes: list[Field], above: tuple[Field, ...]) -> None:
    for node in nodes:
        if node.spec.secret:
            continue
        if node.spec.name == SCHEMA_DATA:
            open_schema(tree, node, nodes, above)
        elif node.children:
            _open_nodes(tree, node.children, (*above, node))
        text = None if node.spec.label is not None else format_text(node, nodes)
        if text is not None:
            node.spec = with_text(node.spec, text)
