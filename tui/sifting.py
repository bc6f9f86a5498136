"""Applies a display filter beside the keys: portions of rows are asked by another thread, one after the other.

Theory. The thread that paints holds the Sieve and asks for a portion; the worker asks the filter and posts what came of
it; then the next portion is asked for. So nothing is shared but the session, of which the worker reads rows that were
announced (see tui.loader), and whoever takes another filter, or gives up, has only to ask for something else: what
comes late is of a sieve that nobody holds. Until a filter has asked all rows, the one before it can be had back.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from textual.message import Message

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import Rows
from analyzer.session import Session
from dissectors.api import Role
from dissectors.wire.bulk import NULL
from tui.background import Background
from tui.model.sieve import Sieve, Some, Verdict

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


class Sifted(Message):
    """A portion has been asked."""

    def __init__(self, sieve: Sieve, verdict: Verdict) -> None:
        super().__init__()
        self.sieve, self.verdict = sieve, verdict


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


class Sifter:
    """The filter in force, for the thread that paints. `sieve` is None while there is none."""

    def __init__(self, session: Session, readers: Readers, worker: Background) -> None:
        self.sieve: Sieve | None = None
        self._session, self._readers, self._worker = session, readers, worker
        self._before: Sieve | None = None
        self._asked: Sieve | None = None

    @property
    def kept(self) -> Ints | None:
        """The rows that are to be shown, rising; None: all."""
        return None if self.sieve is None else self.sieve.kept

    @property
    def is_settled(self) -> bool:
        """Whether the filter has asked all rows that there were, so that only new ones are still to come."""
        return self.sieve is None or self.sieve.settled

    def apply(self, wanted: Filter | None, rows: int, start: int, first: int = 0) -> None:
        """Puts a filter in force, or none, and asks outwards from row `start`; `rows` have been announced, those before
        `first` have left.
        """
        if self.is_settled:
            self._before = self.sieve
        self._hold(None if wanted is None else Sieve(wanted, self._session, rows, start, first))

    def give_up(self) -> bool:
        """Goes back to the filter before one that has not asked all rows; whether there was one."""
        if self.is_settled:
            return False
        self._hold(self._before)
        return True

    def _hold(self, sieve: Sieve | None) -> None:
        self._worker.forget("filter")
        self.sieve, self._asked = sieve, None
        if self.is_settled:
            self._before = None
        self._ask()

    def grow(self, rows: int) -> None:
        """There are so many rows by now."""
        for sieve in (self.sieve, self._before):
            if sieve is not None:
                sieve.grow(rows)
        self._ask()

    def leave(self, before: int) -> None:
        """The rows before one leave."""
        for sieve in (self.sieve, self._before):
            if sieve is not None:
                sieve.leave(before)

    def end(self) -> None:
        """Nothing comes any more."""
        for sieve in (self.sieve, self._before):
            if sieve is not None:
                sieve.end()
        self._ask()

    def take(self, message: Sifted) -> bool:
        """Takes a portion and asks for the next one; False for what nobody wants any more."""
        sieve = message.sieve
        if sieve is not self.sieve:
            return False
        sieve.take(message.verdict)
        self._asked = None
        if sieve.settled:
            self._before = None
        self._ask()
        return True

    def _ask(self) -> None:
        sieve = self.sieve
        rows = None if sieve is None or sieve is self._asked else sieve.portion()
        if sieve is not None and rows is not None:
            self._asked = sieve
            self._worker.ask("filter", partial(_sift, sieve, rows, self._readers, self._session))


def _sift(sieve: Sieve, rows: Some, readers: Readers, session: Session) -> Sifted:
    """Asks a portion, in the worker's thread."""
    began = time.monotonic()
    reader, final = readers.get()
    waiting = np.zeros(0, np.int64) if final else _without_answer(session, np.asarray(rows))
    kept = sieve.filter.rows(reader, rows)
    return Sifted(sieve, Verdict(rows, kept, waiting, final, time.monotonic() - began))


def _without_answer(session: Session, rows: Ints) -> Ints:
    """Requests that no answer has been seen for. To be asked before the filter: what comes meanwhile is asked again."""
    columns = session.rows.column
    found: Ints = rows[(columns("partner")[rows] == NULL) & (columns("role")[rows] == Role.REQUEST)]
    return found
