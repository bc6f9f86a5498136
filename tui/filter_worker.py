"""Applies a display filter in another thread, one portion of rows after the other.

Theory. A FilterPass knows which rows a filter has examined and which of them match. It gives out portions outwards from
the row where the user is: first the rows behind it, then those before it. So the examined rows are one range, and the
row that the cursor comes to is known early. The size of a portion follows from the pace of the last one.

The thread that paints holds the FilterPass and submits one portion at a time; the worker thread only applies the
filter. They share nothing but the session, of which the worker reads rows that were announced (see tui.loader). After
another filter was chosen, a late result belongs to a pass that nobody holds. Until a filter has examined all rows, the
filter before it can be restored.

The fields of a row may change while packets come in: its answer arrives, or a name is resolved. So a request without
an answer is examined again when its answer has come, and all rows that were examined during reading are examined once
more at its end. Evicted rows are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import CHUNK_BYTES, RowReader
from analyzer.session import Analysis, Session
from dissectors.api import Role
from dissectors.wire.fast_path import NULL
from tui.background import BackgroundWorker

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


class RowReaders:
    """Holds the reader of rows for the worker thread.

    A reader keeps the names that were known when it read, so there is a new one after the input has ended.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._final = False
        self._reader = RowReader(session)

    def get_reader(self) -> tuple[RowReader, bool]:
        """Returns the reader, and whether the input has ended."""
        if self._session.ended and not self._final:
            self._final, self._reader = True, RowReader(self._session)
        return self._reader, self._final


class FilterWorker:
    """Applies the filter in force; used by the thread that paints.

    current_pass: None without a filter. on_change: called after each portion, with True for the first one of a filter.
    """

    def __init__(self, session: Session, readers: RowReaders, worker: BackgroundWorker) -> None:
        self.current_pass: FilterPass | None = None
        self._session, self._readers, self._worker = session, readers, worker
        self.on_change: Callable[[bool], object] = lambda first: None
        self._previous: FilterPass | None = None
        self._pending: FilterPass | None = None

    @property
    def matches(self) -> Ints | None:
        """The rows that match, ascending; None: all rows."""
        return None if self.current_pass is None else self.current_pass.matches

    @property
    def is_settled(self) -> bool:
        """Whether the filter has examined all rows, so that only new rows remain."""
        return self.current_pass is None or self.current_pass.is_settled

    def apply(self, wanted: Filter | None, rows: int, start: int, first: int = 0) -> None:
        """Puts a filter in force, or none, and examines rows outwards from row `start`.

        rows: the number of announced rows; first: the first row that was not evicted.
        """
        if self.is_settled:
            self._previous = self.current_pass
        self._set_pass(None if wanted is None else FilterPass(wanted, self._session, rows, start, first))

    def restore_previous(self) -> bool:
        """Restores the filter before one that has not examined all rows; returns whether there was one."""
        if self.is_settled:
            return False
        self._set_pass(self._previous)
        return True

    def _set_pass(self, filtering: FilterPass | None) -> None:
        self._worker.cancel("filter")
        self.current_pass, self._pending = filtering, None
        if self.is_settled:
            self._previous = None
        self._submit_part()

    def grow(self, rows: int) -> None:
        """Takes the number of rows that are announced by now."""
        for filtering in (self.current_pass, self._previous):
            if filtering is not None:
                filtering.grow(rows)
        self._submit_part()

    def evict(self, before: int) -> None:
        """Drops the rows before one."""
        for filtering in (self.current_pass, self._previous):
            if filtering is not None:
                filtering.evict(before)

    def end(self) -> None:
        """Examines all rows once more, because the input has ended."""
        for filtering in (self.current_pass, self._previous):
            if filtering is not None:
                filtering.end()
        self._submit_part()

    def _take_result(self, filtering: FilterPass, verdict: FilterResult) -> None:
        """Adds the result of a portion and submits the next one, unless another filter is in force."""
        if filtering is not self.current_pass:
            return
        first = filtering.is_new
        filtering.add_result(verdict)
        self._pending = None
        if filtering.is_settled:
            self._previous = None
        self._submit_part()
        self.on_change(first)

    def _submit_part(self) -> None:
        filtering = self.current_pass
        rows = None if filtering is None or filtering is self._pending else filtering.next_part()
        if filtering is not None and rows is not None:
            self._pending = filtering
            work = partial(_apply_filter, filtering.filter, rows, self._readers, self._session)
            self._worker.submit("filter", work, partial(self._take_result, filtering))


def _apply_filter(wanted: Filter, rows: RowPortion, readers: RowReaders, session: Session) -> FilterResult:
    """Examines a portion, in the worker thread."""
    began = time.monotonic()
    reader, final = readers.get_reader()
    waiting = np.zeros(0, np.int64) if final else _find_unanswered(session, np.asarray(rows))
    matching = wanted.select_rows(reader, rows)
    return FilterResult(rows, matching, waiting, final, time.monotonic() - began)


def _find_unanswered(session: Session, rows: Ints) -> Ints:
    """Finds requests without an answer; called before the filter, so that answers in between are noticed."""
    columns = session.rows.column
    found: Ints = rows[(columns("partner")[rows] == NULL) & (columns("role")[rows] == Role.REQUEST)]
    return found


RowPortion: TypeAlias = "range | Ints"

PART_SECONDS = 0.2
"""The seconds that a portion should take."""

FIRST_PART, FIRST_COLUMN_PART, LARGEST_PART = 256, 1 << 18, 1 << 20
"""Rows of the first portion if bodies are read, and if not; and of the largest portion."""

_NONE: Ints = np.zeros(0, np.int64)


class FilterResult(NamedTuple):
    """The matches among `rows`.

    unanswered: requests among them without an answer. final: the input has ended.
    """

    rows: RowPortion
    matches: Ints
    unanswered: Ints
    final: bool
    seconds: float


class FilterPass:
    """One filter over the rows of a session.

    is_settled: all rows have been examined at some time.
    """

    def __init__(self, wanted: Filter, session: Analysis, rows: int, start: int, first: int = 0) -> None:
        self.filter = wanted
        self.first, self.rows = first, rows
        self.matches: Ints = _NONE
        self.is_settled = False
        self._session = session
        self._reads_bodies = not all(field.is_cheap for field in wanted.fields)
        self._low = self._high = max(min(start, rows), first) if self._reads_bodies else first
        self._to_repeat: Ints = _NONE
        self._unanswered: Ints = _NONE
        self._has_ended = False
        self._size = FIRST_PART if self._reads_bodies else FIRST_COLUMN_PART

    @property
    def is_new(self) -> bool:
        """Whether no row has been examined yet."""
        return self._low == self._high

    @property
    def rows_left(self) -> int:
        """The number of rows to be examined."""
        return self.rows - self.first - (self._high - self._low) + len(self._to_repeat)

    @property
    def percent(self) -> int:
        """The share of rows that have been examined, 0 to 100."""
        done = self._high - self._low
        return 100 * done // max(done + self.rows_left, 1)

    def next_part(self) -> RowPortion | None:
        """Returns the rows to be examined next, or None."""
        if self._high < self.rows:
            rows = np.arange(self._high, min(self._high + self._size, self.rows))
            return range(self._high, self._high + self._count_fitting(rows))
        if self._low > self.first:
            rows = np.arange(max(self._low - self._size, self.first), self._low)
            return range(self._low - self._count_fitting(rows[::-1]), self._low)
        if len(self._to_repeat):
            rows = self._to_repeat[: self._size]
            return rows[: self._count_fitting(rows)]
        return None

    def _count_fitting(self, rows: Ints) -> int:
        """Returns how many of the rows, at least one, can be read in a moment."""
        if not self._reads_bodies:
            return len(rows)
        sizes = np.cumsum(self._session.rows.column("length")[rows], dtype=np.int64)
        return max(int(np.searchsorted(sizes, CHUNK_BYTES, "right")), 1)

    def add_result(self, verdict: FilterResult) -> None:
        """Adds the result of a portion; its pace determines the size of the next one."""
        rows = verdict.rows
        if isinstance(rows, range):
            self._low, self._high = min(self._low, rows.start), max(self._high, rows.stop)
            first, last = np.searchsorted(self.matches, [rows.start, rows.stop])
            self.matches = np.concatenate((self.matches[:first], verdict.matches, self.matches[last:]))
        else:
            self._to_repeat = np.setdiff1d(self._to_repeat, rows, assume_unique=True)
            self.matches = np.union1d(np.setdiff1d(self.matches, rows, assume_unique=True), verdict.matches)
        self._unanswered = np.union1d(self._unanswered, verdict.unanswered)
        self._drop_evicted()
        if self._has_ended and not verdict.final:
            self._repeat(np.asarray(rows))
        self._size = max(
            1, min(int(len(rows) * PART_SECONDS / max(verdict.seconds, 1e-4)), 4 * self._size, LARGEST_PART)
        )
        self.is_settled = self.is_settled or not self.rows_left

    def evict(self, before: int) -> None:
        """Drops the rows before one."""
        self.first = before
        self._drop_evicted()
        self.is_settled = self.is_settled or not self.rows_left

    def _drop_evicted(self) -> None:
        """Removes evicted rows from all sets."""
        first = self.first
        self._low, self._high = max(self._low, first), max(self._high, first)
        self.matches, self._to_repeat, self._unanswered = map(
            self._since_first, (self.matches, self._to_repeat, self._unanswered)
        )

    def _since_first(self, rows: Ints) -> Ints:
        return rows[np.searchsorted(rows, self.first) :]

    def grow(self, rows: int) -> None:
        """Takes the number of rows by now, and examines requests again whose answers have come."""
        self.rows = rows
        answered = self._session.rows.column("partner")[self._unanswered] != NULL
        self._repeat(self._unanswered[answered])
        self._unanswered = self._unanswered[~answered]

    def end(self) -> None:
        """Examines all rows once more, because the input has ended."""
        self._has_ended = True
        self._unanswered = _NONE
        self._repeat(np.arange(self._low, self._high))

    def _repeat(self, rows: Ints) -> None:
        rows = self._since_first(rows)
        if len(rows):
            self._to_repeat = np.union1d(self._to_repeat, rows)
