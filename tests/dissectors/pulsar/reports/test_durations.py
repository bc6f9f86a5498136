"""Durations: the median of what was there, to a few in a hundred, and in little memory."""

from __future__ import annotations

from statistics import median_low

from hypothesis import given
from hypothesis import strategies as st

from dissectors.pulsar.reports.members import DurationStatistics


@given(st.lists(st.integers(0, 1 << 62), min_size=1, max_size=30))
def test_the_median_is_near_and_was_there(lasted: list[int]) -> None:
    found = DurationStatistics()
    for each in lasted:
        found.add(each)
    exact = median_low(lasted)
    assert found.median in lasted
    assert abs(found.median - exact) <= exact / 64
    assert found.longest == max(lasted)


def test_without_any_there_is_none() -> None:
    found = DurationStatistics()
    assert (found.median, found.longest, found.count) == (None, None, 0)


def test_clocks_that_differ() -> None:
    found = DurationStatistics()
    found.add(-5)
    assert (found.median, found.longest) == (0, 0)


def test_many_take_little() -> None:
    found = DurationStatistics()
    for each in range(1, 200_000, 7):
        found.add(each * 1000)
    assert len(found._groups) < 1500
