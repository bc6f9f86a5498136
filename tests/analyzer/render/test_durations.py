"""Durations in columns are those that are made one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.columns.cells import TooWide, flatten_cells
from analyzer.columns.values import CellStyle
from analyzer.render.durations import format_duration, make_duration_cells

STYLE = CellStyle("durations of a test", b"", str.encode)
LONGEST = 999_994_999_999
"""Nanoseconds that still are less than a thousand seconds when they are rounded."""


def written(column: list[int]) -> list[str]:
    return [flatten_cells(cell).decode() for cell in make_duration_cells(np.array(column, np.int64), STYLE)]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        *((0, "0ns"), (1, "1ns"), (999, "999ns"), (1000, "1us"), (1004, "1us"), (1005, "1.01us"), (9994, "9.99us")),
        *(
            (9995, "10us"),
            (99_949, "99.9us"),
            (99_950, "100us"),
            (999_499, "999us"),
            (999_500, "1ms"),
            (1_234_567, "1.23ms"),
        ),
        *((999_499_999, "999ms"), (999_500_000, "1.00s"), (1_500_000_000, "1.50s"), (59_994_999_999, "59.99s")),
        *((LONGEST, "999.99s"), (123_456_789_012, "123.46s")),
    ],
)
def test_three_digits_in_the_unit_that_suits(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text
    assert written([nanoseconds]) == [text]
    if nanoseconds:
        assert format_duration(-nanoseconds) == f"-{text}"


def test_near_every_power_of_ten() -> None:
    column = [
        number
        for power in range(13)
        for first in (1, 4, 5, 9, 10)
        for number in range(max(first * 10**power - 60, 0), first * 10**power + 60)
        if number <= LONGEST
    ]
    assert written(column) == list(map(format_duration, column))


@given(st.lists(st.integers(0, LONGEST), min_size=1))
def test_any_durations(column: list[int]) -> None:
    assert written(column) == list(map(format_duration, column))


@pytest.mark.parametrize("nanoseconds", [LONGEST + 5_000_001, 10**12, 10**15, 1 << 62])
def test_a_thousand_seconds_are_for_no_column(nanoseconds: int) -> None:
    assert format_duration(nanoseconds).endswith("s")
    with pytest.raises(TooWide):
        written([1, nanoseconds])


def test_nothing() -> None:
    assert format_duration(None) == ""
    assert written([]) == []
