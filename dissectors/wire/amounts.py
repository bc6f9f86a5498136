"""Amounts as lines for people say them: how many, how long, how large.

Theory. Numbers that differ between messages are formatted by symbolic.make_text, so that the messages match one
template.
"""

from __future__ import annotations

from typing import Any

from dissectors.symbolic_values import length, make_text
from dissectors.wire.secret import Secret

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))
_SIZES = ("KiB", "MiB", "GiB")
_ENDLESS = (0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF)


def count_text(number: Any, noun: str) -> str:
    """Formats a count with its noun: `1 record`, `3 records`; with `,child/children`, `1,200 children`.

    The comma groups digits, and the slash gives the plural.
    """
    comma = noun[: noun.startswith(",")]
    one, _, many = noun.removeprefix(",").partition("/")
    many = many or (one[:-1] + "ies" if one.endswith("ry") else one + "s")
    return make_text(lambda count: f"{count:{comma}} {one if count == 1 else many}", number)


def duration_text(milliseconds: int) -> str:
    """Formats as `500 ms`, `1.5 s`, `5 min`, `7 d`: the largest unit that divides it."""
    if milliseconds in _ENDLESS:
        return "no limit"
    for size, unit in _UNITS:
        if milliseconds >= size and milliseconds % size == 0:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f}".removesuffix(".0") + " s"


def size_text(size: int) -> str:
    """Formats as `1 byte`, `412 bytes`, `3.1 KiB`."""
    if size < 1024:
        return "1 byte" if size == 1 else f"{size} bytes"
    power = min((size.bit_length() - 1) // 10, len(_SIZES))
    return f"{size / (1 << 10 * power):.1f}".removesuffix(".0") + f" {_SIZES[power - 1]}"


def length_text(value: Any) -> str:
    """Formats the size of bytes, a secret or a text, which may be symbolic."""
    return make_text(size_text, length(value))


def value_text(value: object, most: int = 80, null: str = "null") -> str:
    """Describes a value briefly: number of bytes or items, `***` for a secret, or its first characters."""
    if isinstance(value, bytes):
        return size_text(len(value))
    if isinstance(value, list | dict):
        return f"{len(value)} items"
    text = null if value is None else "***" if isinstance(value, Secret) else f"{value}"
    return text if len(text) <= most else f"{text[: most - 1]}…"
