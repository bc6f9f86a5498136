"""Annotates ids in a message's tree with names, and with the message that told each name.

Theory. A tree shows what was sent, so an id stays what it is; its name is the text beside it, as that of an enum is.
Which nodes are ids, the dissector tells by their paths (References).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from analyzer.decode.content import find_dissector, read_context
from analyzer.decode.name_resolver import EVERYWHERE, NameResolver, ResolvedName
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.field import Field, Tree
from dissectors.message import Path
from dissectors.wire.specs import LayoutSpec, Many, Wrapping

_PHRASES = {"producer": "transaction ", "member": "client "}
"""What is said before a name of a kind."""

_NOBODY = (-1, "")
"""What stands for nothing where an id might be."""


class NameAnnotation(NamedTuple):
    """An id in a message, its name, and the row that binds it; None if the name is the same everywhere.

    id: a number that is valid on one connection only has the kind of its object: `of consumer 3`.
    """

    kind: str
    id: str
    name: str
    row: int | None

    @property
    def phrase(self) -> str:
        """The name with a word about what it is the name of."""
        return _PHRASES.get(self.kind, "") + self.name


def make_annotation(kind: str, key: str, known: ResolvedName) -> NameAnnotation:
    """Makes the annotation of an id from its resolved name."""
    return NameAnnotation(kind, key, known.name, None if known.row == EVERYWHERE else known.row)


def list_kinds(session: Analysis, row: int, tree: Tree) -> set[str]:
    """Returns the kinds of ids in a row's tree."""
    return {kind for kind, _, _ in _find_ids(session, row, tree)}


def annotate(resolver: NameResolver, row: int, tree: Tree) -> list[NameAnnotation]:
    """Says names beside the ids in a row's tree, as far as they have been learned; which these are, each once."""
    found: dict[tuple[str, str], NameAnnotation] = {}
    for kind, scope, node in _find_ids(resolver.session, row, tree):
        known = resolver.find(kind, str(node.value), row, scope)
        if known is not None:
            named = make_annotation(kind, f"of {scope} {node.value}" if scope else str(node.value), known)
            found.setdefault(named[:2], named)
            _add_text(node, named.phrase)
    return list(found.values())


def _find_ids(session: Analysis, row: int, tree: Tree) -> Iterator[tuple[str, str | None, Field]]:
    """The nodes with ids in a row's tree, of what kind and in which scope they are."""
    dissector = find_dissector(session, row)
    if dissector is not None:
        for reference in defects.list_references(dissector, read_context(session, row)):
            for node in _find_nodes(tree.fields, reference.path):
                if type(node.value) in (int, str) and node.value not in _NOBODY:
                    yield reference.kind, reference.scope, node


def _add_text(node: Field, text: str) -> None:
    """Adds a text to what is said of a node."""
    before = defects.format_label(node).text
    text_label = text if before is None else f"{before}, {text}"
    node.spec = replace(node.spec, label=lambda _: text_label)


def _find_nodes(nodes: list[Field], path: Path) -> Iterator[Field]:
    """The nodes at the end of a path of names, those of each element of the arrays on it."""
    for node in nodes:
        if isinstance(node.spec, LayoutSpec):
            yield from _find_nodes(node.children, path)
        elif node.spec.name == path[0] and not isinstance(node.spec, Wrapping):
            yield from _find_in_array(node, path[1:])


def _find_in_array(node: Field, path: Path) -> Iterator[Field]:
    if isinstance(node.spec, Many):
        for each in node.children:
            if not isinstance(each.spec, LayoutSpec):
                yield from _find_in_array(each, path)
    elif path:
        yield from _find_nodes(node.children, path)
    else:
        yield node
