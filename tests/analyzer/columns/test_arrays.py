"""Columns that take no more memory than their values need, and give the same values."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest

from analyzer.columns.arrays import argsort_stable, list_distinct
from analyzer.columns.tables import PAGED_BYTES, ColumnTable, NameTable
from dissectors.wire.fast_path import NULL64
from tests.apart import apart, resident

LARGE = 1 << 31


class Some(ColumnTable):
    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"wide": np.int64, "narrow": np.int64, "usual": np.int8}
    NARROW: ClassVar[frozenset[str]] = frozenset({"narrow"})
    USUAL: ClassVar[Mapping[str, int]] = {"usual": 7}


APPENDS: list[tuple[list[tuple[list[int], list[int]]], type[np.generic], bool]] = [
    ([([1, 2], [7, 7])], np.int32, True),
    ([([LARGE - 1], [7]), ([-LARGE], [7])], np.int32, True),
    ([([LARGE], [7])], np.int64, True),
    ([([1, 2], [7, 7]), ([3, NULL64], [7, 8])], np.int64, False),
    ([([1], [8]), ([LARGE], [7]), ([2], [7])], np.int64, False),
    ([([], []), ([5] * 3000, [7] * 3000), ([LARGE] * 5000, [1] * 5000)], np.int64, False),
]


@pytest.mark.parametrize(("appends", "kind", "usual"), APPENDS)
def test_values_stay_whatever_holds_them(
    appends: list[tuple[list[int], list[int]]], kind: type[np.generic], usual: bool
) -> None:
    columns = Some()
    for narrow, other in appends:
        columns.append(
            len(narrow), {"wide": 3, "narrow": np.array(narrow, np.int64), "usual": np.array(other, np.int8)}
        )
    expected = [[value for append in appends for value in append[which]] for which in (0, 1)]
    assert columns.column("narrow").tolist() == expected[0]
    assert columns.column("usual").tolist() == expected[1]
    assert columns.column("wide").tolist() == [3] * len(expected[0])
    assert [columns.cell("usual", row) for row in range(len(columns))] == expected[1]
    assert columns.column("narrow").dtype == kind
    assert columns.column("usual").dtype == np.int8
    assert columns.column("usual").flags.writeable is not usual


def test_large_columns_can_be_written_to() -> None:
    columns = Some()
    for number in range(4):
        columns.append(PAGED_BYTES, {"wide": number, "narrow": number, "usual": 7})
    columns.column("wide")[5] = 9
    assert columns.cell("wide", 5) == 9
    assert columns.column("wide")[::PAGED_BYTES].tolist() == [0, 1, 2, 3]
    with pytest.raises(IndexError):
        columns.cell("usual", 4 * PAGED_BYTES)


@pytest.mark.parametrize(
    "numbers", [[], [3, 1, 3, 0, 1], [65_535, 0, 65_535], [65_536, 0, 65_536], [1 << 40, 5, 5]], ids=str
)
def test_order_by_is_stable(numbers: list[int]) -> None:
    """Small numbers are sorted in another way than large ones, to the same order."""
    assert argsort_stable(np.array(numbers, np.int64)).tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)


def numbered(begin: int, count: int) -> Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Rows whose values tell their numbers; the last column is not usual for long."""
    rows = np.arange(begin, begin + count)
    return {"wide": rows + LARGE, "narrow": rows, "usual": rows % 100}


@pytest.mark.parametrize("size", [100, 7_000, 90_000])
@pytest.mark.parametrize("remaining", [10, 5_000, 150_000])
def test_what_is_forgotten_takes_no_memory_and_the_rest_keeps_its_numbers(size: int, remaining: int) -> None:
    columns = Some()
    most = 0
    while len(columns) < 500_000:
        first = columns.append(size, numbered(len(columns), size))
        assert first == len(columns) - size
        columns.forget(len(columns) - remaining)
        most = max(most, columns.memory_bytes)
        if first // 40_000 == len(columns) // 40_000:
            continue
        rows = np.arange(columns.first, len(columns))
        assert (columns.column("narrow")[columns.first :] == rows).all()
        assert (columns.column("wide")[columns.first :] == rows + LARGE).all()
        assert (columns.column("usual")[columns.first :] == rows % 100).all()
    width = 8 + 4 + 1
    assert most < (remaining + size) * width + 3 * (PAGED_BYTES + mmap.PAGESIZE)
    assert columns.cell("narrow", columns.first) == columns.first
    for row in (columns.first - 1, 0, -1, len(columns)):
        with pytest.raises(IndexError):
            columns.cell("narrow", row)


def test_forgetting_gives_memory_back() -> None:
    apart(forget_much)


def forget_much() -> None:
    """Also when arrays are outgrown, and when a column needs 64 bits of a sudden."""
    columns = Some()
    before = resident()
    for turn in range(40):
        columns.append(100_000, {"wide": turn, "narrow": turn if turn < 30 else LARGE, "usual": 1})
        columns.forget(len(columns) - 1000)
        assert resident() - before < 8 << 20
    assert columns.column("narrow")[-1] == LARGE


def test_pages_without_a_row_that_is_retained_go_back() -> None:
    apart(keep_few)


def keep_few() -> None:
    columns = Some()
    columns.append(1_000_000, numbered(0, 1_000_000))
    before, stored = resident(), columns.memory_bytes
    remaining = np.arange(0, 1_000_000, 50_000)
    columns.keep_only(remaining)
    assert before - resident() > 10 << 20
    assert columns.memory_bytes < stored // 20
    columns.append(5_000_000, numbered(1_000_000, 5_000_000))
    assert (columns.column("wide")[remaining] == remaining + LARGE).all()
    assert (columns.column("narrow")[1_000_000:] == np.arange(1_000_000, 6_000_000)).all()
    assert resident() - before < (5_000_000 * 13) + (4 << 20)


def test_names_that_nobody_has_are_forgotten() -> None:
    names = NameTable()
    assert [names.intern(text) for text in ("a", "b", "c", "a")] == [0, 1, 2, 0]
    names.keep_only({1})
    assert len(names) == 1
    assert names.text(1) == "b"
    assert (names.find_number("a"), names.find_number("b")) == (-1, 1)
    assert names.intern("a") == 3


@pytest.mark.parametrize(
    "values",
    [
        [],
        [3, 1, 3, -2],
        [7] * 5,
        [LARGE, 0, -LARGE, LARGE],
        [[2, 1], [1, 0]],
        [1.5, -0.5, 1.5],
        ["b", "a", "b"],
        [True, False, True],
    ],
)
def test_distinct_values_are_those_of_numpy(values: list[object]) -> None:
    array = np.array(values)
    found = list_distinct(array)
    assert found.dtype == array.dtype
    assert found.tolist() == np.unique(array).tolist()
