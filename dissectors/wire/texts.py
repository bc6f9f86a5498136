"""Labels of nodes in a finished tree: a text of one node alone, bytes that are text, runs of bits."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from dissectors.field import Field, FieldSpec
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


FindSibling: TypeAlias = Callable[[str], Any]
"""The value of a node beside, by name; None where there is none."""

TextFormatter: TypeAlias = Callable[[Any, FindSibling], "str | None"]

_MOST_SIBLINGS = 64
"""Nodes that are looked at for what explains another: an object in JSON may have a million of one name."""


def format_by_siblings(formatter: TextFormatter, node: Field, nodes: list[Field]) -> str | None:
    """Returns the text of a node's value, which may depend on the nodes beside it, `nodes`."""
    return formatter(node.value, lambda name: _find_sibling(nodes, name))


def _find_sibling(nodes: list[Field], name: str) -> Any:
    return next((node.value for node in islice(nodes, _MOST_SIBLINGS) if node.spec.name == name), None)


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
