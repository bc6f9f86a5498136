"""JSON to plain values, by the standard library's parser: the fast fast path of dissectors.wire.json_text.

Theory. Most of the JSON on the wire is strict, and a C parser reads it fifty times faster than anything that keeps
places. What it refuses (fastjson's bare keys, broken text), what nests deeper than the tree goes, and what holds a
secret raises Unfit: then the nodes are made, and the values folded out of them.
"""

from __future__ import annotations

import json

from dissectors.wire.json_text import DEPTH
from dissectors.wire.nonfinite import float_value
from dissectors.wire.varint import Unfit

_DECODER = json.JSONDecoder(
    parse_float=lambda text: float_value(float(text)),
    parse_constant=lambda text: float_value(float(text)),
    strict=False,
)
_SPACE = " \t\r\n"


def decode_json(data: bytes) -> object:
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
    if data.count(b"{") + data.count(b"[") > DEPTH and _is_too_deep(value):
        raise Unfit
    return value


def has_duplicate_key(data: bytes) -> bool:
    """Whether a key stands twice in an object; of JSON that json_value() could read, which keeps the last one alone."""
    found: list[bool] = []

    def note_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
        kept = dict(pairs)
        found.append(len(kept) < len(pairs))
        return kept

    json.loads(data, object_pairs_hook=note_duplicates, strict=False)
    return any(found)


def decode_json_body(data: bytes) -> object:
    """The same for a body: Unfit where something in it may have to be hidden."""
    from dissectors.rocketmq.secrets import may_hide_secret  # headers alone need none

    if may_hide_secret(data):
        raise Unfit
    return decode_json(data)


def _is_too_deep(value: object) -> bool:
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
