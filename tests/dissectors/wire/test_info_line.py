"""Lines of tables: order, conditions, the first that says something, numbers for many messages at once."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import MadeText, Term
from dissectors.wire.embedded import CutList
from dissectors.wire.info_line import line, line_by_field
from dissectors.wire.summary import Summaries

SUMMARIES = Summaries(numbers={"hex": hex}, nulls={"no": ("no", False)})


@pytest.mark.parametrize(
    ("rows", "struct", "said"),
    [
        (["{a=}", "b {b}"], {"b": "x", "a": 1}, ["1", "b x"]),
        ([{"when": "a > 1", "say": "{a}"}], {"a": 1}, []),
        ([{"when": "a > 1", "say": "{a}"}], {"a": 2}, ["2"]),
        ([["{a+}", "none"]], {"a": 0}, ["none"]),
        ([[{"when": "a == 0", "say": ""}, "some"]], {"a": 0}, []),
        ([{"when": "with a", "say": ["{a%no data}", "data"]}], {"a": None}, ["no data"]),
        (["{a%hex}"], {"a": 255}, ["0xff"]),
        (["{a%hex}"], {"a": "x"}, []),
        (["{a#,node}", "{b#child/children}"], {"a": CutList([], 1200), "b": [1, 2]}, ["1,200 nodes", "2 children"]),
    ],
)
def test_rows(rows: list[Any], struct: dict[str, Any], said: list[str]) -> None:
    assert line(SUMMARIES, rows)(struct, []) == said


def test_rows_of_fields_keep_the_order_of_the_table() -> None:
    say = line_by_field(SUMMARIES, {"b": ["{b}", "{c}"], "a": ["{a}"]})
    assert say({"a": "x", "b": "y"}, []) == ["y", "x"]
    assert say({"a": "x", "c": "z"}, []) == ["x"]


def test_a_number_of_many_messages_is_made_a_text_for_each() -> None:
    builder = TemplateBuilder(b"\1")
    number = builder.integer(Term(0, 1, "b"), 1)
    (text,) = line(SUMMARIES, ["{a%hex}"])({"a": number}, [])
    assert builder.marks == [MadeText(number, hex)]
    assert text.strip("\ue000\ue001") == "0"
    assert not any(builder.fixed)


@pytest.mark.parametrize("row", ["{", {"when": "a ~ b", "say": "x"}, {"say": "x"}])
def test_what_is_no_row(row: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        line(SUMMARIES, [row])
