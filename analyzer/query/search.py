"""Finds the next message that contains a text or bytes, and the position of the match in it.

Theory. The search target is a filter like any other, so the command line finds the same (`list -Y 'text contains
"x"'`). Here rows are tested from a start on, forwards or backwards, a few at a time, so that the caller can show
progress or stop. In a message that was found, the target is searched again in its tree, to find the field and the
bytes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.processes.jobs import map_in_order
from analyzer.query.fields.getting import list_texts
from analyzer.query.filter import Filter, compile_filter
from analyzer.query.filter.literals import quote
from dissectors.field import Field, Tree

FIRST_STEP, LARGEST_STEP = 1024, 98_304
"""Number of rows that are tested in the first step, and at most in any step."""

STEPS_ALONE = 3
"""Number of steps before other processes help: most searches end in these."""

STEP_SECONDS = 0.4
"""Target processor time of a step in seconds; the speed of each step gives the size of the next."""

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
    are searched, in ascending order; None: all. `stop` is called before each step.
    """
    for step in iterate_matches(sought, reader, start, forward=forward, among=among):
        if len(step.matches):
            return int(step.matches[0])
        if stop():
            return None
    return None


class SearchStep(NamedTuple):
    """A step of a search: its matches in search order, and the number of rows examined so far."""

    matches: Ints
    examined: int


def iterate_matches(
    sought: SearchTarget,
    reader: RowReader,
    start: int,
    *,
    forward: bool = True,
    among: Ints | None = None,
    jobs: int = 1,
    stop: Callable[[], bool] | None = None,
) -> Iterator[SearchStep]:
    """Yields all matches in search order, step by step; see find_row().

    jobs: number of processes that share the work after the first steps, whose speed gives the size of the others. stop:
    asked while they work; they end when it returns True.
    """
    rows = np.arange(reader.session.rows.first, len(reader.session.rows)) if among is None else among
    turn = int(np.searchsorted(rows, start, "right" if forward else "left"))
    before, behind = rows[:turn], rows[turn:]
    runs = (behind, before) if forward else (before[::-1], behind[::-1])

    def examine(some: Ints) -> Ints:
        matching = sought.filter.select_rows(reader, np.sort(some))
        return matching if forward else matching[::-1]

    def try_part(some: Ints) -> Ints | None:
        """Examines rows in another process. It must not raise: a thread of the program may have forked it."""
        try:
            return examine(some)
        except Exception:
            return None

    size, examined, steps = FIRST_STEP, 0, 0
    for run in runs:
        first = 0
        if stop is not None and stop():
            return
        while first < len(run) and (jobs == 1 or steps < STEPS_ALONE):
            some, began = run[first : first + size], time.thread_time()
            matching = examine(some)
            first, examined, steps = first + len(some), examined + len(some), steps + 1
            yield SearchStep(matching, examined)
            pace = STEP_SECONDS / max(time.thread_time() - began, 1e-4)
            size = max(FIRST_STEP, min(int(len(some) * pace), 4 * size, LARGEST_STEP))
        parts = [run[begin : begin + size] for begin in range(first, len(run), size)]
        for part, found in zip(parts, map_in_order(try_part, parts, jobs, stop), strict=False):  # may be stopped
            examined += len(part)
            yield SearchStep(examine(part) if found is None else found, examined)  # raises the error here


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
