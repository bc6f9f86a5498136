"""Reads literals with a unit: durations, times, sizes, bytes, addresses, booleans.

Theory. Numbers are exact: `1.5s` is 1,500,000,000 ns, without floats. A time without a zone is UTC, as in all output.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from ipaddress import IPv4Network, IPv6Network, ip_network

from analyzer.query.units import UNITS

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
