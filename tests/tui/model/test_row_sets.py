"""Marked and ignored rows.

Back and forward, as in a browser.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.row_sets import MOST_JUMPS, JumpHistory, RowMarks, toggle_row

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
    marks = RowMarks()
    marks.marked |= marked
    assert marks.find_next(row, lambda each: each % 2 == 1, forward=forward) == expected


@given(rows=st.sets(st.integers(0, 30)), ignored=st.sets(st.integers(0, 40)))
def test_without_ignored(rows: set[int], ignored: set[int]) -> None:
    marks = RowMarks()
    marks.ignored |= ignored
    left = marks.drop_ignored(np.array(sorted(rows), np.int64))
    assert left.tolist() == sorted(rows - ignored)


def test_counts() -> None:
    marks = RowMarks()
    assert marks.summary == ""
    assert toggle_row(marks.marked, 4)
    assert toggle_row(marks.marked, 5)
    assert toggle_row(marks.ignored, 5)
    assert marks.summary == "2 marked, 1 ignored"
    assert not toggle_row(marks.marked, 4)
    assert not toggle_row(marks.ignored, 5)
    assert marks.summary == "1 marked"


Step = tuple[str, int, int | None]

CASES: dict[str, Sequence[Step]] = {
    "nothing": [("back", 3, None), ("forward", 3, None)],
    "back and forward": [("1 5", 0, None), ("back", 5, 1), ("back", 1, None), ("forward", 1, 5), ("forward", 5, None)],
    "from where the cursor went": [("1 5", 0, None), ("back", 8, 1), ("forward", 1, 8)],
    "a jump forgets what was ahead": [
        *[("1 5", 0, None), ("5 9", 0, None), ("back", 9, 5), ("5 7", 0, None)],
        *[("forward", 7, None), ("back", 7, 5), ("back", 5, 1)],
    ],
    "a place is not there twice": [("1 5", 0, None), ("5 9", 0, None), ("back", 9, 5), ("back", 5, 1)],
    "hidden rows are passed over": [("1 100", 0, None), ("100 5", 0, None), ("back", 5, 1), ("forward", 1, 5)],
}


@pytest.mark.parametrize("case", CASES)
def test_steps(case: str) -> None:
    jumps = JumpHistory()
    for what, row, expected in CASES[case]:
        if " " in what:
            jumps.add_jump(*map(int, what.split()))
        else:
            go = jumps.go_back if what == "back" else jumps.go_forward
            assert go(row, lambda each: each < 100) == expected, (what, row)


def test_it_is_bounded() -> None:
    jumps = JumpHistory()
    for row in range(0, 3000, 10):
        jumps.add_jump(row, row + 5)
    assert len(jumps._rows) == MOST_JUMPS
    steps, row = 0, 2995
    while (before := jumps.go_back(row, lambda _: True)) is not None:
        steps, row = steps + 1, before
    assert steps == MOST_JUMPS - 1
