"""Finds the next message that contains a text or bytes, and the position of the match in it.

Theory. The search target is a filter like any other, so the command line finds the same (`list -Y 'text contains
"x"'`). Here rows are tested from a start on, forwards or backwards, a few at a time, so that the caller can show
progress or stop. In a message that was found, the target is searched again in its tree, to find the field and the
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.query.fields.leaves import list_texts
from analyzer.query.filter import Filter, compile_filter
from analyzer.query.filter.literals import quote
from dissectors.field import Field, Tree

STEP = 1024
"""Number of rows that are tested at a time."""

_HEX = re.compile(r"(?:0[xX])?(?:[0-9A-Fa-f]{2}[\s:.-]?)+")


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """The target of a search: a `text` in decoded messages, `data` in their bytes, or rows that match a filter."""

    filter: Filter
    text: str | None = None
    data: bytes | None = None


class TreePlace(NamedTuple):
    """A place in a tree: the indexes of the nodes from the outside in (empty: no single node), and the bytes."""

    path: tuple[int, ...]
    source: int
    offset: int
    length: int


def parse_text(text: str) -> SearchTarget:
    """Makes the target for a text in decoded messages and summary lines. Raises UserError for an empty text."""
    if not text:
        raise UserError("The search text is empty. Write a text.")
    return SearchTarget(compile_filter(f"lower(text) contains {quote(text.lower())}"), text=text.lower())


def parse_bytes(text: str) -> SearchTarget:
    """Makes the target for bytes: hexadecimal, with or without separators, or quoted text. Raises UserError."""
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
        data = text[1:-1].encode("utf-8", "surrogatepass")
    elif _HEX.fullmatch(text.strip()):
        data = bytes.fromhex(re.sub(r"^0[xX]|[\s:.-]", "", text.strip()))
    else:
        raise UserError(f"{text!r} is not hex. Write hex digits, such as 00:0a or 000a, or a text in quotes.")
    escaped = "".join(f"\\x{byte:02x}" for byte in data)
    return SearchTarget(compile_filter(f'bytes contains "{escaped}"'), data=data)


def parse_filter(text: str) -> SearchTarget:
    """Makes the target for messages that match a filter. Raises FilterError."""
    return SearchTarget(compile_filter(text))


def find_row(
    sought: SearchTarget,
    reader: RowReader,
    start: int,
    *,
    forward: bool = True,
    among: Ints | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> int | None:
    """Returns the first row after `start` that matches the target, or None.

    The search wraps around: after the last row it continues with the first, up to `start` itself. among: the rows that
    are searched, rising; None: all. `stop` is called every STEP rows.
    """
    rows = np.arange(reader.session.rows.first, len(reader.session.rows)) if among is None else among
    for some in _iterate_turns(rows, start, forward):
        if stop():
            return None
        matching = sought.filter.select_rows(reader, np.sort(some))
        if len(matching):
            return int(matching[0] if forward else matching[-1])
    return None


def _iterate_turns(rows: Ints, start: int, forward: bool) -> Iterator[Ints]:
    """Yields all rows once, in search order, a few at a time, never rows from both sides of `start` together."""
    turn = int(np.searchsorted(rows, start, "right" if forward else "left"))
    before, behind = rows[:turn], rows[turn:]
    for run in (behind, before) if forward else (before[::-1], behind[::-1]):
        for first in range(0, len(run), STEP):
            yield run[first : first + STEP]


def find_places(sought: SearchTarget, tree: Tree) -> list[TreePlace]:
    """Returns where a message has the target: fields with the text, or bytes of a source; empty for a filter."""
    if sought.data is not None:
        return [place for source in tree.sources for place in _find_in_bytes(sought.data, source.data, source.id)]
    if sought.text is not None:
        return list(_find_in_fields(sought.text, tree.fields, ()))
    return []


def _find_in_bytes(wanted: bytes, data: bytes, source: int) -> Iterator[TreePlace]:
    at = data.find(wanted)
    while at >= 0:
        yield TreePlace((), source, at, len(wanted))
        at = data.find(wanted, at + 1)


def _find_in_fields(wanted: str, fields: list[Field], around: tuple[int, ...]) -> Iterator[TreePlace]:
    for index, node in enumerate(fields):
        path = (*around, index)
        texts = [node.text or "", *(list_texts(node.value) if not node.children else ())]
        if any(wanted in each.lower() for each in texts):
            yield TreePlace(path, node.source, node.offset, node.length)
        yield from _find_in_fields(wanted, node.children, path)
