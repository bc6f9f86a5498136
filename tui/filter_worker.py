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
from dissectors.wire.fast_path import NULL
from tui.background import Background
from tui.model.filter_pass import FilterPass, Some, Verdict

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


class Readers:
    """The reader of rows for those who ask many: for the worker's thread alone.

    It remembers what messages taught by the time they were read. So there is a new one when the input has ended.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._final = False
        self._reader = Rows(session)

    def get(self) -> tuple[Rows, bool]:
        """The reader, and whether nothing comes any more."""
        if self._session.ended and not self._final:
            self._final, self._reader = True, Rows(self._session)
        return self._reader, self._final


class FilterWorker:
    """The filter in force, for the thread that paints. `filtering` is None while there is none.

    changed: called when a portion has been asked, with True if it was the filter's first.
    """

    def __init__(self, session: Session, readers: Readers, worker: Background) -> None:
        self.filtering: FilterPass | None = None
        self._session, self._readers, self._worker = session, readers, worker
        self.changed: Callable[[bool], object] = lambda first: None
        self._before: FilterPass | None = None
        self._asked: FilterPass | None = None

    @property
    def kept(self) -> Ints | None:
        """The rows that are to be shown, rising; None: all."""
        return None if self.filtering is None else self.filtering.kept

    @property
    def is_settled(self) -> bool:
        """Whether the filter has asked all rows that there were, so that only new ones are still to come."""
        return self.filtering is None or self.filtering.settled

    def apply(self, wanted: Filter | None, rows: int, start: int, first: int = 0) -> None:
        """Puts a filter in force, or none, and asks outwards from row `start`; `rows` have been announced, those before
        `first` have left.
        """
        if self.is_settled:
            self._before = self.filtering
        self._hold(None if wanted is None else FilterPass(wanted, self._session, rows, start, first))

    def give_up(self) -> bool:
        """Goes back to the filter before one that has not asked all rows; whether there was one."""
        if self.is_settled:
            return False
        self._hold(self._before)
        return True

    def _hold(self, filtering: FilterPass | None) -> None:
        self._worker.forget("filter")
        self.filtering, self._asked = filtering, None
        if self.is_settled:
            self._before = None
        self._ask()

    def grow(self, rows: int) -> None:
        """There are so many rows by now."""
        for filtering in (self.filtering, self._before):
            if filtering is not None:
                filtering.grow(rows)
        self._ask()

    def leave(self, before: int) -> None:
        """The rows before one leave."""
        for filtering in (self.filtering, self._before):
            if filtering is not None:
                filtering.leave(before)

    def end(self) -> None:
        """Nothing comes any more."""
        for filtering in (self.filtering, self._before):
            if filtering is not None:
                filtering.end()
        self._ask()

    def _take(self, filtering: FilterPass, verdict: Verdict) -> None:
        """Takes a portion and asks for the next one, unless nobody wants it any more."""
        if filtering is not self.filtering:
            return
        first = filtering.is_new
        filtering.take(verdict)
        self._asked = None
        if filtering.settled:
            self._before = None
        self._ask()
        self.changed(first)

    def _ask(self) -> None:
        filtering = self.filtering
        rows = None if filtering is None or filtering is self._asked else filtering.portion()
        if filtering is not None and rows is not None:
            self._asked = filtering
            work = partial(_ask_portion, filtering.filter, rows, self._readers, self._session)
            self._worker.ask("filter", work, partial(self._take, filtering))


def _ask_portion(wanted: Filter, rows: Some, readers: Readers, session: Session) -> Verdict:
    """Asks a portion, in the worker's thread."""
    began = time.monotonic()
    reader, final = readers.get()
    waiting = np.zeros(0, np.int64) if final else _without_answer(session, np.asarray(rows))
    kept = wanted.rows(reader, rows)
    return Verdict(rows, kept, waiting, final, time.monotonic() - began)


def _without_answer(session: Session, rows: Ints) -> Ints:
    """Requests that no answer has been seen for. To be asked before the filter: what comes meanwhile is asked again."""
    columns = session.rows.column
    found: Ints = rows[(columns("partner")[rows] == NULL) & (columns("role")[rows] == Role.REQUEST)]
    return found
