"""What people read beside times and durations."""

from __future__ import annotations

import pytest

from dissectors.wire.times import milliseconds, timestamp


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_732_000_000_123, "2024-11-19T07:06:40.123Z"),
        (-1, None),
        (1 << 62, None),
    ],
)
def test_timestamps(value: int, text: str | None) -> None:
    assert timestamp(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(999, None), (30_000, "0:00:30"), (29_983, "0:00:29.983"), (90_000_000, "1 day, 1:00:00"), (0x7FFFFFFF, None)],
)
def test_durations(value: int, text: str | None) -> None:
    assert milliseconds(value) == text
