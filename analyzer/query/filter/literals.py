"""Literals of a filter: reads those with a unit, and writes values as literals.

Theory. A text is quoted and bytes are hexadecimal, which is always correct. A number is written as its name if it has
one, because people read filters, too. Characters that a line would not show as they are become escapes; the filter
language has none above 0xff, so those characters stay.

Theory. Numbers are exact: `1.5s` is 1,500,000,000 ns, without floats. A time without a zone is UTC, as in all output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from analyzer.query.fields.path import FieldKind, FieldPath
from analyzer.query.units import UNITS
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


_NUMBER = re.compile(r"([+-]?)(?:0[xX]([0-9A-Fa-f]{1,32})|([0-9]{1,40})(?:\.([0-9]{1,40}))?)([A-Za-z]*)")
_BYTES = re.compile(r"[0-9A-Fa-f]{2}(?:([:.-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2})*)?")
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_FLAGS = {
    **dict.fromkeys(("true", "True", "TRUE", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "0"), False),
}

_SECOND = 10**9


def parse_number(text: str) -> tuple[Fraction, str] | None:
    """Parses a number with a unit (empty for none); None if it is not a number or the unit is unknown."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, hexadecimal, whole, part, unit = match.groups()
    if unit and (unit not in UNITS or hexadecimal is not None):
        return None
    value = Fraction(int(hexadecimal, 16)) if hexadecimal is not None else Fraction(f"{whole}.{part or 0}")
    return (-value if sign == "-" else value) * UNITS.get(unit, 1), unit


def find_unknown_unit(text: str) -> str | None:
    """Returns the text after a number that looks like a unit, or None."""
    match = _NUMBER.fullmatch(text)
    return None if match is None or match[5] in UNITS else match[5] or None


def parse_flag(text: str) -> bool | None:
    """Parses the boolean value `true` or `false` of a filter; None for any other text."""
    return _FLAGS.get(text)


def parse_data(text: str) -> bytes | None:
    """Parses bytes written as `01:02:0a` or `0x01020a`."""
    if text[:2] in ("0x", "0X") and len(text) % 2 == 0 and len(text) > 2:
        digits = text[2:]
    elif _BYTES.fullmatch(text) is not None:
        digits = re.sub(r"[:.-]", "", text)
    else:
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None


def parse_time(text: str) -> int | None:
    """Returns nanoseconds since 1970 of a date, with optional time of day and zone, or of a number of seconds."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        plain = parse_number(text)
        return None if plain is None or plain[1] else int(plain[0] * _SECOND)
    *parts, fraction, zone = match.groups()
    try:
        moment = datetime(*(int(part or 0) for part in parts), tzinfo=_parse_zone(zone))  # type: ignore[arg-type, misc]
        since = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017
    except (ValueError, OverflowError):
        return None
    return (since.days * 86_400 + since.seconds) * _SECOND + int((fraction or "0").ljust(9, "0"))


def _parse_zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return timezone.utc  # noqa: UP017
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def parse_network(text: str) -> IPv4Network | IPv6Network | None:
    """Parses an address, or a network such as `10.0.0.0/8`."""
    try:
        return ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return None
