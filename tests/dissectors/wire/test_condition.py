"""Conditions of tables: what holds of which values, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import Term
from dissectors.wire.condition import condition, first_of
from dissectors.wire.embedded import EmbeddedValue

VALUES: dict[str, Any] = {
    "zero": 0,
    "three": 3,
    "four": 4,
    "yes": True,
    "no": False,
    "null": None,
    "name": "%RETRY%group",
    "header": {"topic": "t", "items": [{"type": 1}]},
    "key": EmbeddedValue(b"", {"type": 1}, "Key"),
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("three", True),
        ("zero", False),
        ("missing", False),
        ("not missing", True),
        ("not three", False),
        ("has zero", True),
        ("has null", False),
        ("zero or three == 3 and not four or missing", False),
        ("zero or three == 3 and four", True),
        ("with null", True),
        ("with missing", False),
        ("without missing", True),
        ("without header.topic", False),
        ("with header.items.0.type", True),
        ("with header.items.1", False),
        ("with key.type", True),
        ("without header.items.type", True),
        ("three == 3", True),
        ("three != 3", False),
        ("missing != 3", False),
        ("no == false", True),
        ("missing == false", False),
        ("three > 2", True),
        ("three <= 2", False),
        ("name > 2", False),
        ("missing < 2", False),
        ("three in [1, 3]", True),
        ("missing in [1, 3]", False),
        ('name starts "%RETRY%"', True),
        ('three starts "3"', False),
        ("three < four", True),
        ("four < three", False),
        ("three < four - 1", False),
        ("three <= four - 1", True),
        ("four >= three + 1", True),
        ("four > missing", False),
        ('header.topic == "t"', True),
        ("header.items.0.type == 1", True),
        ("header.items.1.type == 1", False),
        ("key.type in [0, 1]", True),
        ("three > 2 and yes and not no", True),
        ("three == four", False),
        ("three == four - 1", True),
        ("without null", False),
        ("without zero", False),
        ("three & 6", True),
        ("three & 4", False),
        ("three !& 4", True),
        ("three !& 1", False),
        ("missing !& 1", False),
        ("name & 1", False),
        ('name contains "group"', True),
        ('name contains "topic"', False),
        ('missing contains "group"', False),
        ("three > 2 and zero > 0", False),
    ],
)
def test_what_holds(text: str, holds: bool) -> None:
    assert condition(text)(VALUES) is holds


@pytest.mark.parametrize("text", ["three ==", "not three == 3", "three ~ 3", "three != four", "three in 3", "and and"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        condition(text)


def test_the_first_that_holds() -> None:
    first = first_of(("zero > 0", "three > 2", "four > 2"))
    assert first(VALUES) == 2
    assert first({}) == 0


@pytest.mark.parametrize(("text", "noted"), [("a > 2", ("gt", 2, False)), ("a < b - 1", ("lt", 0, True))])
def test_of_symbolic_values_the_outcome_is_noted(text: str, noted: tuple[str, int, bool]) -> None:
    builder = TemplateBuilder(b"\1\5")
    values = {"a": builder.integer(Term(0, 1, "B"), 1), "b": builder.integer(Term(1, 1, "B"), 5)}
    assert condition(text)(values) is noted[2]
    assert [(each.name, each.other, each.outcome) for each in builder.conditions] == [noted]
    assert not any(builder.fixed)
