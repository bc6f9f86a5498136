"""Recognises bytes that are strict JSON, nested no deeper than json_text.py reads.

Theory. json_text.py accepts much more than JSON. Bytes of unknown origin are therefore parsed by the standard library
first, and their depth is counted by brackets, because nodes would cost a thousand times as much.
"""

from __future__ import annotations

import json
import re

from dissectors.wire.json_text import DEPTH

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
