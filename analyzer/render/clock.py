"""Formats the time of rows as ISO 8601, or as seconds since something.

Theory. A time is a number of nanoseconds. Seconds since anything are a difference of columns, written for all rows at
once with nine decimals. This is exact, while a float would lose the last digits; so programs get them as texts, too.
`delta` is the only format in which a row depends on another one: the row printed before it. So the printer announces
which rows come next.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Ints
from analyzer.columns.cells import SECOND, Cells
from analyzer.columns.values import CellColumn, CellStyle, Values
from analyzer.config.model import TimeFormat
from analyzer.decode.rows import RowReader
from analyzer.session import Analysis, Session
from dissectors.slotted import make_slotted

_WIDTHS: Mapping[TimeFormat | None, int] = {None: 18, "iso": cells.ISO_WIDTH, "relative": 18, "delta": 18, "epoch": 20}

_CLOCK = slice(11, 29)
_NONE = np.zeros(0, np.int64)


@make_slotted
class SecondsColumn:
    """Nanoseconds (n), possibly negative, written as seconds with nine decimals."""

    nanoseconds: Ints

    def values(self) -> Values:
        """Returns the times as texts of seconds with nine decimals (n)."""
        return [format_seconds(number) for number in self.nanoseconds.tolist()]

    def cells(self, style: CellStyle) -> Cells:
        """Returns the times as cells (n) of such texts."""
        size, negative = np.abs(self.nanoseconds), self.nanoseconds < 0
        whole = size // SECOND
        # A leading 1 makes ten digits of the fraction, so that its leading zeros are kept.
        fraction = cells.format_integers(size - whole * SECOND + SECOND)[:, 1:]
        parts: list[Cells | bytes] = [style.quote, cells.format_integers(whole), b".", fraction, style.quote]
        if negative.any():
            parts.insert(1, np.where(negative, np.uint8(cells.MINUS), np.uint8(0))[:, None])
        return cells.join_cells(parts, len(size))


def format_seconds(nanoseconds: int) -> str:
    """Formats as `-0.000000001`: seconds with nine decimals."""
    whole, fraction = divmod(abs(nanoseconds), SECOND)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{fraction:09}"


def find_time_width(form: TimeFormat | None) -> int:
    """Returns the width of a column of times; without a format, that of a time of day, `10:00:00.123456789`."""
    return _WIDTHS[form]


def format_clock(time: str) -> str:
    """Returns the time of day of a time in ISO 8601."""
    return time[_CLOCK]


def make_clock_cells(times: Ints) -> Cells:
    """Returns the times of day of many times."""
    return cells.format_times(times)[:, _CLOCK]


class TimeClock:
    """Formats the key `time` of rows in seconds: since the first packet, since the row before, or since 1970."""

    def __init__(self, form: TimeFormat) -> None:
        self._form = form
        self._last: int | None = None
        self._rows = self._deltas = _NONE

    @property
    def is_delta(self) -> bool:
        """Whether a row's time counts from the row that was printed before it."""
        return self._form == "delta"

    def set_next_rows(self, reader: RowReader, rows: Ints) -> None:
        """Announces the rows that are printed next, in this order, each of them once."""
        if not self.is_delta or not len(rows):
            return
        times = reader.take_cells("time", rows).astype(np.int64)
        deltas = np.diff(times, prepend=times[0] if self._last is None else self._last)
        self._last = int(times[-1])
        order = np.argsort(rows, kind="stable")
        self._rows, self._deltas = rows[order], deltas[order]

    def read_column(self, reader: RowReader, rows: Ints) -> CellColumn:
        """Returns the times of rows; for delta, they must be among those of the last set_next_rows()."""
        if self.is_delta:
            return SecondsColumn(self._deltas[np.searchsorted(self._rows, rows)])
        times = reader.take_cells("time", rows).astype(np.int64)
        return SecondsColumn(times - find_start_time(reader.session) if self._form == "relative" else times)


def find_start_time(session: Analysis) -> int:
    """Returns the time of the first packet of the input; without packets, that of the first message."""
    if isinstance(session, Session):
        if session.packets.began is not None:
            return session.packets.began
        if first := [info.first for info in session.packets.files if info.first is not None]:
            return min(first)
    return session.rows.cell("time", session.rows.first) if len(session.rows) > session.rows.first else 0
