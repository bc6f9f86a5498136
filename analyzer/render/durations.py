"""Formats durations for people: three digits, in the suitable unit; one at a time or in columns.

Theory. A duration is rounded to hundredths of its unit, in integers. So there are only a few thousand texts, and a
column of a million durations is a column of numbers of texts.
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.columns.cells import Cells, TooWide
from analyzer.columns.values import CellStyle, TextTable

UNITS = ((1, "ns"), (10**3, "us"), (10**6, "ms"), (10**9, "s"))
_LIMITS = (1000, 999_500, 999_500_000)
"""Nanoseconds from which on the next unit is used, because three digits would become four."""

_PER_UNIT = 100_000
"""Numbers of texts for each unit: hundredths below a thousand."""


def format_duration(nanoseconds: int | None) -> str:
    """Formats ns for people: `380ns`, `4.2us`, `12.3ms`, `1.50s`; an empty text for None."""
    if nanoseconds is None:
        return ""
    size = abs(nanoseconds)
    unit = sum(size >= limit for limit in _LIMITS)
    return ("-" if nanoseconds < 0 else "") + _format_text(unit, _count_hundredths(size, unit))


def _count_hundredths(size: int, unit: int) -> int:
    """Returns a duration in hundredths of its unit, rounded to three digits; seconds are not rounded further."""
    one = UNITS[unit][0]
    if unit == 0:
        return size * 100
    step = 1 if unit == 3 or size * 1000 < 9995 * one else 10 if size * 100 < 9995 * one else 100
    grain = one // 100 * step
    return (size + grain // 2) // grain * step


def _format_text(unit: int, hundredths: int) -> str:
    whole, part = divmod(hundredths, 100)
    if unit == 3:
        return f"{whole}.{part:02}s"
    return f"{whole}.{part:02}".rstrip("0").rstrip(".") + UNITS[unit][1]


_TEXTS = TextTable(lambda number: _format_text(*divmod(number, _PER_UNIT)))


def make_duration_cells(nanoseconds: Ints, style: CellStyle) -> Cells:
    """Formats many non-negative durations (ns) as cells. Raises TooWide for 1000 s and more."""
    unit = np.searchsorted(_LIMITS, nanoseconds, "right")
    one = 10 ** (3 * unit)
    step = np.where(
        (nanoseconds * 1000 < 9995 * one) | (unit == 3), 1, np.where(nanoseconds * 100 < 9995 * one, 10, 100)
    )
    grain = np.maximum(one // 100 * step, 1)
    hundredths = np.where(unit == 0, nanoseconds * 100, (nanoseconds + grain // 2) // grain * step)
    if (hundredths >= _PER_UNIT).any():
        raise TooWide
    return _TEXTS.cells(unit * _PER_UNIT + hundredths, style)
