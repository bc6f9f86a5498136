"""Amounts as lines for people say them."""

from __future__ import annotations

import pytest

from dissectors.wire.amounts import count_text, duration_text, length_text, size_text, value_text
from dissectors.wire.secret import Secret


@pytest.mark.parametrize(
    ("number", "noun", "expected"), [(1, "record", "1 record"), (3, "record", "3 records"), (2, "entry", "2 entries")]
)
def test_counts(number: int, noun: str, expected: str) -> None:
    assert count_text(number, noun) == expected


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        *((0, "0 ms"), (1, "1 ms"), (999, "999 ms"), (1000, "1 s"), (1500, "1.5 s"), (90_000, "90 s")),
        *((300_000, "5 min"), (7_200_000, "2 h"), (604_800_000, "7 d"), (0x7FFFFFFF, "no limit")),
        (1_397_370_123, "1397370.1 s"),
    ],
)
def test_durations(milliseconds: int, expected: str) -> None:
    assert duration_text(milliseconds) == expected


@pytest.mark.parametrize(("value", "expected"), [(b"", "0 bytes"), (b"x", "1 byte"), (Secret("ab"), "2 bytes")])
def test_lengths(value: bytes | Secret, expected: str) -> None:
    assert length_text(value) == expected


def test_sizes() -> None:
    assert [size_text(1 << power) for power in (9, 10, 25, 35)] == ["512 bytes", "1 KiB", "32 MiB", "32 GiB"]
    assert [size_text(size) for size in (1, 1023, 3174, 5 << 40)] == ["1 byte", "1023 bytes", "3.1 KiB", "5120 GiB"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"ab", "2 bytes"), ([1, 2], "2 items"), ({}, "0 items"), (Secret("hunter2"), "***"), (None, "null"),
        (1.5, "1.5"), ("a" * 10, "a" * 10), ("a" * 11, "a" * 9 + "…"),
    ],
)  # fmt: skip
def test_values(value: object, expected: str) -> None:
    assert value_text(value, most=10) == expected
