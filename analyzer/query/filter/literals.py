"""Writes values as literals of a filter. analyzer.query.filter.scan reads them back as the same values.

Theory. Quotes are always right for a text, and for bytes hexadecimal is; a number has its name where one is told, for a
filter is read by people, too. Characters that a line of text would not show as they are stand as escapes; there is none
for those above 0xff, which stay.
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
"""Characters or bytes of a value that are written; of a longer one its beginning and its length."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ACTING = re.compile(r"[\x00-\x1f\x7f-\xa0\xad]")
_DIGITS = 40
"""Digits of a decimal number that are read."""


def quote(text: str) -> str:
    """Returns a text as a quoted literal of the filter language."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = _ACTING.sub(lambda match: f"\\x{ord(match[0]):02x}", plain)
    return f'"{escaped}"'


def format_bytes(data: bytes) -> str:
    """Formats bytes as a literal of the filter language; no bytes are an empty text."""
    return data.hex(":") if data else '""'


def list_comparisons(field: FieldPath, value: Any) -> Iterator[str]:
    """Filters that ask whether a field has a value, the best to read first; none for what equals nothing."""
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
    """A text; that of a number's name, or of an address, is a word."""
    is_word = field.kind is not FieldKind.TEXT or field.label is not None
    return value if is_word and _NAME.fullmatch(value) else quote(value)


def _compare_near(field: FieldPath, value: float) -> Iterator[str]:
    """Between the decimal numbers below and above it: few are a decimal number of so few digits themselves."""
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
