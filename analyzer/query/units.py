"""Units of amounts, in filters and in options."""

from __future__ import annotations

import re
from collections.abc import Mapping

DURATIONS: Mapping[str, int] = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
"""Nanoseconds of each unit."""

SIZES: Mapping[str, int] = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Bytes of each unit."""

UNITS: Mapping[str, int] = {**DURATIONS, **SIZES}

_WHOLE = re.compile(r"(\d{1,15}) ?([a-z]*)", re.IGNORECASE)


def parse_whole_amount(text: str, units: Mapping[str, int]) -> int | None:
    """Parses a whole number with a unit, and multiplies; None if the text is neither. "" is the empty unit."""
    match = _WHOLE.fullmatch(text)
    unit = None if match is None else units.get(match[2].lower())
    return None if match is None or unit is None else int(match[1]) * unit
