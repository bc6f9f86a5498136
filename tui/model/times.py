"""The times of rows in the list, in one of the formats of `list --time-format`, with time references.

Theory. analyzer.render.clock writes the format; it is cut to as many decimals as fit. The user may make messages
references: relative times of the rows behind a reference count from it, up to the next one. `delta` counts from the
visible row before, which only the list knows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.config.time_formats import TIME_FORMATS, TimeFormat
from analyzer.session import Session

ROOMS = ((90, 6), (64, 3))
"""Cells of the list from which on times have so many decimals; where it is narrower there are no times."""

LEAST = ROOMS[-1][0]

DATE = len("2026-11-21T")
"""Cells that a date takes of that room."""

REFERENCE = "*REF*"

_ALL_DECIMALS, _SECOND = 9, 10**9
_ISO = len("2026-11-21T10:00:00")


TIME_FORMAT_KEY = "time-format"
"""The name under which the format is remembered."""


def choose_format(configured: TimeFormat | None, remembered: str) -> TimeFormat | None:
    """The format to begin with: the configuration's, else the last one; None for the clock."""
    return configured or next((form for form in TIME_FORMATS if form == remembered), None)


class TimeWidth(NamedTuple):
    """Cells of the column, and decimals of the seconds in it; 0 cells hide it."""

    cells: int
    decimals: int


class RowTimes:
    """Of the thread that paints. form: None for the clock. `references`: rows, rising."""

    def __init__(self, session: Session, form: TimeFormat | None = None) -> None:
        self.format = form
        self.references: list[int] = []
        self._times: dict[int, int] = {}
        """Those of references (ns): the row of one may leave, and what comes behind still counts from it."""
        self._first = 0
        self._session = session

    def toggle_reference(self, row: int) -> bool:
        """Makes a row a reference, or an ordinary one again; whether it is one now."""
        place = bisect_left(self.references, row)
        if self.references[place : place + 1] == [row]:
            del self.references[place]
            return False
        insort(self.references, row)
        self._times[row] = self._session.rows.cell("time", row)
        return True

    def clear_references(self) -> None:
        """No row is a reference any more."""
        self.references.clear()

    def evict(self, before: int) -> None:
        """The rows before one leave: of references among them only the last still counts."""
        self._first = before
        del self.references[: max(bisect_left(self.references, before) - 1, 0)]
        self._times = {row: self._times[row] for row in self.references}

    def fit(self, room: int, rows: int) -> TimeWidth:
        """What fits where the list has `room` cells and `rows` rows have been announced."""
        if room < LEAST:
            return TimeWidth(0, 0)
        room -= DATE * (self.format == "iso")
        decimals = next((decimals for least, decimals in ROOMS if room >= least), 0)
        if self.format in (None, "iso"):
            return TimeWidth(_ISO + bool(decimals) + decimals - (0 if self.format else DATE), decimals)
        whole = 10 if self.format == "epoch" else max(3, len(str(self._measure_duration(rows) // _SECOND)))
        return TimeWidth(whole + 1 + decimals + (self.format == "delta"), decimals)

    def format_times(self, rows: Ints, told: Sequence[str], before: Ints, width: TimeWidth) -> list[str]:
        """The times of rows, of which `told` are those in ISO 8601, in `width`. before: the row that is shown before
        each, -1 for none.
        """
        cells, decimals = width
        if not cells:
            return [""] * len(rows)
        if self.format in (None, "iso"):
            begin = 0 if self.format else DATE
            found = [time[begin : begin + cells] for time in told]
        else:
            from analyzer.render.clock import seconds  # what nobody asks for costs no start

            cut = decimals - _ALL_DECIMALS
            found = [seconds(time)[:cut].rjust(cells) for time in self._count_since(rows, before).tolist()]
        if not self.references:
            return found
        references = frozenset(self.references)
        return [
            REFERENCE.rjust(cells) if row in references else time
            for row, time in zip(rows.tolist(), found, strict=True)
        ]

    def _count_since(self, rows: Ints, before: Ints) -> Ints:
        """Nanoseconds since whatever the format counts from."""
        column = self._session.rows.column("time")
        times: Ints = column[rows].astype(np.int64)
        if self.format == "epoch":
            return times
        if self.format == "delta":
            return times - np.where(before < 0, times, column[np.maximum(before, 0)])
        from analyzer.render.clock import began

        if not self.references:
            return times - began(self._session)
        references = np.array(self.references)
        bases = np.array([began(self._session), *(self._times[row] for row in self.references)])
        since: Ints = times - bases[np.searchsorted(references, rows, "right")]
        return since

    def _measure_duration(self, rows: int) -> int:
        """Nanoseconds from the beginning to the newest row, about."""
        from analyzer.render.clock import began

        session = self._session
        return max(session.rows.cell("time", rows - 1) - began(session), 0) if rows > self._first else 0
