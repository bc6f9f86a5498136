"""Labels of nodes in a finished tree: a text of one node alone, bytes that are text, runs of bits."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from functools import partial
from typing import Any

from dissectors.field import FieldSpec
from dissectors.slotted import replace

_LONGEST = 200
"""Characters of a payload's text beside it."""

_MOST_RUNS = 20
"""Runs of bits that are named."""

_UTF8 = getincrementaldecoder("utf-8")
_ONES = re.compile("1+")
_LAYOUT = str.maketrans("", "", "\t\r\n")


def with_text(spec: FieldSpec, text: str) -> FieldSpec:
    """Returns the spec of a node with this text for people."""
    return replace(spec, label=partial(_say_text, text))


def _say_text(text: str, _: object) -> str:
    return text


def printable(data: Any) -> str | None:
    """Returns bytes that are text, up to a length."""
    if not isinstance(data, bytes) or not data:
        return None
    head = data[: 4 * _LONGEST]
    try:
        text = _UTF8().decode(head, final=len(head) == len(data))
    except UnicodeDecodeError:
        return None
    if not text.translate(_LAYOUT).isprintable():
        return None
    return f'"{text}"' if len(text) <= _LONGEST and len(head) == len(data) else f'"{text[:_LONGEST]}"...'


def runs_text(bits: str, first: int = 0) -> tuple[str, bool]:
    """Formats the positions of one bits, from `first`, as `0-3, 7`; also returns whether there are several."""
    runs = [(found.start() + first, found.end() + first - 1) for found in _ONES.finditer(bits)]
    shown = [f"{start}-{last}" if start < last else f"{start}" for start, last in runs[:_MOST_RUNS]]
    more = [f"{len(runs) - _MOST_RUNS} more"] if len(runs) > _MOST_RUNS else []
    return ", ".join(shown + more), len(runs) > 1 or any(start < last for start, last in runs)
