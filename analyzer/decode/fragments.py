"""Which messages carry fragments of the same whole, and that whole: looked for from one of them, or kept in mind by who
goes through all.

Theory. The dissector says by a message's first bytes which fragment it carries (dissectors.fragment). The others
stand in the same direction of the same connection and do the same, before the one that completes it and mostly next to
it. So they are looked for from there backwards, until all are found or an earlier delivery of the same ends, and among
so many messages at most: where one is missing, all of these are read. Who goes through a capture would read them again
and again if much is missing, so for him each is read once.

A message with a fragment is decoded together with those that carry the others, as many
bytes together as may be decompressed. Only who looks at such a message pays for it. One that completes something is
shown the same while packets come as in the file, for it asks nothing of what comes later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import find_dissector, open_window, read_cell, read_context, read_message
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Body, Dissector
from dissectors.field import Tree
from dissectors.fragment import Fragment, Other
from dissectors.wire.budget import get_allowance

MOST = 10_000
"""Messages that are searched for the other fragments of one."""

_STEP = 1 << 16
"""Rows of which those that do the same are found at once."""

_ALIKE = ("stream", "side", "protocol", "code")
"""The columns in which rows with fragments of one message are equal."""


class FragmentRow(NamedTuple):
    """A row and the fragment that its message carries."""

    row: int
    fragment: Fragment


Before: TypeAlias = Callable[[int, Fragment], dict[int, int]]
"""Finds the rows of the other fragments of a row's message, the nearest before it, by the number of the fragment."""


def read_fragment(session: Analysis, dissector: Dissector, row: int) -> Fragment | None:
    """Returns the fragment that the message of a row carries, or None; no error of the dissector leaves it."""
    first = session.rows.cell("pieces", row)
    at = session.engine.pieces.cell("at", first)
    if session.rows.cell("count", row) == 1 and at >= 0:
        length = session.engine.pieces.cell("length", first)
        prefix = session.source.store.read_bytes(at, min(length, dissector.prefix))
    else:
        prefix = open_window(session, row).read_bytes(0, dissector.prefix)
    fragments = dissector.fragments
    return None if fragments is None else defects.call_or_default(partial(fragments.read_fragment, prefix), None)


def find_before(session: Analysis, row: int, mine: Fragment) -> dict[int, int]:
    """The rows that carry the earlier fragments of the same message, by fragment number: the nearest of each."""
    if not mine.number:
        return {}
    return _select_nearest(_find_same(session, _find_alike_before(session, row, session.rows.first), mine), mine)


def find_completing(session: Analysis, row: int, mine: Fragment) -> FragmentRow | None:
    """Returns the row after one that has the last fragment of the same message, unless it begins again before."""
    for each in _find_same(session, _find_alike_behind(session, row), mine):
        if each.fragment.completes or each.fragment.number <= mine.number:
            return each if each.fragment.completes else None
    return None


class FragmentTracker:
    """Finds earlier fragments as find_before() does, for rows that come in ascending order."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._lanes: dict[tuple[int, ...], _FragmentLane] = {}

    def find_before(self, row: int, mine: Fragment) -> dict[int, int]:
        """The rows that carry the earlier fragments of the same message, by fragment number: the nearest of each."""
        session = self._session
        lane = self._lanes.setdefault(tuple(session.rows.cell(name, row) for name in _ALIKE), _FragmentLane())
        alike = islice(_find_alike_before(session, row, max(lane.stop, session.rows.first)), MOST)
        for each in reversed(list(alike)):
            dissector = find_dissector(session, each)
            lane.add(each, None if dissector is None else read_fragment(session, dissector, each))
        lane.stop = row
        return _select_nearest(reversed(lane.wholes.get(mine.whole, ())), mine)


class _FragmentLane:
    """The latest rows that do the same in one direction of a connection, and what they carry; stop: behind them."""

    def __init__(self) -> None:
        self.stop = 0
        self.wholes: dict[object, deque[FragmentRow]] = {}
        self._latest: deque[Fragment | None] = deque()

    def add(self, row: int, fragment: Fragment | None) -> None:
        """Takes one in, and forgets one that is too far away."""
        self._latest.append(fragment)
        if fragment is not None:
            self.wholes.setdefault(fragment.whole, deque()).append(FragmentRow(row, fragment))
        oldest = self._latest.popleft() if len(self._latest) > MOST else None
        if oldest is not None:
            rows = self.wholes[oldest.whole]
            rows.popleft()
            if not rows:
                del self.wholes[oldest.whole]


def _select_nearest(found: Iterable[FragmentRow], mine: Fragment) -> dict[int, int]:
    """Selects, of the rows with fragments of the same message, from the nearest on, those of one delivery."""
    rows: dict[int, int] = {}
    for row, fragment in found:
        if fragment.completes or fragment.number >= mine.number:
            break
        rows.setdefault(fragment.number, row)
        if len(rows) == mine.number:
            break
    return rows


def _find_same(session: Analysis, rows: Iterator[int], mine: Fragment) -> Iterator[FragmentRow]:
    """Yields those of the next rows, with the same operation, that carry fragments of the same message."""
    for each in islice(rows, MOST):
        dissector = find_dissector(session, each)
        fragment = None if dissector is None else read_fragment(session, dissector, each)
        if fragment is not None and fragment.whole == mine.whole:
            yield FragmentRow(each, fragment)


def _find_alike_before(session: Analysis, row: int, first: int) -> Iterator[int]:
    """The rows before one that do the same in its direction of its connection, from the nearest back to the first."""
    for stop in range(row, first, -_STEP):
        yield from _find_alike(session, row, max(stop - _STEP, first), stop)[::-1].tolist()


def _find_alike_behind(session: Analysis, row: int) -> Iterator[int]:
    stop = len(session.rows)
    for first in range(row + 1, stop, _STEP):
        yield from _find_alike(session, row, first, min(first + _STEP, stop)).tolist()


def _find_alike(session: Analysis, row: int, first: int, stop: int) -> Ints:
    alike = np.ones(stop - first, bool)
    for name in _ALIKE:
        alike &= session.rows.column(name)[first:stop] == session.rows.cell(name, row)
    found: Ints = np.flatnonzero(alike) + first
    return found


def decode_tree_with_message(session: Analysis, row: int) -> Tree:
    """Decodes a row to a tree, with the reassembled message as a source of its own."""
    found = find_fragment(session, row)
    if found is None:
        return decode_tree(session, row)
    return decode_tree(session, row, partial(defects.decode_reassembled, others=_find_others(session, row, found)))


def decode_reassembled(session: Analysis, row: int, mine: Fragment, find: Before) -> tuple[Body, list[int]] | None:
    """Returns the values of a row with the last fragment, and the rows of all fragments; None if they cannot be read.

    In the values, the reassembled content is in place of the fragment.
    """
    dissector = find_dissector(session, row)
    if dissector is None:
        return None
    others = _collect_parts(session, row, find(row, mine))
    fragments, message, context = dissector.fragments, read_message(session, row), read_context(session, row)
    body = (
        None
        if fragments is None
        else defects.call_or_default(partial(fragments.values, message, context, others), None)
    )
    return None if body is None else (body, [*(other.row - 1 for other in others), row])


def find_fragment(session: Analysis, row: int) -> Fragment | None:
    """Returns the fragment that the message of a row carries; None if it carries none."""
    dissector = find_dissector(session, row)
    fragments = None if dissector is None else dissector.fragments
    if dissector is None or fragments is None or read_cell(session, "code", row) not in fragments.codes:
        return None
    return read_fragment(session, dissector, row)


def _find_others(session: Analysis, row: int, mine: Fragment) -> list[Other]:
    """The messages that Dissector.joined is to get beside a row."""
    if mine.completes:
        return _collect_parts(session, row, find_before(session, row, mine))
    last = find_completing(session, row, mine)
    return [] if last is None else [Other(last.row + 1, last.fragment.number, None)]


def _collect_parts(session: Analysis, row: int, found: Mapping[int, int]) -> list[Other]:
    """Reads the messages with the other fragments, whose rows are given by fragment number."""
    lengths = session.rows.column("length")
    total_bytes = int(lengths[row]) + sum(int(lengths[each]) for each in found.values())
    return [
        Other(each + 1, number, read_message(session, each) if total_bytes <= get_allowance() else None)
        for number, each in sorted(found.items(), key=lambda item: item[1])
    ]
