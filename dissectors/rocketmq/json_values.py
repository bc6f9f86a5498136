"""JSON to plain values, by the standard library's parser: the fast twin of dissectors.wire.json_text.

Theory. Most of the JSON on the wire is strict, and a C parser reads it fifty times faster than anything that keeps
places. What it refuses (fastjson's bare keys, broken text), what nests deeper than the tree goes, and what holds a
secret raises Unfit: then the nodes are made, and the values folded out of them.
"""

from __future__ import annotations

import json

from dissectors.wire.json_text import DEPTH
from dissectors.wire.nonfinite import float_value
from dissectors.wire.varint import Unfit

SECRETS = frozenset({"Signature", "signature", "SecurityToken", "securityToken", "secretKey", "password"})
"""Names whose values are secrets, in headers and in JSON bodies."""

_DECODER = json.JSONDecoder(
    parse_float=lambda text: float_value(float(text)),
    parse_constant=lambda text: float_value(float(text)),
    strict=False,
)
_SECRETS = tuple(b'"%b"' % name.encode() for name in sorted(SECRETS))
_SPACE = " \t\r\n"


def json_value(data: bytes) -> object:
    """An object or an array; its secrets are not hidden. Raises Unfit for what is neither, or not strict."""
    try:
        text = data.decode()
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        raise Unfit from None
    if end != len(text) and text[end:].strip(_SPACE):
        raise Unfit
    if type(value) is not dict and type(value) is not list:
        raise Unfit
    if data.count(b"{") + data.count(b"[") > DEPTH and _too_deep(value):
        raise Unfit
    return value


def json_body(data: bytes) -> object:
    """The same for a body: Unfit where something in it is to be hidden."""
    if any(name in data for name in _SECRETS):
        raise Unfit
    return json_value(data)


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node if type(node) is list else ())
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True
