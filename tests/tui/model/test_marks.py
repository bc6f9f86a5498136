"""Marked and ignored rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.marks import Marks, toggle

NEXT = [
    ({3, 7}, 0, True, 3),
    ({3, 7}, 3, True, 7),
    ({3, 7}, 7, True, 3),
    ({3, 7}, 9, True, 3),
    ({3, 7}, 7, False, 3),
    ({3, 7}, 3, False, 7),
    ({3, 7}, 5, False, 3),
    ({3}, 3, True, 3),
    (set(), 3, True, None),
    ({4, 6}, 3, True, None),
    ({3, 4}, 3, True, 3),
]


@pytest.mark.parametrize(("marked", "row", "forward", "expected"), NEXT)
def test_next_of_odd_rows(marked: set[int], row: int, forward: bool, expected: int | None) -> None:
    marks = Marks()
    marks.marked |= marked
    assert marks.next(row, lambda each: each % 2 == 1, forward=forward) == expected


@given(rows=st.sets(st.integers(0, 30)), ignored=st.sets(st.integers(0, 40)))
def test_without_ignored(rows: set[int], ignored: set[int]) -> None:
    marks = Marks()
    marks.ignored |= ignored
    left = marks.without_ignored(np.array(sorted(rows), np.int64))
    assert left.tolist() == sorted(rows - ignored)


def test_counts() -> None:
    marks = Marks()
    assert marks.said == ""
    assert toggle(marks.marked, 4)
    assert toggle(marks.marked, 5)
    assert toggle(marks.ignored, 5)
    assert marks.said == "2 marked, 1 ignored"
    assert not toggle(marks.marked, 4)
    assert not toggle(marks.ignored, 5)
    assert marks.said == "1 marked"
