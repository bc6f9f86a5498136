"""What is hidden of messages that may hold a secret and were not read to their end (wire.hiding).

Theory. Passwords of sessions, credentials and tokens are in messages of a few kinds; passwords and their hashes are in
access lists of many, but never without the name of their scheme in front of them.
"""

from __future__ import annotations

from dissectors.field import Field, Tree
from dissectors.wire.hiding import hide_broken, hide_rest, hide_unread
from dissectors.zookeeper.inside import AUTH, SASL
from dissectors.zookeeper.inside.credentials import SECRET_SCHEMES

_MARKS = tuple(scheme.encode() for scheme in SECRET_SCHEMES)


def is_delicate(message: bytes, code: int | None, connects: bool) -> bool:
    """Whether a client's message or its answer may hold a secret; `connects`: it opens a session."""
    return connects or code in (AUTH, SASL) or names_scheme(message)


def names_scheme(message: bytes) -> bool:
    """Whether there may be an access list with a secret in it."""
    return any(mark in message for mark in _MARKS)


def hide_framed(tree: Tree, body: Field | None, message: bytes) -> None:
    """Hides what was not read of a delicate message behind a length."""
    if any(finding.code in {"malformed-body", "trailing-bytes"} for finding in tree.findings):
        hide_broken(tree, body, message)


def hide_unframed(nodes: list[Field]) -> None:
    """The same of one without: where it ends, nothing but its layout tells."""
    hide_unread(nodes)
    _hide_rests(nodes)


def _hide_rests(nodes: list[Field]) -> None:
    hide_rest(nodes)
    for node in nodes:
        _hide_rests(node.children)
