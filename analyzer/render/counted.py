"""Numbers of things, for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 stream`, `2,000 streams`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
