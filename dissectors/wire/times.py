"""What people read beside times and durations that are numbers on the wire."""

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
    """A duration as people say it; None below a second, where the number says it already."""
    if value < 1000 or value >= 0x7FFFFFFF:
        return None
    text = str(timedelta(milliseconds=value))
    return text[:-3] if "." in text else text
