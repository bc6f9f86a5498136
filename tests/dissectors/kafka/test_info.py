"""The line for people: that each API has one of fields it has, and what some of them say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.kafka.info import info_line
from dissectors.kafka.schemas import apis
from dissectors.kafka.summaries import SUMMARIES
from dissectors.kafka.tables import table
from dissectors.wire import Secret
from dissectors.wire.embedded import EmbeddedValue

LINES = table("info")["lines"]
EMBEDDED = frozenset(
    {"requestData", "requestPrincipal", "responseData", "assignment", "protocols"},
)
"""Fields whose inner ones are no part of the schema, for they are of what their bytes hold."""


def paths(text: str) -> Iterator[tuple[str, str]]:
    """The places of a phrase, as (path, what is inside a list's phrase)."""
    depth = start = 0
    for at, sign in enumerate(text):
        if sign == "{":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif sign == "}":
            depth -= 1
            if not depth:
                found = re.fullmatch(r"([\w.|]+)([^\w.|]?)(.*)", text[start:at])
                assert found is not None, text
                for path in found[1].split("|"):
                    yield path, found[3] if found[2] == ":" else ""


def unknown(text: str, fields: list[Mapping[str, Any]]) -> Iterator[str]:
    """Places of which the schema knows nothing."""
    for path, inner in paths(text):
        if path == ".":
            continue
        level: list[Mapping[str, Any]] = fields
        for step in path.split("."):
            if path.split(".")[0] in EMBEDDED and step != path.split(".")[0]:
                break
            field = next((field for field in level if field["name"] == step), None)
            if field is None:
                yield path
                break
            level = field.get("fields", [])
        else:
            yield from unknown(inner, level)


def test_each_api_has_a_line_of_fields_that_it_has() -> None:
    rows = {row["name"]: row for row in table("messages")["messages"]}
    assert set(LINES) == set(rows)
    for name, directions in LINES.items():
        for direction, line in directions.items():
            fields = rows[name][direction.split()[0]]["fields"]
            assert [path for text in line for path in unknown(text, fields)] == [], (name, direction)


def test_each_phrase_is_one() -> None:
    content = table("info")
    lists = [line for directions in LINES.values() for line in directions.values()]
    for text in (text for line in (*lists, content["first"], content["last"], content["unknown"]) for text in line):
        assert SUMMARIES.phrase(text)({}, []) in (None, ""), text


@pytest.mark.parametrize("text", ["{a", "(a", "{}", "{a}}", "a)", "{a%nothing}"])
def test_what_is_no_phrase(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        SUMMARIES.phrase(text)


CASES: list[tuple[str, Mapping[str, Any], str]] = [
    ("{a}", {"a": 7}, "7"),
    ("a {a}", {"a": -1}, ""),
    ("a {a}", {"a": ""}, ""),
    ("a {a}", {"a": None}, ""),
    ("a {a=}", {"a": -1}, "a -1"),
    ("a {a+}", {"a": 0}, ""),
    ("{a|b}", {"a": None, "b": "x"}, "x"),
    ("{a.b}", {"a": {"b": 3}}, "3"),
    ("{a.b}", {"a": None}, ""),
    ("{a.0.b}", {"a": [{"b": 3}]}, "3"),
    ("{a.0.b}", {"a": []}, ""),
    ("{a.b}", {"a": EmbeddedValue(b"", {"b": 3})}, "3"),
    ("{a}( of {b})", {"a": 1}, "1"),
    ("{a}( of {b})", {"a": 1, "b": 2}, "1 of 2"),
    ("{a} of {b}", {"a": 1}, ""),
    ("{a}", {"a": b"\xff"}, "\ufffd"),
    ("{a}", {"a": Secret(b"x")}, ""),
    ("{a!}", {"a": 3}, "UNKNOWN_TOPIC_OR_PARTITION"),
    ("{a!}", {"a": 999}, "UNKNOWN_999"),
    ("{a!}", {"a": 0}, ""),
    ("{a~acks}", {"a": -1}, "all"),
    ("{a~acks}", {"a": 9}, "9"),
    ("{a#entry}", {"a": [1, 2]}, "2 entries"),
    ("{a#key}", {"a": [1, 2]}, "2 keys"),
    ("{a?yes/no}", {"a": False}, "no"),
    ("{a?yes}", {"a": False}, ""),
    ("{a: {.=}}", {"a": [1, 2, 3, 4, 5]}, "1, 2, 3, 2 more"),
    ("{a: {b}[{c: {.=}}]}", {"a": [{"b": "t", "c": [0]}]}, "t[0]"),
    ("{a: {b}}", {"a": [None]}, ""),
    ("{topicId}", {"topicId": "A" * 22}, ""),
    ("{a%ms}", {"a": 1500}, "1.5 s"),
    ("{a%size}", {"a": 52_428_800}, "50 MiB"),
    ("{a%length}", {"a": Secret(b"abc")}, "3 bytes"),
    ("{a%null}", {"a": None}, "all topics"),
    ("{a%null}", {}, ""),
    ("{a%null}", {"a": []}, ""),
    ("{a%all}", {"a": []}, "all topics"),
    ("{a%every user}", {"a": []}, "every user"),
    ("{a%cancelled}", {"a": None}, "cancelled"),
    ("{a%ids}", {"a": [1, 2, 3]}, "1/2/3"),
    ("{a%ids}", {"a": list(range(9))}, "0/1/2/3/4/5 and 3 more"),
    ("{a%leader}", {"a": -1}, "no leader"),
    ("{a%when}", {"a": -2}, "earliest"),
    ("{a%when}", {"a": 1000}, "1970-01-01T00:00:01.000Z"),
    ("{a%epoch}", {"a": -1}, "leaves"),
    ("{a%epoch}", {"a": 7}, "epoch 7"),
    ("{a%epoch}", {"a": -7}, "epoch -7"),
    ("{a%session}", {"a": 0}, "opens the session"),
    ("{a%emptied}", {"a": {"topicPartitions": []}}, "assigned nothing"),
    ("{a%records}", {"a": [{"partial": True, "length": 5}]}, "0 records, 5 bytes"),
    ("{a%records}", {"a": []}, ""),
    ("{a%fetched}", {"a": [{"offset": 7, "magic": 0, "key": None, "value": b"xy"}]}, "1 record from 7, 28 bytes"),
    (
        "{a%fetched}",
        {"a": [{"baseOffset": 9, "magic": 2, "length": 50, "compression": "lz4", "control": True, "count": 2}]},
        "2 records from 9, 62 bytes, lz4, control",
    ),
]


@pytest.mark.parametrize(("text", "values", "said"), CASES)
def test_phrases(text: str, values: Mapping[str, Any], said: str) -> None:
    assert (SUMMARIES.phrase(text)(values, []) or "") == said


PARTITION = {"partitionIndex": 0, "errorCode": 6, "highWatermark": -1, "records": None}


@pytest.mark.parametrize(
    ("context", "values", "error", "line"),
    [
        (Context(Role.RESPONSE, 1, 4), {"responses": [{"topic": "t", "partitions": [PARTITION]}]},
         (6, "NOT_LEADER_OR_FOLLOWER"), "t[0 NOT_LEADER_OR_FOLLOWER]"),
        (Context(Role.RESPONSE, 1, 7), {"errorCode": 70, "throttleTimeMs": 9, "responses": []},
         (70, "FETCH_SESSION_ID_NOT_FOUND"), "FETCH_SESSION_ID_NOT_FOUND, throttled 9 ms"),
        (Context(Role.RESPONSE, 1, 7), {"responses": []}, (6, "NOT_LEADER_OR_FOLLOWER"), "NOT_LEADER_OR_FOLLOWER"),
        (Context(Role.REQUEST, 3, 0), {"topics": []}, None, "all topics"),
        (Context(Role.REQUEST, 3, 1), {"topics": []}, None, ""),
        (Context(Role.REQUEST, 200, 0), {"payload": b"abc"}, None, "3 bytes"),
    ],
)  # fmt: skip
def test_lines(context: Context, values: dict[str, Any], error: tuple[int, str] | None, line: str) -> None:
    assert info_line(Body(values, error), context) == line


def test_every_api_is_known_by_the_name_of_its_line() -> None:
    assert {api.name for api in apis().values()} == set(LINES)
