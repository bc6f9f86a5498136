"""Rows grouped by stream while both grow and the oldest rows are evicted; the slots and lines of streams with rows.

Theory. The rows of a stream are scattered over the index, and the fold view asks for the n-th row of a stream. So there
is one permutation: row numbers sorted by stream, ascending within it, four bytes a row. New rows are merged by moving
whole columns: the old permutation is shifted by the number of rows that came in before each stream, and the new rows
are put into the gaps. That costs some ten milliseconds at a million rows, so it is done on demand, not when rows come:
the flat view never needs it. Evicted rows are removed from the permutation and from the rows that wait.

A host with a hundred new connections a second has nine million in a day. So when rows are evicted, only streams that
still have rows keep a slot; until then all streams have one, and the slot is the stream's number. A stream that had no
rows by then gets a slot with its first row.

Theory. The client's own name comes first, because it tells streams apart; addresses come last, because most streams
share them. Columns are aligned, so that sparklines can be compared. A part of the time with errors has another
style, and the number of errors stands behind the number of messages, for terminals without colours.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
import numpy.typing as npt

from analyzer.columns.arrays import Ints, rank_in_runs
from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from analyzer.render.durations import format_duration
from analyzer.render.sparkline import draw_sparkline
from tui.model.drawing import cut_text
from tui.model.row_cells import StreamCells
from tui.model.row_spans import Span
from tui.model.stream_activity import CELLS, StreamActivity

Rows32 = npt.NDArray[np.int32]

MOST_PARTS = 1024
"""The waiting portions after which they are joined."""


class StreamGroups:
    """The rows `first` to `rows` - 1 by stream.

    counts (int64, one for each stream): the number of its rows.
    """

    def __init__(self, first: int = 0) -> None:
        self.first = self.rows = first
        self.counts: Ints = np.zeros(0, np.int64)
        self._order: Rows32 = np.empty(0, np.int32)
        self._starts: Ints = np.zeros(0, np.int64)
        self._waiting: list[Rows32] = []

    def grow(self, stream: Rows32, streams: int) -> None:
        """Adds n rows.

        stream (int32, n): their streams. streams: the number of streams by now.
        """
        self.rows += len(stream)
        counts = np.bincount(stream, minlength=max(streams, len(self.counts)))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        if len(stream):
            self._waiting.append(stream)
        if len(self._waiting) > MOST_PARTS:
            self._waiting = [np.concatenate(self._waiting)]

    def evict(self, before: int) -> Ints:
        """Drops the rows before one; returns how many each stream loses (int64, one for each)."""
        streams = len(self.counts)
        self.first = before = max(self.first, min(before, self.rows))
        waiting = np.concatenate([np.zeros(0, np.int32), *self._waiting])
        cut = max(before - (self.rows - len(waiting)), 0)
        stay = self._order >= before
        sorted_ = self.counts - np.bincount(waiting, minlength=streams)
        left = np.bincount(np.repeat(np.arange(streams), sorted_)[~stay], minlength=streams)
        self._order = self._order[stay]
        self._starts = np.cumsum(sorted_ - left) - (sorted_ - left)
        self._waiting = [waiting[cut:].copy()] if cut < len(waiting) else []
        evicted: Ints = left + np.bincount(waiting[:cut], minlength=streams)
        self.counts = self.counts - evicted
        return evicted

    def keep_streams(self, places: Ints) -> None:
        """Keeps only these streams, ascending, and renumbers them from 0; the others have no rows."""
        renumbered = np.zeros(len(self.counts), np.int32)
        renumbered[places] = np.arange(len(places), dtype=np.int32)
        self._waiting = [renumbered[each] for each in self._waiting]
        self.counts, self._starts = self.counts[places], self._starts[places]

    def insert_streams(self, places: Ints) -> None:
        """Inserts streams without rows before those at some places, as np.insert does."""
        self._settle()
        self.counts = np.insert(self.counts, places, 0)
        self._starts = np.cumsum(self.counts) - self.counts

    def find_row(self, stream: int, rank: int) -> int:
        """Returns the `rank`-th row of a stream, from 0."""
        return int(self.find_rows(np.array([stream]), np.array([rank]))[0])

    def find_rows(self, streams: Ints, ranks_: Ints) -> Ints:
        """Returns the rows of many streams and ranks (n each)."""
        self._settle()
        found: Ints = self._order[self._starts[streams] + ranks_].astype(np.int64)
        return found

    def list_rows(self, stream: int) -> Ints:
        """Returns all rows of a stream, ascending."""
        self._settle()
        first = int(self._starts[stream])
        found: Ints = self._order[first : first + int(self.counts[stream])].astype(np.int64)
        return found

    def find_rank(self, stream: int, row: int) -> int:
        """Returns how many rows of the stream come before `row`."""
        self._settle()
        first = int(self._starts[stream])
        return int(np.searchsorted(self._order[first : first + int(self.counts[stream])], row))

    def _settle(self) -> None:
        """Merges waiting rows into the permutation."""
        if not self._waiting:
            return
        stream = np.concatenate(self._waiting)
        self._waiting.clear()
        counts = self.counts
        self._starts = starts = np.cumsum(counts) - counts
        fresh = np.argsort(stream, kind="stable").astype(np.int32)
        added = np.bincount(stream, minlength=len(counts))
        before = counts - added
        merged = np.empty(int(counts.sum()), np.int32)
        merged[np.repeat(starts, before) + rank_in_runs(before)] = self._order
        merged[np.repeat(starts + before, added) + rank_in_runs(added)] = fresh + np.int32(self.rows - len(stream))
        self._order = merged


class StreamSlots:
    """Slots of streams: those of the announced `streams` that have rows, in the order of their numbers."""

    def __init__(self) -> None:
        self.streams = 0
        self._numbers: Ints | None = None
        """The streams by slot; None as long as all have one."""

    def __len__(self) -> int:
        return self.streams if self._numbers is None else len(self._numbers)

    def grow(self, streams: int) -> None:
        """Takes the number of streams by now; new ones get a slot behind the others."""
        if self._numbers is not None:
            self._numbers = np.concatenate((self._numbers, np.arange(self.streams, streams)))
        self.streams = streams

    def keep(self, places: Ints) -> None:
        """Keeps only the streams in these slots, ascending."""
        if len(places) < len(self):
            self._numbers = self.get_numbers(places)

    def get_numbers(self, places: Ints) -> Ints:
        """Returns the streams of some slots."""
        return places if self._numbers is None else self._numbers[places]

    def get_number(self, place: int) -> int:
        """Returns the stream of a slot."""
        return place if self._numbers is None else int(self._numbers[place])

    def find_places(self, streams: Ints) -> Ints:
        """Returns the slots of streams that have one."""
        return streams if self._numbers is None else np.searchsorted(self._numbers, streams)

    def find_place(self, stream: int) -> int | None:
        """Returns the slot of a stream, or None."""
        near = self.find_nearest(stream)
        return near if near < len(self) and self.get_number(near) == stream else None

    def find_nearest(self, stream: int) -> int:
        """Returns the slot of a stream, or of the next one that has one; the number of slots behind the last."""
        return min(stream, len(self)) if self._numbers is None else int(np.searchsorted(self._numbers, stream))

    def add_streams(self, streams: Ints) -> Ints:
        """Gives slots to streams that have rows now; returns the slots before which they were inserted."""
        if self._numbers is None:
            return np.zeros(0, np.int64)
        missing = np.setdiff1d(streams, self._numbers)
        places: Ints = np.searchsorted(self._numbers, missing)
        if len(places):
            self._numbers = np.insert(self._numbers, places, missing)
        return places


WHO, SHORT_WHO = 24, 16
"""The cells of the client's name, and in a list of fewer than NARROW cells."""

NARROW = 80

FIRST_ROWS = 8
"""The first messages of a stream that may tell who the client is."""

MESSAGES, ERRORS, DURATION = 12, 5, 6
"""The cells of the number of messages, of that of errors, and of the duration."""


def make_stream_spans(
    stream: StreamCells, digits: int, *, opened: bool, activity: StreamActivity | None = None, width: int = NARROW
) -> list[Span]:
    """Returns the line of a stream.

    digits: the cells of its number. activity: None while it has not been counted. width: the cells of the list.
    """
    there = stream.messages > stream.evicted
    mark = " " if not there else "▾" if opened else "▸"
    style = "value" if there else "dim"
    who = cut_text(safe_text(stream.who or stream.protocol, WHO + 1), WHO if width >= NARROW else SHORT_WHO)
    spans: list[Span] = [
        ("name", f"{mark} "),
        (style, f"{stream.number:>{digits}} "),
        ("title" if stream.who and there else "dim", f"{who} "),
        *_make_sparkline(activity),
    ]
    messages = format_counted(stream.messages, "message")
    if stream.matches is not None:
        messages = f"{stream.matches:,} of {messages}"
    spans.append(("dim", f" {messages:>{MESSAGES}}"))
    errors = 0 if activity is None else sum(activity.errors)
    spans.append(("error", f"{f'!{errors:,}' if errors else '':>{ERRORS}}"))
    if stream.evicted:
        spans.append(("dim", f" ({stream.evicted:,} left memory)"))
    spans.append(("dim", f" {format_duration(stream.duration):>{DURATION}}  "))
    return [*spans, (style, stream.addresses), ("dim", f"  {stream.protocol}" if stream.who else "")]


def _make_sparkline(activity: StreamActivity | None) -> list[Span]:
    if activity is None:
        return [("", " " * CELLS)]
    found: list[Span] = []
    signs = draw_sparkline(activity.counts)
    for failed, cells in groupby(range(CELLS), lambda cell: bool(activity.errors[cell])):
        found.append(("error" if failed else "name", "".join(signs[cell] for cell in cells)))
    return found
