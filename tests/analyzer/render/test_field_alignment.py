"""Fields of two trees side by side: what belongs together, and what differs."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.render.field_alignment import FieldState, align_fields
from dissectors.field import Field, FieldSpec
from dissectors.wire.secret import Secret


def make_fields(values: Any) -> list[Field]:
    """Fields of a value as a tree has them: structures and arrays with members, all else as leaves."""
    members = values.items() if isinstance(values, dict) else ((f"[{n}]", each) for n, each in enumerate(values))
    return [
        Field(FieldSpec(name, "any"), None, 0, 0, children=make_fields(value))
        if isinstance(value, dict | list)
        else Field(FieldSpec(name, "any"), value, 0, 0)
        for name, value in members
    ]


def align(left: Any, right: Any) -> list[str]:
    """Each row as its state's first letters (s, c, l, r), its depth and its name."""
    return [
        f"{''.join(word[0] for word in each.state.value.split())}{each.depth} {each.name}"
        for each in align_fields(make_fields(left), make_fields(right))
    ]


CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "the same": ({"a": 1, "b": {"c": None}}, {"a": 1, "b": {"c": None}}, ["s0 a", "s0 b", "s1 c"]),
    "a value": ({"a": 1}, {"a": 2}, ["c0 a"]),
    "another type": ({"a": 1}, {"a": True}, ["c0 a"]),
    "one side alone, in place": ({"a": 1, "b": 1, "d": 1}, {"a": 1, "c": 1, "d": 1},
                                 ["s0 a", "ol0 b", "or0 c", "s0 d"]),
    "a structure that was null": ({"a": None}, {"a": {"b": 1}}, ["c0 a", "or1 b"]),
    "elements by topic": (
        {"topics": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]},
        {"topics": [{"name": "b", "n": 2}, {"name": "c", "n": 3}]},
        ["s0 topics", "ol1 [0]", "ol2 name", "ol2 n", "s1 [1] / [0]", "s2 name", "s2 n", "or1 [1]", "or2 name",
         "or2 n"],
    ),
    "request and response": (
        {"topicData": [{"name": "a", "partitionData": [{"index": 1, "records": 5}]}]},
        {"responses": [{"name": "a", "partitionResponses": [{"partitionIndex": 1, "errorCode": 0}]}]},
        ["s0 topicData / responses", "s1 [0]", "s2 name", "s2 partitionData / partitionResponses", "s3 [0]",
         "s4 index / partitionIndex", "ol4 records", "or4 errorCode"],
    ),
    "elements without a name by position": ({"a": [1, 2]}, {"a": [1, 3, 4]}, ["s0 a", "s1 [0]", "c1 [1]", "or1 [2]"]),
    "two elements of one name": (
        [{"id": 1, "v": 1}, {"id": 1, "v": 2}],
        [{"id": 1, "v": 1}, {"id": 1, "v": 3}],
        ["s0 [0]", "s1 id", "s1 v", "s0 [1]", "s1 id", "c1 v"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_alignment(name: str) -> None:
    left, right, rows = CASES[name]
    assert align(left, right) == rows


def test_what_is_around_a_difference_is_changed() -> None:
    rows = align_fields(make_fields({"a": {"b": 1, "c": 1}}), make_fields({"a": {"b": 1, "c": 2}}))
    assert [each.changed for each in rows] == [True, False, True]


@pytest.mark.parametrize(("one", "other", "state"), [
    ("secret", "geheim", FieldState.SAME), ("secret", "longer secret", FieldState.CHANGED),
])  # fmt: skip
def test_secrets_are_compared_by_what_is_shown_of_them(one: str, other: str, state: FieldState) -> None:
    fields = ([Field(FieldSpec("password", "string", secret=True), Secret(text), 0, 0)] for text in (one, other))
    assert [each.state for each in align_fields(*fields)] == [state]
