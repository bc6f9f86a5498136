"""Labels of times and durations that are numbers on the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timestamp(value: int) -> str | None:
    """Milliseconds since 1970 as ISO 8601 in UTC; None for -1 and for what no calendar holds."""
    if value < 0:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(value: int) -> str | None:
    """Formats a duration in ms for people; None below a second."""
    if value < 1000 or value >= 0x7FFFFFFF:
        return None
    text = str(timedelta(milliseconds=value))
    return text[:-3] if "." in text else text


_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns"))


def lasting(nanoseconds: int) -> str:
    """Formats a duration for a sentence, with two digits: `3.2 s`, `40 ms`, `410 us`."""
    size, unit = next((each for each in _UNITS if abs(nanoseconds) >= each[0]), _UNITS[-1])
    whole = nanoseconds / size
    return f"{whole:.1f}".removesuffix(".0") + f" {unit}" if abs(whole) < 10 else f"{whole:,.0f} {unit}"
