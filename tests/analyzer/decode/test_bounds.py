"""Conditions as bounds: a table of them, held against each number for itself."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from analyzer.decode.bounds import LEAST, MOST, split_conditions
from dissectors.symbolic_values import COMPARISONS, Condition, Term

NUMBERS = [LEAST, LEAST + 1, -2, -1, 0, 1, 2, 40, 41, MOST - 1, MOST]
WIDE, NARROW = Term(4, 8, "q"), Term(0, 4, "i")


def condition(name: str, other: int, *, outcome: bool = True, constant: int = 0, term: Term = WIDE) -> Condition:
    return Condition((term,), constant, name, other, outcome)


CASES = {
    "below": [condition("lt", 1)],
    "at most": [condition("le", 1)],
    "above": [condition("gt", -1)],
    "at least": [condition("ge", -1)],
    "equal": [condition("eq", 40)],
    "not unequal": [condition("ne", 40, outcome=False)],
    "not below": [condition("lt", 0, outcome=False)],
    "with a constant": [condition("ge", 41, constant=1)],
    "several": [condition("gt", -2), condition("lt", 41), condition("ge", 0)],
    "never": [condition("gt", 1), condition("lt", 1)],
    "the ends": [condition("ge", LEAST), condition("le", MOST)],
    "two numbers": [condition("gt", -2), condition("lt", 41, term=NARROW)],
}


@pytest.mark.parametrize("name", CASES)
def test_what_meets_them(name: str) -> None:
    blocks, others = split_conditions(CASES[name], lambda at: (0, at))
    assert not others
    data = b"".join(struct.pack(">iq", min(max(number, -9), 99), number) for number in NUMBERS)
    segment = np.frombuffer(data, np.uint8).reshape(len(NUMBERS), -1)
    seen = np.logical_and.reduce([block.find_matches(segment) for block in blocks])
    assert seen.tolist() == [all(_holds(each, number) for each in CASES[name]) for number in NUMBERS]


def _holds(condition: Condition, number: int) -> bool:
    (term,), constant, name, other, outcome = condition
    value = number if term is WIDE else min(max(number, -9), 99)
    return bool(COMPARISONS[name](value + constant, other)) is outcome


@pytest.mark.parametrize(
    "left",
    [
        condition("ne", 0),
        condition("eq", 0, outcome=False),
        condition("gt", MOST),
        condition("lt", 9, term=Term(0, 8, "Q")),
        condition("lt", 9, term=Term(0, 2, "u")),
        condition("lt", 9, term=Term(0, 4, "i", negated=True)),
        Condition((WIDE, NARROW), 0, "lt", 9, True),
    ],
    ids=str,
)
def test_what_is_no_interval_of_one_number(left: Condition) -> None:
    assert split_conditions([left], lambda at: (0, at)) == ([], [left])


def test_numbers_of_segments_and_widths_apart() -> None:
    terms = [Term(0, 4, "i"), Term(4, 4, "i"), Term(8, 2, "h"), Term(20, 4, "i")]
    blocks, _ = split_conditions([condition("ge", 0, term=term) for term in terms], lambda at: (at // 16, at % 16))
    assert [(block.segment, block.kind, block.columns.tolist()) for block in blocks] == [
        (0, ">i4", [0, 1, 2, 3, 4, 5, 6, 7]),
        (0, ">i2", [8, 9]),
        (1, ">i4", [4, 5, 6, 7]),
    ]
