"""Columns that take no more memory than their values need, and give the same values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest

from analyzer.columns import PAGES, Columns, order_by
from dissectors.wire.bulk import NULL64

LARGE = 1 << 31


class Some(Columns):
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
        columns.append(PAGES, {"wide": number, "narrow": number, "usual": 7})
    columns.column("wide")[5] = 9
    assert columns.cell("wide", 5) == 9
    assert columns.column("wide")[::PAGES].tolist() == [0, 1, 2, 3]
    with pytest.raises(IndexError):
        columns.cell("usual", 4 * PAGES)


@pytest.mark.parametrize(
    "numbers", [[], [3, 1, 3, 0, 1], [65_535, 0, 65_535], [65_536, 0, 65_536], [1 << 40, 5, 5]], ids=str
)
def test_order_by_is_stable(numbers: list[int]) -> None:
    """Small numbers are sorted in another way than large ones, to the same order."""
    assert order_by(np.array(numbers, np.int64)).tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)
