"""The nodes of structures within bytes fields: embed.py's rules, over a tree.

Theory. A tree is complete before its bytes fields are looked at: what one holds may depend on all records of its
partition. Such a field then gets its content as children, behind its length, and stays what it was where nothing fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dissectors.field import Field, Tree
from dissectors.kafka.embed import RECORDS, Hints, unfold_partition, unfold_sites, whose
from dissectors.kafka.structures import Fit
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import Holder
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Layout, Wrapping

_LENGTHS = {kind: Layout("length", kind) for kind in ("int32", "uvarint", "varint")}


def unfold_bytes(tree: Tree, body: Field, name: str, key: int, response: bool, hints: Hints) -> None:
    """Unfolds the bytes fields of a body, a node of `tree` of the schema `name`, that hold a structure."""
    nodes = _Nodes(tree)
    unfold_sites(nodes, body, name, hints)
    place = RECORDS.get((key, response))
    if place is None:
        return
    for topic in nodes.each(body, place.topics):
        module, told = whose(nodes, topic, place)
        for partition in nodes.each(topic, place.partitions):
            unfold_partition(nodes, partition, place, module, told)


def _members(struct: Field) -> Iterator[Field]:
    """The nodes of a struct's members, as they fold: without layout, parts of a leaf beside it."""
    for node in struct.children:
        if isinstance(node.spec, Layout):
            yield from _members(node)
        elif not isinstance(node.spec, Wrapping):
            yield node
            if node.value is not None and not isinstance(node.spec, Holder):
                yield from node.children


class _Nodes:
    """Access to a tree's nodes."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def find(self, struct: Field, name: str) -> Field | None:
        """The member of that name."""
        return next((node for node in _members(struct) if node.spec.name == name), None)

    def get(self, struct: Field, name: str) -> object:
        node = self.find(struct, name)
        return None if node is None else node.value

    def each(self, struct: Field, name: str) -> Sequence[Field]:
        node = self.find(struct, name)
        return () if node is None else [child for child in node.children if not isinstance(child.spec, Layout)]

    def put(self, struct: Field, name: str, fit: Fit) -> None:
        node = self.find(struct, name)
        assert node is not None
        spec = node.spec
        node.spec = Holder(spec.name, spec.type, spec.label, spec.secret, fit.structure.name)
        reader = Reader(self.tree, self.tree.sources[node.source], node.children, (node,), Budget())
        reader.at, reader.end = node.offset, node.offset + node.length
        reader.leaf(_LENGTHS[self._prefix(struct, node)], node.length - node.head, node.offset + node.head)
        node.head = 0
        fit.structure.unfold(reader)
        unfold_sites(self, node, fit.structure.name, {})

    def _prefix(self, struct: Field, node: Field) -> str:
        """The type of the length before the bytes: a record has headers behind them, an older message has not."""
        if node.spec.type.startswith("compact"):
            return "uvarint"
        return "varint" if self.find(struct, "headers") is not None else "int32"

    def settle(self, batch: Field) -> None:
        """Nothing depends on it."""
