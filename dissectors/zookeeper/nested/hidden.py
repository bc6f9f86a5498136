"""Hides messages that may hold a secret and were not read to their end (wire.hiding).

Theory. Passwords of sessions, credentials and tokens are in messages of a few kinds. Passwords and their hashes are in
access lists of many, but never without the name of their scheme in front of them.

A connect that is damaged, or that is inside a frame whose length is damaged, reads as some other message. One of its
marks is left then: the length of its frame, its version 0 (which reads as xid 0), or the length of its password.
"""

from __future__ import annotations

from dissectors.field import Field, Tree
from dissectors.wire.hiding import hide_body, hide_broken, hide_rest, hide_unread
from dissectors.zookeeper.header import CONNECT_SIZES, PASSWORD
from dissectors.zookeeper.nested import AUTH, SASL
from dissectors.zookeeper.nested.content import SECRET_SCHEMES

_CONNECT_SIZES = frozenset(size for sizes in CONNECT_SIZES.values() for size in sizes if size - PASSWORD in sizes)
_PASSWORD_LENGTH = PASSWORD.to_bytes(4)
_MARKS = tuple(scheme.encode() for scheme in SECRET_SCHEMES)


def is_sensitive_message(message: bytes, code: int | None, connects: bool) -> bool:
    """Returns whether a client's message or its answer may hold a secret; `connects`: it opens a session."""
    return connects or code in (AUTH, SASL) or names_scheme(message) or resembles_connect(message)


def resembles_connect(message: bytes) -> bool:
    """Returns whether a message that does not fit its layout may be a connect, or contain one."""
    size, version = int.from_bytes(message[:4]), message[4:8]
    return version == bytes(4) or size in _CONNECT_SIZES or _PASSWORD_LENGTH in message


def names_scheme(message: bytes) -> bool:
    """Returns whether there may be an access list with a secret in it."""
    return any(mark in message for mark in _MARKS)


def hide_framed(tree: Tree, body: Field | None, message: bytes, *, misread: bool) -> None:
    """Hides what was not read of a sensitive message behind a length; `misread`: and what was read."""
    if any(finding.code in {"malformed-body", "trailing-bytes"} for finding in tree.findings):
        if misread and body is not None:
            hide_body(tree, body, message)
        else:
            hide_broken(tree, body, message)


def hide_unframed(nodes: list[Field]) -> None:
    """Hides the unread rest of a message without a length prefix: only its layout says where it ends."""
    hide_unread(nodes)
    _hide_rests(nodes)


def _hide_rests(nodes: list[Field]) -> None:
    hide_rest(nodes)
    for node in nodes:
        _hide_rests(node.children)
