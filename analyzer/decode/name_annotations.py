"""Annotates the ids in a message's tree with names, and with the message that gave each name.

Theory. A tree shows what was sent, so an id keeps its value; its name is the label beside it, as for enums. The
dissector lists the paths of the nodes that are ids (References).
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
"""Text before a name, by kind."""

_NOBODY = (-1, "")
"""Values that mean "no id"."""


class NameAnnotation(NamedTuple):
    """Holds an id in a message, its name, and the row that binds it; None if the name is the same everywhere.

    id: for an id that is valid on one connection only, with its scope, such as `of consumer 3`.
    """

    kind: str
    id: str
    name: str
    row: int | None

    @property
    def phrase(self) -> str:
        """Returns the name with a word that says whose name it is."""
        return _PHRASES.get(self.kind, "") + self.name


def make_annotation(kind: str, key: str, known: ResolvedName) -> NameAnnotation:
    """Makes the annotation of an id from its resolved name."""
    return NameAnnotation(kind, key, known.name, None if known.row == EVERYWHERE else known.row)


def list_kinds(session: Analysis, row: int, tree: Tree) -> set[str]:
    """Returns the kinds of ids in a row's tree."""
    return {kind for kind, _, _ in _find_ids(session, row, tree)}


def annotate(resolver: NameResolver, row: int, tree: Tree) -> list[NameAnnotation]:
    """Adds names to the labels of the ids in a row's tree, as far as known; returns the annotations, each once."""
    found: dict[tuple[str, str], NameAnnotation] = {}
    for kind, scope, node in _find_ids(resolver.session, row, tree):
        known = resolver.find(kind, str(node.value), row, scope)
        if known is not None:
            named = make_annotation(kind, f"of {scope} {node.value}" if scope else str(node.value), known)
            found.setdefault(named[:2], named)
            _add_text(node, named.phrase)
    return list(found.values())


def _find_ids(session: Analysis, row: int, tree: Tree) -> Iterator[tuple[str, str | None, Field]]:
    """Yields the nodes with ids in a row's tree, with their kind and scope."""
    dissector = find_dissector(session, row)
    if dissector is not None:
        for reference in defects.list_references(dissector, read_context(session, row)):
            for node in _find_nodes(tree.fields, reference.path):
                if type(node.value) in (int, str) and node.value not in _NOBODY:
                    yield reference.kind, reference.scope, node


def _add_text(node: Field, text: str) -> None:
    """Appends a text to the label of a node."""
    before = defects.format_label(node).text
    text_label = text if before is None else f"{before}, {text}"
    node.spec = replace(node.spec, label=lambda _: text_label)


def _find_nodes(nodes: list[Field], path: Path) -> Iterator[Field]:
    """Yields the nodes at the end of a path of names; for an array on the path, those of each element."""
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
