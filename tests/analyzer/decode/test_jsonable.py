"""JSON of decoded values: exact, bounded, and without secrets."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode.jsonable import JsonWriter, Limits
from dissectors.wire.embedded import CutList
from dissectors.wire.flat import FlatRows
from dissectors.wire.nonfinite import float_value
from dissectors.wire.secret import Secret

WORDS = ["NaN", "Infinity", "-Infinity"]

CASES: list[tuple[str, Any, Any]] = [
    ("plain", {"a": [1, None, True, "x", 1.5]}, {"a": [1, None, True, "x", 1.5]}),
    ("bytes", b"\x00\xff", {"hex": "00ff", "length": 2}),
    ("long bytes", b"a" * 65, {"hex": "61" * 64, "length": 65}),
    ("largest 64-bit", 2**64 - 1, 2**64 - 1),
    ("beyond 64 bits", {"zxid": 2**70, "data": b"a"}, {"zxid": 2**70, "data": {"hex": "61", "length": 1}}),
    ("not a number", [*map(float_value, (math.nan, math.inf, -math.inf, 1.5)), None], [*WORDS, 1.5, None]),
    ("deep not a number", {"a": [{"b": float_value(math.nan)}]}, {"a": [{"b": "NaN"}]}),
    ("not a number beside a huge one", [float_value(math.nan), 2**70], ["NaN", 2**70]),
    ("lone surrogate", {"a": "\ud800é"}, {"a": "\ud800é"}),
    ("secret bytes", Secret(b"hunter2"), {"redacted": True, "length": 7}),
    ("secret text", {"password": Secret("hunter2")}, {"password": {"redacted": True, "length": 7}}),
    (
        "a list that its reader has cut",
        {"a": CutList([{"b": 1}], 9)},
        {"a": [{"b": 1}, {"truncated": True, "length": 9}]},
    ),
    ("nothing of a list", [CutList([], 9), 2**70], [[{"truncated": True, "length": 9}], 2**70]),
    ("secret beside a huge number", [Secret("hunter2"), 2**70], [{"redacted": True, "length": 7}, 2**70]),
]


@pytest.mark.parametrize(("value", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_table(value: Any, expected: Any) -> None:
    line = JsonWriter().format_line(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == expected
    assert b"hunter2" not in line


@pytest.mark.parametrize("text", ["\x7f", "\x9b31m", "\u202eabc", "\u200b", "\U000e0041", "é中😀"])
def test_nothing_acts_on_a_terminal(text: str) -> None:
    line = JsonWriter().format_line({"client": text})
    assert json.loads(line) == {"client": text}
    assert line.decode().rstrip("\n").isprintable()


def test_limits_are_lifted() -> None:
    writer = JsonWriter(Limits(bytes_limit=None, max_items=None, show_secrets=True))
    assert json.loads(writer.dumps([b"a" * 70])) == [{"hex": "61" * 70, "length": 70}]
    assert json.loads(writer.dumps(list(range(20_000)))) == list(range(20_000))
    assert json.loads(writer.dumps([Secret(b"ab"), Secret("ab")])) == [{"hex": "6162", "length": 2}, "ab"]


@given(st.integers(0, 6), st.lists(st.lists(st.integers(0, 300) | st.none(), max_size=9), max_size=9))
def test_long_lists_say_that_they_are_cut(most: int, value: list[list[int | None]]) -> None:
    def cut(items: list[Any]) -> list[Any]:
        remaining = [cut(item) if isinstance(item, list) else item for item in items[:most]]
        return remaining if len(items) <= most else [*remaining, {"truncated": True, "length": len(items)}]

    assert json.loads(JsonWriter(Limits(max_items=most)).dumps(value)) == cut(value)


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 100])
@pytest.mark.parametrize("most", [None, 3, 6, 99])
def test_alike_rows_are_written_like_any_others(count: int, most: int | None) -> None:
    rows = [
        {
            "offset": at,
            "key": None if at % 3 else b"k%d" % at,
            "value": b"v" * at,
            "headers": [{"key": "a", "value": b""}] * (at % 5),
        }
        for at in range(count)
    ]
    writer = JsonWriter(Limits(max_items=most))
    assert json.loads(writer.dumps({"records": FlatRows(rows)})) == json.loads(writer.dumps({"records": rows}))


SCALARS = st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.text() | st.binary(max_size=64)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5)
)


@given(VALUES)
def test_values_survive(value: Any) -> None:
    def expected(item: Any) -> Any:
        if isinstance(item, bytes):
            return {"hex": item.hex(), "length": len(item)}
        if isinstance(item, dict):
            return {key: expected(each) for key, each in item.items()}
        return [expected(each) for each in item] if isinstance(item, list) else item

    assert json.loads(JsonWriter().dumps(value)) == expected(value)


def test_what_has_no_json_form_is_a_defect() -> None:
    with pytest.raises(TypeError):
        JsonWriter().format_line({1, 2})


def test_a_list_that_its_reader_has_cut_says_its_own_length_where_it_is_cut_again() -> None:
    expected = [1, 2, {"truncated": True, "length": 7}]
    for value in (CutList([1, 2, 3, 4], 7), CutList([1, 2], 7)):
        assert json.loads(JsonWriter(Limits(max_items=2)).format_line(value)) == expected
    assert json.loads(JsonWriter(Limits(max_items=2)).format_line([CutList([1, 2, 3], 7), 2**70])) == [expected, 2**70]
    assert json.loads(JsonWriter(Limits(max_items=None)).format_line(CutList([1, 2, 3], 7)))[-1] == expected[-1]
