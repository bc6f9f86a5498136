"""Writes values as literals of a filter. analyzer.query.filter.scan reads them back as the same values.

Theory. A text is quoted and bytes are hexadecimal, which is always correct. A number is written as its name if it has
one, because people read filters, too. Characters that a line would not show as they are become escapes; the filter
language has none above 0xff, so those characters stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from analyzer.query.fields.path import FieldKind, FieldPath
from dissectors.wire.embedded import EmbeddedValue

LONGEST = 256
"""Number of characters or bytes of a value that are written; for a longer value, its beginning and its length."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ACTING = re.compile(r"[\x00-\x1f\x7f-\xa0\xad]")
_DIGITS = 40
"""Number of digits of a decimal number that are read."""


def quote(text: str) -> str:
    """Returns a text as a quoted literal of the filter language."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = _ACTING.sub(lambda match: f"\\x{ord(match[0]):02x}", plain)
    return f'"{escaped}"'


def format_bytes(data: bytes) -> str:
    """Formats bytes as a literal of the filter language; no bytes are an empty text."""
    return data.hex(":") if data else '""'


def list_comparisons(field: FieldPath, value: Any) -> Iterator[str]:
    """Yields filters that test whether a field has a value, the most readable first; none if nothing is equal to it."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    if isinstance(value, bool):
        yield f"{field.name} == {'true' if value else 'false'}"
    elif isinstance(value, int):
        name = None if field.label is None else field.label(value)
        if name is not None and _NAME.fullmatch(name):
            yield f"{field.name} == {name}"
        yield f"{field.name} == {value}"
    elif isinstance(value, float):
        yield from _compare_near(field, value)
    elif isinstance(value, str) and len(value) <= LONGEST:
        yield f"{field.name} == {_compare_text(field, value)}"
    elif isinstance(value, str):
        yield f"{field.name}[:{LONGEST}] == {quote(value[:LONGEST])} and len({field.name}) == {len(value)}"
    elif isinstance(value, bytes) and len(value) <= LONGEST:
        yield f"{field.name} == {format_bytes(value)}"
    elif isinstance(value, bytes):
        yield f"{field.name}[:{LONGEST}] == {format_bytes(value[:LONGEST])} and len({field.name}) == {len(value)}"


def _compare_text(field: FieldPath, value: str) -> str:
    """Returns a text as literal; the name of a number, or an address, as a word."""
    is_word = field.kind is not FieldKind.TEXT or field.label is not None
    return value if is_word and _NAME.fullmatch(value) else quote(value)


def _compare_near(field: FieldPath, value: float) -> Iterator[str]:
    """Yields a range between the decimal numbers below and above a float, which is rarely an exact decimal number."""
    if not math.isfinite(value):
        return
    if value == int(value) and abs(value) < 10**_DIGITS:
        yield f"{field.name} == {int(value)}"
        return
    exact = Fraction(value) * 10**_DIGITS
    yield f"{field.name} in {{{_format_decimal(math.floor(exact))}..{_format_decimal(math.ceil(exact))}}}"


def _format_decimal(scaled: int) -> str:
    whole, part = divmod(abs(scaled), 10**_DIGITS)
    return f"{'-' if scaled < 0 else ''}{whole}.{part:0{_DIGITS}}"
