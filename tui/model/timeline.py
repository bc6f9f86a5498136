"""Which line of the left pane shows what: streams with their messages folded beneath, or one flat timeline.

Theory. A line is a place: a stream's own line, or a row. In the flat view line n is row n. In the fold view a stream
takes one line, and one more for each of its rows while it is open; the running sum of that says where each stream
ends, so finding a line is a binary search and opening a stream costs a sum over the streams, never over the rows.
Rows are only ever those that were announced (see tui.loader), so nothing here looks at what is still being written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analyzer.columns import Array, Bools, Ints
from tui.model.by_stream import ByStream


class Place(NamedTuple):
    """What a line shows: a row of a stream, or with `row` None the stream itself."""

    stream: int
    row: int | None = None


class Timeline:
    """The lines; `flat` chooses the view. `stream_of` gives the streams (n) of rows (n)."""

    def __init__(self, stream_of: Callable[[Ints], Array]) -> None:
        self.flat = False
        self._stream_of = stream_of
        self._grouped = ByStream()
        self._open: Bools = np.zeros(0, bool)
        self._sizes: Ints = np.zeros(0, np.int64)
        self._ends: Ints = np.zeros(0, np.int64)

    @property
    def rows(self) -> int:
        """Rows announced."""
        return self._grouped.rows

    @property
    def streams(self) -> int:
        """Streams announced."""
        return len(self._open)

    @property
    def lines(self) -> int:
        """Lines of the chosen view."""
        if self.flat:
            return self.rows
        return int(self._ends[-1]) if len(self._ends) else 0

    def grow(self, rows: int, streams: int) -> None:
        """There are `rows` rows and `streams` streams by now. New streams are folded."""
        self._grouped.grow(self._stream_of(np.arange(self.rows, rows)), streams)
        self._open = np.concatenate((self._open, np.zeros(streams - len(self._open), bool)))
        self._recount()

    def count(self, stream: int) -> int:
        """Rows of a stream."""
        return int(self._grouped.counts[stream])

    def first_row(self, stream: int) -> int | None:
        """The stream's first row; None while it has none."""
        return self._grouped.row(stream, 0) if self.count(stream) else None

    def is_open(self, stream: int) -> bool:
        """Whether the stream's rows are shown in the fold view."""
        return bool(self._open[stream])

    def fold(self, stream: int, *, opened: bool) -> None:
        """Shows a stream's rows beneath it, or hides them."""
        self._open[stream] = opened
        self._recount()

    def fold_all(self, *, opened: bool) -> None:
        """The same for all streams."""
        self._open[:] = opened
        self._recount()

    def window(self, first: int, count: int) -> list[Place]:
        """The places of `count` lines from `first`, fewer at the ends."""
        lines = np.arange(max(first, 0), min(first + count, self.lines))
        if self.flat:
            return list(map(Place, self._stream_of(lines).tolist(), lines.tolist()))
        stream = np.searchsorted(self._ends, lines, "right")
        rank = lines - (self._ends[stream] - self._sizes[stream]) - 1
        row = np.full(len(lines), -1)
        inside = np.flatnonzero(rank >= 0)
        if len(inside):
            row[inside] = self._grouped.picked(stream[inside], rank[inside])
        return [Place(s, None if r < 0 else r) for s, r in zip(stream.tolist(), row.tolist(), strict=True)]

    def at(self, line: int) -> Place | None:
        """What a line shows; None outside."""
        found = self.window(line, 1)
        return found[0] if line >= 0 and found else None

    def line_of(self, place: Place) -> int:
        """The line of a place; of a row that is folded away, its stream's; in the flat view of a stream, its first
        row's.
        """
        if self.flat:
            return (self.first_row(place.stream) or 0) if place.row is None else place.row
        head = int(self._ends[place.stream] - self._sizes[place.stream])
        if place.row is None or not self._open[place.stream]:
            return head
        return head + 1 + self._grouped.rank(place.stream, place.row)

    def _recount(self) -> None:
        self._sizes = 1 + np.where(self._open, self._grouped.counts, 0)
        self._ends = np.cumsum(self._sizes)
