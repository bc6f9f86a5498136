"""Phrases over plain and symbolic values: what each place says, and what silences it."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import BEGIN, END, Extent, Term
from dissectors.wire.info_line import line_by_field
from dissectors.wire.summary import Summaries, of_plain, pairs_in

SUMMARIES = Summaries(
    formatters={
        "upper": of_plain(str, str.upper),
    },
    numbers={"hours": lambda number: f"{number} h"},
    counts={"count": len, "most": max},
)
VALUES: dict[str, Any] = {
    "zero": 0,
    "two": 2,
    "below": -2,
    "name": "orders",
    "empty": "",
    "sizes": [3, 5],
    "rows": [{"name": "a"}, 7, {"name": "b"}],
    "flag": 6,
    "pairs": {"KEYS": "k"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{two+}", "2"),
        ("{zero+}", None),
        ("{zero+0}", "0"),
        ("{below+0}", None),
        ("{below-}", "-2"),
        ("{name-}", None),
        ("{name+0}", None),
        ("of {missing|empty|'?'}", "of ?"),
        ("of {name|'?'}", "of orders"),
        ("{sizes/count} sizes, {sizes/most}", "2 sizes, 5"),
        ("{name/count}", None),
        ("{two%hours}", "2 h"),
        ("{name%upper}", "ORDERS"),
        ("{rows: {name}}", "a, b"),
        ("{pairs.KEYS}", "k"),
        ("{?two > 1 and name: {name}[{two}]}", "orders[2]"),
        ("{?two > 2: {name}}", None),
        ("{name}( {?without two: none})( {?flag & 4: bit})", "orders bit"),
    ],
)
def test_what_a_phrase_says(text: str, expected: str | None) -> None:
    assert SUMMARIES.phrase(text)(VALUES, []) == expected


def test_of_symbolic_values_numbers_may_differ_and_what_is_looked_into_may_not() -> None:
    builder = TemplateBuilder(b"\1\2ab")
    number = builder.integer(Term(0, 1, "B"), 1)
    text = builder.text(Extent(Term(1, 1, "B"), 0, 2, 4))
    assert SUMMARIES.phrase("{number%hours}( {number%upper})")({"number": number}, []) == f"{BEGIN}0{END}"
    assert not any(builder.fixed)
    assert SUMMARIES.phrase("{text%upper}")({"text": text}, []) == "AB"
    assert list(builder.fixed) == [0, 1, 1, 1]


def test_a_line_has_the_phrases_of_fields_that_are_there() -> None:
    rows = {"place": ["{name} at {two}|{name}"], "missing": ["never"], "zero": ["{zero+}", "{zero+0}"]}
    line = line_by_field(SUMMARIES, rows)
    assert line(VALUES | {"place": True}, []) == ["orders at 2", "0"]
    assert line({"zero": 1}, []) == ["1", "1"]


def test_pairs_in_a_text() -> None:
    assert pairs_in("a=1;b=2;c", "=", ";") == {"a": "1", "b": "2"}
    assert pairs_in({"a": "1"}, "=", ";") == {"a": "1"}
    assert pairs_in(3, "=", ";") == {}
