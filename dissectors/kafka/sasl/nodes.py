"""A token's parts as nodes of a tree: below the node that holds the token, and in sources of what they decode to."""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Context
from dissectors.field import Field, Tree
from dissectors.kafka.sasl.read import is_from_client, read_token
from dissectors.wire.part_nodes import take_apart
from dissectors.wire.parts import ValuePart
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, PartedSpec

TOKENS = frozenset({"authBytes", "payload"})
"""The fields that hold one: of SaslAuthenticate, and of a bare frame."""

_LENGTHS = {False: LayoutSpec("length", "int32"), True: LayoutSpec("length", "uvarint")}
"""By whether it is compact."""


def unfold_token(tree: Tree, context: Context) -> None:
    """Takes the token of a message apart, if there is one that can be read. The leaves tile as before."""
    for path, node in _nodes(tree):
        token = node.value.reveal() if node.spec.name in TOKENS and isinstance(node.value, Secret) else None
        if isinstance(token, bytes) and not node.children:
            found = read_token(token, is_from_client(context), context.extra or {})
            if found is not None:
                _unfold(tree, node, path, found.parts)
            return


def _nodes(tree: Tree) -> Iterator[tuple[tuple[int, ...], Field]]:
    """The nodes where a token may be, with their paths: those at the top and the members of a body."""
    for at, node in enumerate(tree.fields):
        yield (at,), node
        for below, child in enumerate(node.children):
            yield (at, below), child


def _unfold(tree: Tree, node: Field, path: tuple[int, ...], parts: tuple[ValuePart, ...]) -> None:
    spec = node.spec
    parted = PartedSpec(spec.name, spec.type, spec.label, secret=True)
    take_apart(tree, node, path, parts, parted, _LENGTHS[spec.type.startswith("compact")])
