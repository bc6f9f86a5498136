"""The fields that have content of their own, opened: in values, and in trees, which fold to the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dissectors.field import Field, FieldSpec, Tree
from dissectors.wire.embedded import Holder, embed
from dissectors.wire.parts import ValuePart, part_values, take_apart
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LENGTH, OpenedSpec, PartedSpec
from dissectors.zookeeper.nested.credentials import CREDENTIALS, credential_parts, identity_parts

CONFIGURATION = "QuorumConfig"
CONFIG_NODE = "/zookeeper/config"
"""The node that holds it (ZooDefs.CONFIG_NODE)."""


class NestedContent(NamedTuple):
    """The parts of a field's content. `name`: its name among the values; None: for trees alone."""

    parts: tuple[ValuePart, ...]
    name: str | None = None


SiblingReader = Callable[[str], object]
"""A value in the same record as the field, by name; None where there is none."""

ContentDetector = Callable[[bytes, SiblingReader], NestedContent | None]


def _token(data: bytes, read_sibling: SiblingReader) -> NestedContent | None:
    from dissectors.zookeeper.nested.tokens import token_of  # most connections have none

    found = token_of(data)
    return None if found is None else NestedContent(found.parts, found.mechanism)


def _auth(data: bytes, read_sibling: SiblingReader) -> NestedContent | None:
    parts = credential_parts(read_sibling("scheme"), data)
    return None if parts is None else NestedContent(parts, CREDENTIALS)


def _identity(data: bytes, read_sibling: SiblingReader) -> NestedContent | None:
    parts = identity_parts(read_sibling("scheme"), data)
    return None if parts is None else NestedContent(parts)


def _text(data: bytes, read_sibling: SiblingReader) -> NestedContent | None:
    from dissectors.zookeeper.nested.configuration import configuration_parts  # few messages have one

    parts = configuration_parts(data)
    return None if parts is None else NestedContent(parts)


def _node_data(data: bytes, read_sibling: SiblingReader) -> NestedContent | None:
    return _text(data, read_sibling) if read_sibling("path") == CONFIG_NODE else None


def _answer(data: bytes, read_sibling: SiblingReader) -> NestedContent | None:
    found = _text(data, read_sibling)
    return None if found is None else found._replace(name=CONFIGURATION)


_SECRETS: Mapping[str, ContentDetector] = {"token": _token, "auth": _auth, "id": _identity}
_TEXTS: Mapping[str, ContentDetector] = {
    "config": _text,
    "joiningServers": _text,
    "newMembers": _text,
    "data": _node_data,
}
"""By the field's name; the former are secrets, and a field of that name that is none is another one."""

_ANSWER: Mapping[str, ContentDetector] = {**_TEXTS, "data": _answer}


def open_values(values: dict[str, Any], *, answers_reconfig: bool = False) -> None:
    """Puts what fields of one record say beside them. answers_reconfig: the record is the answer to that request."""
    looks = {**_SECRETS, **({"data": _answer} if answers_reconfig else {})}
    for name in looks.keys() & values.keys():
        value = values[name]
        data = value.reveal() if isinstance(value, Secret) else None if name in _SECRETS else value
        if isinstance(data, bytes):
            content = looks[name](data, values.get)
            if content is not None and content.name is not None:
                values[name] = embed(value, part_values(content.parts), content.name)


def open_tree(tree: Tree, *, answers_reconfig: bool = False) -> Tree:
    """Adds the content of fields below their nodes, for all nodes of a message."""
    _open_nodes(tree, tree.fields, (), _ANSWER if answers_reconfig else _TEXTS)
    return tree


def _open_nodes(tree: Tree, nodes: list[Field], path: tuple[int, ...], texts: Mapping[str, ContentDetector]) -> None:
    for index, node in enumerate(nodes):
        if node.children:
            _open_nodes(tree, node.children, (*path, index), texts)
            continue
        look = (_SECRETS if isinstance(node.value, Secret) else texts).get(node.spec.name)
        if look is not None and isinstance(node.value, Secret | bytes | str):
            data = tree.sources[node.source].data[node.offset + node.head : node.offset + node.length]
            content = look(data, lambda name: next((node.value for node in nodes if node.spec.name == name), None))
            if content is not None:
                take_apart(tree, node, (*path, index), content.parts, _spec(node, content), LENGTH["int"])


def _spec(node: Field, content: NestedContent) -> FieldSpec:
    spec, secret = node.spec, isinstance(node.value, Secret)
    if content.name is None:
        return PartedSpec(spec.name, spec.type, spec.label, secret)
    return (OpenedSpec if secret else Holder)(spec.name, spec.type, spec.label, secret, content.name)
