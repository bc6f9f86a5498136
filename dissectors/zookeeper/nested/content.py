"""The fields that have content of their own, opened: in values, and in trees, which fold to the same.

Facts (DigestAuthenticationProvider). For scheme `digest` a client sends `USER:PASSWORD`, and access lists have
`USER:HASH` with the hash, SHA-1 in base64, of the two. `super` is the administrator's name in the server's own list; it
is authenticated as a digest too. A hash can be tried against passwords, so it is as secret as they are; the user is in
every log. In a list that a client sends, scheme `auth` stands for its authenticated identities, whatever is beside it.
But people pass `auth:USER:PASSWORD:cdrwa` to zkCli.sh, which sends the password as it is. For other schemes the server
examines the connection (ip, x509, sasl) or nothing (world), not the sent bytes. Their content is unknown, so it stays a
secret.

Facts (ZooKeeperSaslClient, ZooKeeperSaslServer, SaslQuorumAuthLearner). The mechanism is never named: both sides take
it from their own configuration, DIGEST-MD5 if the login has no Kerberos ticket, otherwise GSSAPI. In DIGEST-MD5 a
client's first token is empty, and the answer to a failed step has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dissectors.field import Field, FieldSpec, Tree
from dissectors.wire.embedded import EmbeddedValue, Holder, embed
from dissectors.wire.parts import ValuePart, hide_part, part_values, show_part, take_apart, text_of
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LENGTH, OpenedSpec, PartedSpec

if TYPE_CHECKING:
    from dissectors.wire.sasl.token import Token

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


CREDENTIALS = "DigestCredentials"
_DIGEST_SCHEMES = frozenset({"digest", "super"})
_HIDDEN: Mapping[object, str] = {**dict.fromkeys(_DIGEST_SCHEMES, "hash"), "auth": "password"}
"""What stands behind the user in an access list, by scheme."""

SECRET_SCHEMES = tuple(sorted(map(str, _HIDDEN)))


def credential_parts(scheme: object, data: bytes) -> tuple[ValuePart, ...] | None:
    """Returns user and password; None where nobody says what the bytes are."""
    return _split_at_colon(data, "password") if scheme in _DIGEST_SCHEMES else None


def identity_parts(scheme: object, data: bytes) -> tuple[ValuePart, ...] | None:
    """Returns user and secret of an entry in an access list; a hash has no colon in it."""
    secret = _HIDDEN.get(scheme)
    return None if secret is None or (secret == "hash" and data.count(b":") != 1) else _split_at_colon(data, secret)


def _split_at_colon(data: bytes, secret: str) -> tuple[ValuePart, ...] | None:
    """At the first colon; without one all may be the secret."""
    at = data.find(b":")
    if at < 0:
        return None
    return show_part("user", text_of(data[:at]), 0, at), hide_part(secret, data, at, len(data), 1)


def token_of(data: bytes) -> Token | None:
    """Reads a SASL token by its form; None if it is empty or of no known form."""
    from dissectors.wire.sasl.digest_md5 import digest_token  # most connections have none
    from dissectors.wire.sasl.gssapi import gssapi_token

    return digest_token(data) or gssapi_token(data, None)


def token_words(value: object) -> tuple[str, ...]:
    """Returns the words of the info line for a token. A null token has none."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    data = value.reveal() if isinstance(value, Secret) else None
    if not isinstance(data, bytes):
        return ()
    token = token_of(data)
    if token is not None:
        return (token.mechanism, *token.words)
    return (f"token, {len(data)} byte{'' if len(data) == 1 else 's'}",) if data else ("empty token",)
