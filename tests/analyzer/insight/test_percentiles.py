"""Percentiles of groups beside sorted lists, sums beside Python's, and the edges of buckets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.insight.percentiles import EDGES, buckets, nearest_ranks, sums

THOUSANDTHS = (500, 900, 990, 999)
VALUES = st.one_of(st.integers(-1000, 1000), st.integers(-(1 << 62), 1 << 62))
ENTRIES = st.lists(st.tuples(st.integers(0, 5), VALUES), max_size=60)


def plainly(values: list[int]) -> list[int]:
    """Nearest rank as textbooks say it, without arrays."""
    ordered, count = sorted(values), len(values)
    if not count:
        return [0] * (len(THOUSANDTHS) + 3)
    ranks = [ordered[max(math.ceil(each * count / 1000), 1) - 1] for each in THOUSANDTHS]
    return [count, ordered[0], *ranks, ordered[-1]]


@given(ENTRIES)
@example([(0, value) for value in range(1000, 0, -1)])
def test_each_group_has_the_percentiles_of_its_values(entries: list[tuple[int, int]]) -> None:
    ordered = sorted(entries, key=lambda entry: entry[1])
    keys, values = (np.array([entry[place] for entry in ordered], np.int64) for place in (0, 1))
    found = nearest_ranks(keys, values, 7, THOUSANDTHS).tolist()
    assert found == [plainly([value for key, value in entries if key == group]) for group in range(7)]


@given(ENTRIES)
def test_sums_are_exact(entries: list[tuple[int, int]]) -> None:
    keys, values = (np.array([entry[place] for entry in entries], np.int64) for place in (0, 1))
    assert sums(keys, values, 6) == [sum(value for key, value in entries if key == group) for group in range(6)]


@pytest.mark.parametrize(
    ("value", "begin"),
    [(-5, 0), (0, 0), (1, 1), (3, 3), (4, 4), (7, 7), (8, 8), (9, 8), (11, 10), (1023, 896), (1024, 1024)],
)
def test_a_bucket_begins_at_its_edge(value: int, begin: int) -> None:
    assert EDGES[buckets(np.array([value]))[0]] == begin


def test_buckets_grow_by_a_quarter_at_most_and_never_overlap() -> None:
    assert (np.diff(EDGES) > 0).all()
    assert (EDGES[5:] * 4 <= EDGES[4:-1] * 5).all()
