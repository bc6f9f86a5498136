"""Tests of significance beside values from textbooks, and beside counting all outcomes."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from analyzer.insight.difference import compare_percentiles, compare_rates, compare_shares


def count_outcomes(some: int, of: int, others: int, of_others: int) -> float:
    """Fisher's test, by counting all tables with the same sums."""
    marked = some + others
    ways = [comb(of, n) * comb(of_others, marked - n) for n in range(max(0, marked - of_others), min(marked, of) + 1)]
    seen = comb(of, some) * comb(of_others, others)
    return sum(way for way in ways if way <= seen) / sum(ways)


@pytest.mark.parametrize(
    ("some", "of", "others", "of_others", "expected"),
    [
        (3, 4, 1, 4, 0.4857142857),  # the lady tasting tea
        (1, 10, 11, 14, 0.0027594562),
        (0, 5, 5, 5, 2 / 252),
        (7, 7, 3, 3, 1.0),
        (0, 0, 3, 9, 1.0),
    ],
)
def test_shares(some: int, of: int, others: int, of_others: int, expected: float) -> None:
    assert compare_shares(some, of, others, of_others) == pytest.approx(expected, rel=1e-6)
    assert compare_shares(others, of_others, some, of) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("of", [1, 3, 8, 15])
def test_few_shares_are_exact(of: int) -> None:
    for some in range(of + 1):
        for others in range(10):
            assert compare_shares(some, of, others, 9) == pytest.approx(count_outcomes(some, of, others, 9), rel=1e-6)


def test_many_shares_are_nearly_as_exact_ones() -> None:
    for others in (100, 120, 140):
        exact, found = count_outcomes(100, 1000, others, 1000), compare_shares(100, 1000, others, 1000)
        assert found == pytest.approx(exact, rel=0.4)
    assert compare_shares(10**6, 10**7, 10**6 + 10**5, 10**7) == 0


def test_rates() -> None:
    assert compare_rates(5, 10, 5, 10) == 1
    assert compare_rates(0, 10, 4, 10) == pytest.approx(2 / 16)
    assert compare_rates(0, 10, 4, 0) == 1
    assert compare_rates(1000, 10, 2000, 20) == 1
    assert compare_rates(1000, 10, 2000, 10) < 1e-9


def test_percentiles_of_one_distribution_and_of_two() -> None:
    chance = np.random.default_rng(27)
    one, other = (np.sort(chance.lognormal(10, 2, 5000).astype(np.int64)) for _ in range(2))
    for thousandths in (500, 900, 990):
        assert compare_percentiles(one, one, thousandths) == 1
        assert compare_percentiles(one, other, thousandths) > 0.01
        assert compare_percentiles(one, 2 * other, thousandths) < 0.001


def test_only_the_tail_differs() -> None:
    one = np.arange(10_000)
    other = np.sort(np.where(one % 50 == 0, one + 10**6, one))
    assert compare_percentiles(one, other, 500) > 0.01
    assert compare_percentiles(one, other, 990) < 0.001


def test_few_values_prove_nothing() -> None:
    assert compare_percentiles(np.array([1]), np.array([10**9]), 500) == 1
    assert compare_percentiles(np.zeros(0, np.int64), np.arange(9), 500) == 1
