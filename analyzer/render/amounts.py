"""Formats amounts for people: counts, bytes, rates and shares, short enough for columns, and counted nouns."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_KILO = 1024


def format_count(number: int | None) -> str:
    """Formats as `241,000`; `-` for zero, an empty text for None."""
    if number is None:
        return ""
    return f"{number:,}" if number else "-"


def format_size(number: int) -> str:
    """Formats as `71B`, `43.3KiB`: three digits, or whole bytes."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value /= _KILO
        unit += 1
    if not unit:
        return f"{number}B"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}{_UNITS[unit]}"


def format_rate(number: float | None) -> str:
    """Formats as `11,418`, `3.7`, `0.042`; an empty text for None."""
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.3g}"


def format_share(number: float | None) -> str:
    """Formats as `0.31%`; `-` for zero, an empty text for None."""
    if number is None:
        return ""
    return f"{100 * number:.3g}%" if number else "-"


def format_counted(number: int, noun: str) -> str:
    """Formats a number with its noun, in the plural if needed: `1 stream`, `2,000 streams`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
