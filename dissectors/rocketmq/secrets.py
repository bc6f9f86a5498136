"""Secrets in RocketMQ's frames: fields by their names, and broken bytes that may hold one.

Facts. Clients sign requests in extFields (AclUtils: AccessKey, which is no secret, Signature, SecurityToken); commands
about users and old access rules have passwords and secret keys in headers or JSON bodies. fastjson matches a key to a
field in any case, and with `_` or `-` in it; a key may also be spelt with escapes.

Theory. In a damaged frame, names no longer tell what is a secret (wire.hiding). JSON shows where each value ends, so
only the unread part is hidden. In a binary header a wrong length shifts everything behind it, so all of extFields is
hidden, and the remark, which may contain them. A frame that names no secret has none to hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from dissectors.field import Field, Tree
from dissectors.wire.hiding import HIDDEN, hide_node, hide_unread
from dissectors.wire.specs import UNDECODED

_SECRET = re.compile(
    r"signature|security[_-]?token|(?:access[_-]?(?:key[_-]?)?)?secret(?:[_-]?key)?|passw(?:or)?d", re.IGNORECASE
)
_ESCAPES = (b"\\u004", b"\\u005", b"\\u006", b"\\u007", b"\\x")
"""What letters may be spelt with."""

HINT = re.compile(
    rb"signature|security_?token|secret_?key|passw(?:or)?d|credential|token[\"' ]*[=:]|\\(?:u00[4-7]|x[4-7])",
    re.IGNORECASE,
)
"""What makes bytes of which nobody knows how they are written a secret: an answer whose request is not there."""

_SETTING = re.compile(r"password|passwd|secret|credential|authenticationuser|token$", re.IGNORECASE)
_NAME_ENDS = re.compile(r"(?<!\\)[=:\s]")
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_GOES_ON = re.compile(r"\\\r?\n[ \t]*")
_LONGEST = 24
_REMARK, _BODY = "remark", "body"
_BINARY = 1

_OF_USERS = frozenset({50, 54, 3001, 3002, 3004, 3005})
"""Operations whose bodies are about users or access keys."""


class SecretNames(Set[str]):
    """The names of secret fields, in every spelling that a peer accepts."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(name) <= _LONGEST and _SECRET.fullmatch(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(("Signature", "SecurityToken", "secretKey", "password"))

    def __len__(self) -> int:
        return len(tuple(iter(self)))


SECRETS = SecretNames()


def mentions_secret(data: bytes) -> bool:
    """Returns whether bytes contain the name of a secret, in upper or lower case."""
    lower = data.lower()
    return b"signature" in lower or b"token" in lower or b"secret" in lower or b"passw" in lower


def may_hide_secret(data: bytes) -> bool:
    """Tells whether JSON may contain a secret, whose name may be spelt with escapes."""
    return mentions_secret(data) or any(each in data for each in _ESCAPES)


def is_sensitive(text: str) -> bool:
    """Tells whether one of the settings in a text is a secret, as java.util.Properties reads it.

    A name ends at `=`, `:` or a space, a line goes on behind a backslash, and a letter may be an escape.
    """
    if "\\" in text:
        text = _UNICODE.sub(lambda found: chr(int(found[1], 16)), _GOES_ON.sub("", text))
    return any(_is_secret_setting(line.strip()) for line in text.splitlines())


def _is_secret_setting(line: str) -> bool:
    name, *value = _NAME_ENDS.split(line, maxsplit=1)
    return bool(value and value[0].strip(" =:\t") and _SETTING.search(name))


def hide_broken(tree: Tree, message: bytes, code: int | None) -> Tree:
    """Hides what may be a secret in the tree of a frame that could not be read to its end. Returns the tree."""
    if not tree.findings or not (_is_broken(tree.fields) or _is_refused(tree)):
        return tree
    if code not in _OF_USERS and not may_hide_secret(message):
        return tree
    for node in tree.fields:
        if node.spec.name == _BODY:
            _hide_body(node, message)
        elif message[4:5] == bytes([_BINARY]) and _is_broken(node.children):
            _hide_texts(node, message)
    hide_unread(tree.fields)
    return tree


def _is_broken(nodes: list[Field]) -> bool:
    return any(node.spec is UNDECODED or _is_broken(node.children) for node in nodes)


def _is_refused(tree: Tree) -> bool:
    """Whether a body is bytes although its operation says otherwise."""
    return any(finding.code == "malformed-body" for finding in tree.findings)


def _hide_body(node: Field, message: bytes) -> None:
    """A body that is plain bytes may be what a wrong length has cut off from the header."""
    if not node.children and isinstance(node.value, bytes):
        hide_node(node, message)


def _hide_texts(header: Field, message: bytes) -> None:
    """The remark, extFields and what is behind them in a binary header."""
    at = next((index for index, node in enumerate(header.children) if node.spec.name == _REMARK), None)
    if at is not None:
        begin, end = header.children[at].offset, header.offset + header.length
        header.children[at:] = [Field(HIDDEN, None, begin, end - begin)]
        hide_node(header.children[at], message)
