"""Strict JSON, nested no deeper than json_text.py reads, by the standard library's parser.

Theory. json_text.py accepts much more than JSON, and its nodes cost a thousand times as much. Bytes of unknown origin
are therefore parsed here first. Their depth is counted by brackets.
"""

from __future__ import annotations

import json
import re

from dissectors.wire.json_text import DEPTH
from dissectors.wire.nonfinite import float_value
from dissectors.wire.varint import Unfit

_DECODER = json.JSONDecoder(
    parse_float=lambda text: float_value(float(text)),
    parse_constant=lambda text: float_value(float(text)),
    strict=False,
)
_SPACE = " \t\r\n"

_TEXT = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_INNERMOST = re.compile(rb"\[\]|\{\}")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_json(data: bytes) -> bool:
    """Returns whether these bytes are one value of JSON and no more, that json_text.read_json reads."""
    return _is_strict(data) and not _is_too_deep(data)


def _is_strict(data: bytes) -> bool:
    try:
        json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    """NaN and the infinities are no JSON."""
    raise ValueError(constant)


def _is_too_deep(data: bytes) -> bool:
    """Whether JSON nests too deep: its brackets, layer by layer from within."""
    if data.count(b"{") + data.count(b"[") <= DEPTH:
        return False
    brackets = _TEXT.sub(b"", data).translate(None, _NO_BRACKETS)
    for _ in range(DEPTH):
        brackets = _INNERMOST.sub(b"", brackets)
    return bool(brackets)


def decode_json(data: bytes) -> object:
    """Decodes an object or array; its secrets are not masked. Raises Unfit for anything else."""
    try:
        text = data.decode()
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        raise Unfit from None
    if end != len(text) and text[end:].strip(_SPACE):
        raise Unfit
    if (type(value) is not dict and type(value) is not list) or _is_too_deep(data):
        raise Unfit
    return value


def has_duplicate_key(data: bytes) -> bool:
    """Whether a key stands twice in an object; of JSON that decode_json() reads, which keeps the last one alone."""
    found: list[bool] = []

    def note_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
        unique = dict(pairs)
        found.append(len(unique) < len(pairs))
        return unique

    json.loads(data, object_pairs_hook=note_duplicates, strict=False)
    return any(found)
