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
from analyzer.config.model import TIME_FORMATS, TimeFormat
from analyzer.session import Session

DECIMALS_BY_WIDTH = ((106, 6), (64, 3))
"""The least cells of a list whose times have so many decimals; a narrower list has no times."""

LEAST = DECIMALS_BY_WIDTH[-1][0]

DATE = len("2026-11-21T")
"""The cells of a date."""

REFERENCE = "*REF*"

_ALL_DECIMALS, _SECOND = 9, 10**9
_ISO = len("2026-11-21T10:00:00")


TIME_FORMAT_KEY = "time-format"
"""The key of the saved format."""


def choose_format(configured: TimeFormat | None, saved: str) -> TimeFormat | None:
    """Returns the first format: that of the configuration, else the last one used; None for the clock."""
    return configured or next((form for form in TIME_FORMATS if form == saved), None)


class TimeWidth(NamedTuple):
    """The cells of the column, and the decimals of seconds; 0 cells hide it."""

    cells: int
    decimals: int


class RowTimes:
    """Formats the times of rows; used by the thread that paints.

    format: None for the clock. references: rows, ascending.
    """

    def __init__(self, session: Session, form: TimeFormat | None = None) -> None:
        self.format = form
        self.references: list[int] = []
        self._times: dict[int, int] = {}
        """The times of references (ns), also of evicted ones, because later rows still count from them."""
        self._first = 0
        self._session = session

    def toggle_reference(self, row: int) -> bool:
        """Makes a row a reference, or an ordinary one again; returns whether it is one now."""
        place = bisect_left(self.references, row)
        if self.references[place : place + 1] == [row]:
            del self.references[place]
            return False
        insort(self.references, row)
        self._times[row] = self._session.rows.cell("time", row)
        return True

    def clear_references(self) -> None:
        """Removes all time references, so that relative times count from the first packet."""
        self.references.clear()

    def evict(self, before: int) -> None:
        """Drops the rows before one; of their references only the last one still counts."""
        self._first = before
        del self.references[: max(bisect_left(self.references, before) - 1, 0)]
        self._times = {row: self._times[row] for row in self.references}

    def fit(self, available: int, rows: int) -> TimeWidth:
        """Returns the width of times in a list of `available` cells with `rows` announced rows."""
        if available < LEAST:
            return TimeWidth(0, 0)
        available -= DATE * (self.format == "iso")
        decimals = next((decimals for least, decimals in DECIMALS_BY_WIDTH if available >= least), 0)
        if self.format in (None, "iso"):
            return TimeWidth(_ISO + bool(decimals) + decimals - (0 if self.format else DATE), decimals)
        whole = 10 if self.format == "epoch" else max(3, len(str(self._measure_duration(rows) // _SECOND)))
        return TimeWidth(whole + 1 + decimals + (self.format == "delta"), decimals)

    def format_times(self, rows: Ints, clocks: Sequence[str], before: Ints, width: TimeWidth) -> list[str]:
        """Formats the times of rows.

        clocks: the same in ISO 8601. before: the visible row before each, -1 for none.
        """
        cells, decimals = width
        if not cells:
            return [""] * len(rows)
        if self.format in (None, "iso"):
            begin = 0 if self.format else DATE
            found = [time[begin : begin + cells] for time in clocks]
        else:
            from analyzer.render.clock import format_seconds  # what nobody asks for costs no start

            cut = decimals - _ALL_DECIMALS
            found = [format_seconds(time)[:cut].rjust(cells) for time in self._count_since(rows, before).tolist()]
        if not self.references:
            return found
        references = frozenset(self.references)
        return [
            REFERENCE.rjust(cells) if row in references else time
            for row, time in zip(rows.tolist(), found, strict=True)
        ]

    def _count_since(self, rows: Ints, before: Ints) -> Ints:
        """Returns nanoseconds since the origin of the format."""
        column = self._session.rows.column("time")
        times: Ints = column[rows].astype(np.int64)
        if self.format == "epoch":
            return times
        if self.format == "delta":
            return times - np.where(before < 0, times, column[np.maximum(before, 0)])
        from analyzer.render.clock import find_start_time

        if not self.references:
            return times - find_start_time(self._session)
        references = np.array(self.references)
        bases = np.array([find_start_time(self._session), *(self._times[row] for row in self.references)])
        since: Ints = times - bases[np.searchsorted(references, rows, "right")]
        return since

    def _measure_duration(self, rows: int) -> int:
        """Returns about the nanoseconds from the first row to the newest."""
        from analyzer.render.clock import find_start_time

        session = self._session
        return max(session.rows.cell("time", rows - 1) - find_start_time(session), 0) if rows > self._first else 0
