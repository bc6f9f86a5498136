"""The nodes of structures within bytes fields, and the names of feature levels.

Theory. A tree is complete before its bytes fields are read, because the content of one may depend on all records of its
partition. A field then gets its content as children, behind its length. It stays unchanged if nothing fits, or if the
tree has reached its maximum of nodes. The records of users come last (user_payloads.py) and are unfolded only in a
tree.

Facts. The levels of a feature have a meaning of their own for each feature, so the label of a level depends on the name
beside it. A table lists these (`features` in quirks.json), because labels of single values cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from dissectors.field import Field, FieldSpec, Tree
from dissectors.kafka.labels import labels
from dissectors.kafka.nested.payload_detection import DetectedPayload
from dissectors.kafka.nested.rules import (
    RECORDS,
    Hints,
    RecordSite,
    find_module,
    iterate_batches,
    unfold_partition,
    unfold_sites,
)
from dissectors.kafka.sensitive import SENSITIVE_MODULES
from dissectors.kafka.tables import table
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import Holder
from dissectors.wire.hiding import hide_node, hide_unread
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, PartedSpec, Wrapping

_LENGTHS = {kind: LayoutSpec("length", kind) for kind in ("int32", "uvarint", "varint")}


def unfold_bytes(tree: Tree, budget: Budget, body: Field, name: str, key: int, response: bool, hints: Hints) -> None:
    """Unfolds the bytes fields of a body, a node of `tree` of the schema `name`, that hold a structure."""
    nodes = _Nodes(tree, budget)
    unfold_sites(nodes, body, name, hints)
    _name_levels(nodes, body, name)
    place = RECORDS.get((key, response))
    if place is None:
        return
    theirs = []
    for topic in nodes.list_structs(body, place.topics):
        module, by_content = find_module(nodes, topic, place)
        for partition in nodes.list_structs(topic, place.partitions):
            unfold_partition(nodes, partition, place, module, by_content)
            theirs += [partition] if module is None else []
            if module in SENSITIVE_MODULES:
                hide_unread(partition.children)
    _unfold_user_payloads(nodes, theirs, place)


def _unfold_user_payloads(nodes: _Nodes, partitions: Sequence[Field], place: RecordSite) -> None:
    """Takes apart what the users' records say of themselves; those of coordinators have their structure by now."""
    from dissectors.kafka.nested.user_payloads import Payloads  # a message without records does not pay for it

    payloads = Payloads(nodes.budget.nodes)
    for partition in partitions:
        for batch, rows in iterate_batches(nodes, partition, place.field):
            if nodes.get(batch, "control"):
                continue
            for row in rows:
                for name in ("key", "value"):
                    node = nodes.find(row, name)
                    if node is not None and isinstance(node.value, bytes) and not isinstance(node.spec, Holder):
                        read = payloads.reading(node.value)
                        if read is not None:
                            nodes.part(row, node, read)


def _members(struct: Field) -> Iterator[Field]:
    """The nodes of a struct's members, as they fold: without layout, parts of a leaf beside it."""
    for node in struct.children:
        if isinstance(node.spec, LayoutSpec):
            yield from _members(node)
        elif not isinstance(node.spec, Wrapping):
            yield node
            if node.value is not None and not isinstance(node.spec, Holder | PartedSpec):
                yield from node.children


class _Nodes:
    """Access to a tree's nodes."""

    def __init__(self, tree: Tree, budget: Budget) -> None:
        self.tree, self.budget, self.full = tree, budget, budget.nodes < 1

    def find(self, struct: Field, name: str) -> Field | None:
        """The member of that name."""
        return next((node for node in _members(struct) if node.spec.name == name), None)

    def get(self, struct: Field, name: str) -> object:
        node = self.find(struct, name)
        return None if node is None or isinstance(node.spec, Holder) else node.value

    def list_structs(self, struct: Field, name: str) -> Sequence[Field]:
        node = self.find(struct, name)
        if node is None:
            return ()
        if node.spec.type == "struct":
            return (node,) if node.children else ()
        return [child for child in node.children if not isinstance(child.spec, LayoutSpec)]

    def attach_structure(self, struct: Field, name: str, fit: DetectedPayload, hints: Hints) -> None:
        if self.full:
            return
        node = self.find(struct, name)
        assert node is not None
        spec = node.spec
        node.spec = Holder(spec.name, spec.type, spec.label, spec.secret, fit.decoder.name)
        reader = self._reader(struct, node)
        if fit.decoder.inflates:
            reader.above = _down_to(self.tree.fields, node)
        self.full = not reader.guard(partial(_unfold, fit=fit), reader.end)
        unfold_sites(self, node, fit.decoder.name, hints)
        _name_levels(self, node, fit.decoder.name)

    def hide(self, struct: Field, name: str) -> None:
        node = self.find(struct, name)
        assert node is not None
        hide_node(node, self.tree.sources[node.source].data)

    def part(self, struct: Field, node: Field, read: Callable[[Reader], None]) -> None:
        """Gives a member parts that add nothing to its value."""
        spec = node.spec
        node.spec = PartedSpec(spec.name, spec.type, spec.label, spec.secret)
        read(self._reader(struct, node))

    def _reader(self, struct: Field, node: Field) -> Reader:
        """A reader of a leaf's content, for its children, behind that of its length."""
        reader = Reader(self.tree, self.tree.sources[node.source], node.children, (node,), self.budget)
        reader.at, reader.end = node.offset, node.offset + node.length
        reader.leaf(_LENGTHS[self._prefix(struct, node)], node.length - node.head, node.offset + node.head)
        node.head = 0
        return reader

    def _prefix(self, struct: Field, node: Field) -> str:
        """The type of the length before the bytes: a record has headers behind them, an older message has not."""
        if node.spec.type.startswith("compact"):
            return "uvarint"
        return "varint" if self.find(struct, "headers") is not None else "int32"

    def settle(self, batch: Field) -> None:
        """Does nothing: nodes need no update after a batch."""


def _unfold(reader: Reader, fit: DetectedPayload) -> None:
    """Unfolds what fits, in a tree that has room for more nodes."""
    reader.require_nodes(1, fit.decoder.name)
    fit.decoder.unfold(reader)


def _down_to(nodes: Sequence[Field], sought: Field) -> tuple[Field, ...]:
    """A node of a tree, below all those above it."""
    for node in nodes:
        if node is sought:
            return (node,)
        below = _down_to(node.children, sought)
        if below:
            return (node, *below)
    return ()


class _LevelPlace(NamedTuple):
    """An array of features in a message or a structure, or none where it is a feature itself; its members."""

    array: str | None
    name: str
    levels: Sequence[str]


@lru_cache(maxsize=1024)
def _find_level_places(schema: str) -> tuple[_LevelPlace, ...]:
    found = []
    for row in table("quirks")["features"]["levels"]:
        message, _, array = row["at"].partition(".")
        if message == schema:
            found.append(_LevelPlace(array or None, row["name"], row["levels"]))
    return tuple(found)


def _name_levels(nodes: _Nodes, struct: Field, schema: str) -> None:
    """Gives the levels in a message or structure, which the schema of that name describes, the names of theirs."""
    for place in _find_level_places(schema):
        for feature in (struct,) if place.array is None else nodes.list_structs(struct, place.array):
            _name_feature(nodes, feature, place)


def _name_feature(nodes: _Nodes, feature: Field, place: _LevelPlace) -> None:
    called: Mapping[str, str] = table("quirks")["features"]["names"]
    name = nodes.find(feature, place.name)
    enum = called.get(name.value) if name is not None and isinstance(name.value, str) else None
    if enum is not None:
        for member in place.levels:
            level = nodes.find(feature, member)
            if level is not None:
                level.spec = _spec(level.spec.name, level.spec.type, enum)


@lru_cache(maxsize=64)
def _spec(name: str, kind: str, enum: str) -> FieldSpec:
    return FieldSpec(name, kind, labels(enum))
