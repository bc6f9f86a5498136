"""Applies a display filter beside the keys: portions of rows are asked by another thread, one after the other.

Theory. The thread that paints holds the FilterPass and asks for a portion; the worker asks the filter, and what comes
of it is taken; then the next portion is asked for. So nothing is shared but the session, of which the worker reads rows
that were announced (see tui.loader), and whoever takes another filter, or gives up, has only to ask for something else:
what comes late is of a pass that nobody holds. Until a filter has asked all rows, the one before it can be had back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import Rows
from analyzer.session import Session
from dissectors.api import Role
from dissectors.wire.bulk import NULL
from tui.background import BackgroundWorker
from tui.model.filter_pass import FilterPass, FilterResult, RowPortion

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


class RowReaders:
    """The reader of rows for those who ask many: for the worker's thread alone.

    It remembers what messages taught by the time they were read. So there is a new one when the input has ended.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._final = False
        self._reader = Rows(session)

    def get_reader(self) -> tuple[Rows, bool]:
        """The reader, and whether nothing comes any more."""
        if self._session.ended and not self._final:
            self._final, self._reader = True, Rows(self._session)
        return self._reader, self._final


class FilterWorker:
    """The filter in force, for the thread that paints. `filtering` is None while there is none.

    changed: called when a portion has been asked, with True if it was the filter's first.
    """

    def __init__(self, session: Session, readers: RowReaders, worker: BackgroundWorker) -> None:
        self.current_pass: FilterPass | None = None
        self._session, self._readers, self._worker = session, readers, worker
        self.on_change: Callable[[bool], object] = lambda first: None
        self._previous: FilterPass | None = None
        self._pending: FilterPass | None = None

    @property
    def matches(self) -> Ints | None:
        """The rows that are to be shown, rising; None: all."""
        return None if self.current_pass is None else self.current_pass.matches

    @property
    def is_settled(self) -> bool:
        """Whether the filter has asked all rows that there were, so that only new ones are still to come."""
        return self.current_pass is None or self.current_pass.is_settled

    def apply(self, wanted: Filter | None, rows: int, start: int, first: int = 0) -> None:
        """Puts a filter in force, or none, and asks outwards from row `start`; `rows` have been announced, those before
        `first` have left.
        """
        if self.is_settled:
            self._previous = self.current_pass
        self._set_pass(None if wanted is None else FilterPass(wanted, self._session, rows, start, first))

    def restore_previous(self) -> bool:
        """Goes back to the filter before one that has not asked all rows; whether there was one."""
        if self.is_settled:
            return False
        self._set_pass(self._previous)
        return True

    def _set_pass(self, filtering: FilterPass | None) -> None:
        self._worker.cancel("filter")
        self.current_pass, self._pending = filtering, None
        if self.is_settled:
            self._previous = None
        self._submit_portion()

    def grow(self, rows: int) -> None:
        """There are so many rows by now."""
        for filtering in (self.current_pass, self._previous):
            if filtering is not None:
                filtering.grow(rows)
        self._submit_portion()

    def evict(self, before: int) -> None:
        """The rows before one leave."""
        for filtering in (self.current_pass, self._previous):
            if filtering is not None:
                filtering.evict(before)

    def end(self) -> None:
        """Nothing comes any more."""
        for filtering in (self.current_pass, self._previous):
            if filtering is not None:
                filtering.end()
        self._submit_portion()

    def _take_result(self, filtering: FilterPass, verdict: FilterResult) -> None:
        """Takes a portion and asks for the next one, unless nobody wants it any more."""
        if filtering is not self.current_pass:
            return
        first = filtering.is_new
        filtering.add_result(verdict)
        self._pending = None
        if filtering.is_settled:
            self._previous = None
        self._submit_portion()
        self.on_change(first)

    def _submit_portion(self) -> None:
        filtering = self.current_pass
        rows = None if filtering is None or filtering is self._pending else filtering.next_portion()
        if filtering is not None and rows is not None:
            self._pending = filtering
            work = partial(_apply_filter, filtering.filter, rows, self._readers, self._session)
            self._worker.submit("filter", work, partial(self._take_result, filtering))


def _apply_filter(wanted: Filter, rows: RowPortion, readers: RowReaders, session: Session) -> FilterResult:
    """Asks a portion, in the worker's thread."""
    began = time.monotonic()
    reader, final = readers.get_reader()
    waiting = np.zeros(0, np.int64) if final else _find_unanswered(session, np.asarray(rows))
    kept = wanted.rows(reader, rows)
    return FilterResult(rows, kept, waiting, final, time.monotonic() - began)


def _find_unanswered(session: Session, rows: Ints) -> Ints:
    """Requests that no answer has been seen for. To be asked before the filter: what comes meanwhile is asked again."""
    columns = session.rows.column
    found: Ints = rows[(columns("partner")[rows] == NULL) & (columns("role")[rows] == Role.REQUEST)]
    return found
