"""Finds the messages that carry fragments of one larger message, and reassembles that message.

Theory. A dissector sees in the first bytes of a message which fragment it carries (dissectors.fragment). The other
fragments are in the same direction of the same connection, in rows with the same operation, mostly right before the one
that completes the message. So find_before() searches backwards from there until all fragments are found or an earlier
delivery of the same message ends. It reads at most MOST rows; if a fragment is missing, it reads all of them. A caller
that reads a whole capture would repeat this search again and again, so FragmentTracker reads each row only once.

A message with a fragment is decoded together with the messages that carry the others, up to the limit for decompressed
bytes. Only callers that show such a message pay for this. The row that completes a message looks the same in a live
capture and in a file, because it needs no later rows.
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
"""Number of rows with the same operation in which the other fragments of a message are searched."""

_STEP = 1 << 16
"""Number of rows that are searched at once for rows with the same operation."""

_ALIKE = ("stream", "side", "protocol", "code")
"""Columns in which all rows with fragments of one message are equal."""


class FragmentRow(NamedTuple):
    """Holds a row and the fragment that its message carries."""

    row: int
    fragment: Fragment


Before: TypeAlias = Callable[[int, Fragment], dict[int, int]]
"""Finds the rows of the other fragments of a row's message: by fragment number, the nearest row before it."""


def read_fragment(session: Analysis, dissector: Dissector, row: int) -> Fragment | None:
    """Returns the fragment that the message of a row carries, or None; also None if the dissector raises an error."""
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
    """Returns the rows with the earlier fragments of the same message: by fragment number, the nearest row of each."""
    if not mine.number:
        return {}
    return _select_nearest(_find_same(session, _find_alike_before(session, row, session.rows.first), mine), mine)


def find_completing(session: Analysis, row: int, mine: Fragment) -> FragmentRow | None:
    """Returns the later row with the last fragment of the same message; None if the message begins again before it."""
    for each in _find_same(session, _find_alike_behind(session, row), mine):
        if each.fragment.completes or each.fragment.number <= mine.number:
            return each if each.fragment.completes else None
    return None


class FragmentTracker:
    """Finds earlier fragments as find_before() does, for rows in ascending order."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._lanes: dict[tuple[int, ...], _FragmentLane] = {}

    def find_before(self, row: int, mine: Fragment) -> dict[int, int]:
        """Returns the rows with the earlier fragments of the same message: by fragment number, the nearest of each."""
        session = self._session
        lane = self._lanes.setdefault(tuple(session.rows.cell(name, row) for name in _ALIKE), _FragmentLane())
        alike = islice(_find_alike_before(session, row, max(lane.stop, session.rows.first)), MOST)
        for each in reversed(list(alike)):
            dissector = find_dissector(session, each)
            lane.add(each, None if dissector is None else read_fragment(session, dissector, each))
        lane.stop = row
        return _select_nearest(reversed(lane.wholes.get(mine.whole, ())), mine)


class _FragmentLane:
    """Holds the latest rows of one operation and direction of a connection; `stop` is after the last of them."""

    def __init__(self) -> None:
        self.stop = 0
        self.wholes: dict[object, deque[FragmentRow]] = {}
        self._latest: deque[Fragment | None] = deque()

    def add(self, row: int, fragment: Fragment | None) -> None:
        """Adds a row, and drops the oldest one if there are more than MOST."""
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
    """Returns the rows of one delivery by fragment number. found: rows of the same message, the nearest first."""
    rows: dict[int, int] = {}
    for row, fragment in found:
        if fragment.completes or fragment.number >= mine.number:
            break
        rows.setdefault(fragment.number, row)
        if len(rows) == mine.number:
            break
    return rows


def _find_same(session: Analysis, rows: Iterator[int], mine: Fragment) -> Iterator[FragmentRow]:
    """Yields those of the next MOST rows that carry fragments of the same message."""
    for each in islice(rows, MOST):
        dissector = find_dissector(session, each)
        fragment = None if dissector is None else read_fragment(session, dissector, each)
        if fragment is not None and fragment.whole == mine.whole:
            yield FragmentRow(each, fragment)


def _find_alike_before(session: Analysis, row: int, first: int) -> Iterator[int]:
    """Yields the earlier rows with the same operation and direction, from the nearest back to `first`."""
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
    """Decodes a row to a tree, with the reassembled message as an additional source."""
    found = find_fragment(session, row)
    if found is None:
        return decode_tree(session, row)
    return decode_tree(session, row, partial(defects.decode_reassembled, others=_find_others(session, row, found)))


def decode_reassembled(session: Analysis, row: int, mine: Fragment, find: Before) -> tuple[Body, list[int]] | None:
    """Returns the values of a row with the last fragment, and the rows of all fragments; None if they cannot be read.

    The values have the reassembled content in place of the fragment.
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
    """Returns the messages that the dissector gets together with a row; see Fragments."""
    if mine.completes:
        return _collect_parts(session, row, find_before(session, row, mine))
    last = find_completing(session, row, mine)
    return [] if last is None else [Other(last.row + 1, last.fragment.number, None)]


def _collect_parts(session: Analysis, row: int, found: Mapping[int, int]) -> list[Other]:
    """Reads the messages with the other fragments. found: their rows by fragment number."""
    lengths = session.rows.column("length")
    total_bytes = int(lengths[row]) + sum(int(lengths[each]) for each in found.values())
    return [
        Other(each + 1, number, read_message(session, each) if total_bytes <= get_allowance() else None)
        for number, each in sorted(found.items(), key=lambda item: item[1])
    ]
