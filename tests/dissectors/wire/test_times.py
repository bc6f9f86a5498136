"""What people read beside times and durations."""

from __future__ import annotations

import pytest

from dissectors.wire.times import lasting, milliseconds, timestamp


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


LASTING = [
    (0, "0 ns"),
    (999, "999 ns"),
    (1000, "1 us"),
    (1540, "1.5 us"),
    (409_700, "410 us"),
    (3_000_000, "3 ms"),
    (3_240_000_000, "3.2 s"),
    (12_600_000_000, "13 s"),
    (7_200_000_000_000, "7,200 s"),
    (-1_500_000, "-1.5 ms"),
]


@pytest.mark.parametrize(("nanoseconds", "text"), LASTING)
def test_a_length_of_time_in_a_sentence(nanoseconds: int, text: str) -> None:
    assert lasting(nanoseconds) == text
