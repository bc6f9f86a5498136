"""The error for input that is not hex; its text contains the position."""

from __future__ import annotations


class HexError(ValueError):
    """Raised for input that is not hex; the text has the line and column of the first bad character."""


def make_error(text: str, position: int, why: str) -> HexError:
    """Makes the error for the character at `position`."""
    line = text.count("\n", 0, position) + 1
    return HexError(f"line {line}, column {position - text.rfind(chr(10), 0, position)}: {why}")
