"""The rate of each visible stream over the capture, and its errors, for the sparklines of the list.

Theory. A sparkline has CELLS equal parts of the time from the first announced row to the last. Counting needs columns
of the index only. Errors need bodies, so another thread finds them, one part of a stream after the other, and the
line is painted again when a part is known. While rows come in, results are kept until the rows have doubled: a
sparkline that is a little old costs no key anything. Results are cached for the last few hundred streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.insight.activity import list_error_rows
from analyzer.session import Session

CELLS = 12
"""The cells of a sparkline."""

MOST_STREAMS = 512
"""The number of streams whose activity is cached."""

SLICE = 1 << 14
"""The rows of a stream whose errors are found in one task."""


class StreamActivity(NamedTuple):
    """Messages and errors of a stream in each of CELLS parts of the capture.

    examined: the rows whose errors are counted; rows: all of its rows by then.
    """

    counts: Sequence[int]
    errors: Sequence[int]
    examined: int
    rows: int

    @property
    def is_complete(self) -> bool:
        """Whether the errors of all rows are counted."""
        return self.examined >= self.rows


ActivityWork = Callable[[], Mapping[int, StreamActivity]]


class ActivityReader:
    """Counts messages and errors of streams; used by the thread that paints, except the work that it returns.

    rows_of: returns the rows of a stream, ascending.
    """

    def __init__(self, session: Session, rows_of: Callable[[int], Ints]) -> None:
        self._session, self._rows_of = session, rows_of
        self._found: dict[int, StreamActivity] = {}
        self.edition = 0
        """A number that rises with clear(): results of an earlier edition are ignored."""
        self._rows = 0

    def get_activity(self, stream: int) -> StreamActivity | None:
        """Returns the activity of a stream, as far as it is known."""
        return self._found.get(stream)

    def grow(self, rows: int) -> bool:
        """Takes the number of announced rows; returns whether all activities are dropped, because rows have doubled."""
        if rows < 2 * self._rows:
            return False
        self._rows = rows
        self.clear()
        return True

    def clear(self) -> None:
        """Drops all activities; they are counted again on demand."""
        self.edition += 1
        self._found.clear()

    def prepare(self, streams: Sequence[int], first: int, rows: int) -> ActivityWork | None:
        """Returns the work that the sparklines of streams still need, for another thread; None for none.

        first, rows: the range of announced rows.
        """
        if first >= rows:
            return None
        new = [stream for stream in streams if stream not in self._found]
        if new:
            counted = {stream: self._rows_of(stream) for stream in new}
            return lambda: {stream: self._count(numbers, first, rows) for stream, numbers in counted.items()}
        stream = next((each for each in streams if not self._found[each].is_complete), None)
        if stream is None:
            return None
        before, numbers = self._found[stream], self._rows_of(stream)
        return lambda: {stream: self._add_errors(before, numbers, first, rows)}

    def add(self, edition: int, found: Mapping[int, StreamActivity]) -> list[int]:
        """Adds results; returns the streams whose sparkline has changed."""
        if edition != self.edition:
            return []
        changed = [stream for stream, each in found.items() if _is_changed(self._found.get(stream), each)]
        for stream in found:
            self._found.pop(stream, None)
        self._found |= found
        while len(self._found) > MOST_STREAMS:
            del self._found[next(iter(self._found))]
        return changed

    def _count(self, numbers: Ints, first: int, rows: int) -> StreamActivity:
        counts = np.bincount(self._place(numbers, first, rows), minlength=CELLS)
        return StreamActivity(counts.tolist(), [0] * CELLS, 0, len(numbers))

    def _add_errors(self, before: StreamActivity, numbers: Ints, first: int, rows: int) -> StreamActivity:
        failed = list_error_rows(self._session, numbers[before.examined : before.examined + SLICE].astype(np.int64))
        errors = np.bincount(self._place(failed, first, rows), minlength=CELLS) + before.errors
        return before._replace(errors=errors.tolist(), examined=before.examined + SLICE)

    def _place(self, numbers: Ints, first: int, rows: int) -> Ints:
        """Returns the cell of each row."""
        times = self._session.rows.column("time")
        begin, end = (int(times[row]) for row in (first, rows - 1))
        since: Ints = times[numbers].astype(np.int64) - begin
        return np.clip(since * CELLS // max(end - begin + 1, 1), 0, CELLS - 1)


def _is_changed(before: StreamActivity | None, now: StreamActivity) -> bool:
    return before is None or (before.counts, before.errors) != (now.counts, now.errors)
