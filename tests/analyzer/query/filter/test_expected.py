"""What the end of a filter wants: where the word begins that is being written, and what it is to become."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.query.filter.expected import CompletionKind, find_completion, find_word_end

NAMED = {"slow": "latency > 50ms"}

CASES = [
    ("", CompletionKind.COMPARISON, "", None),
    ("  ", CompletionKind.COMPARISON, "", None),
    ("lat", CompletionKind.COMPARISON, "lat", None),
    ("kafka.", CompletionKind.COMPARISON, "kafka.", None),
    ("kafka.Fetch.req", CompletionKind.COMPARISON, "kafka.Fetch.req", None),
    ("not lat", CompletionKind.COMPARISON, "lat", None),
    ("(error and lat", CompletionKind.COMPARISON, "lat", None),
    ("error||lat", CompletionKind.COMPARISON, "lat", None),
    ("any po", CompletionKind.FIELD, "po", None),
    ("len(cli", CompletionKind.FIELD, "cli", None),
    ("$sl", CompletionKind.NAMED, "$sl", None),
    ("not ${sl", CompletionKind.NAMED, "${sl", None),
    ("latency ", CompletionKind.OPERATOR, "", "latency"),
    ("latency =", CompletionKind.OPERATOR, "=", "latency"),
    ("client cont", CompletionKind.OPERATOR, "cont", "client"),
    ("client[2:3] ", CompletionKind.OPERATOR, "", None),
    ("len(client) ", CompletionKind.OPERATOR, "", None),
    ("client not ", CompletionKind.IN, "", None),
    ("client in ", CompletionKind.SET, "", None),
    ("client in {", CompletionKind.VALUE, "", "client in"),
    ("client in {a, b", CompletionKind.VALUE, "b", "client in"),
    ("version not in {1..", CompletionKind.VALUE, "", "version not in"),
    ("client ==", CompletionKind.VALUE, "", "client =="),
    ("client== b", CompletionKind.VALUE, "b", "client =="),
    ('error and client contains "a b', CompletionKind.VALUE, '"a b', "client contains"),
    ("lower(client) == b", CompletionKind.VALUE, "b", None),
    ("error ", CompletionKind.OPERATOR, "", "error"),
    ("client == a ", CompletionKind.JOINING, "", None),
    ("client == a an", CompletionKind.JOINING, "an", None),
    ("$slow ", CompletionKind.JOINING, "", None),
    ("client in {a} o", CompletionKind.JOINING, "o", None),
]


@pytest.mark.parametrize(("text", "wanted", "word", "compared"), CASES, ids=repr)
def test_what_is_wanted(text: str, wanted: CompletionKind, word: str, compared: str | None) -> None:
    found = find_completion(text, NAMED)
    assert (found.wanted, text[found.begin :]) == (wanted, word)
    field = None if found.field is None else f"{found.field} {found.operator or ''}".strip()
    assert field == compared or (compared is None and found.field is None)


@pytest.mark.parametrize(
    ("text", "begin", "wanted", "end"),
    [
        ("kafka.topic == x", 0, CompletionKind.COMPARISON, 11),
        ("kafka.topic == x", 12, CompletionKind.OPERATOR, 14),
        ("client contains x", 7, CompletionKind.OPERATOR, 15),
        ("client == 'a b' and", 10, CompletionKind.VALUE, 15),
        ("client == 'a b", 10, CompletionKind.VALUE, 10),
        ("${slow} and", 0, CompletionKind.NAMED, 7),
        ("x == ", 5, CompletionKind.VALUE, 5),
    ],
)
def test_where_the_word_ends(text: str, begin: int, wanted: CompletionKind, end: int) -> None:
    assert find_word_end(text, begin, wanted) == end


PIECES = [
    "lat",
    "kafka.topic",
    "==",
    "in",
    "{",
    "}",
    "(",
    ")",
    "'",
    '"',
    "$",
    "${",
    "not",
    "..",
    " ",
    ",",
    "\\",
    "[",
    "é",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30))
def test_whatever_is_written(text: str) -> None:
    found = find_completion(text, NAMED)
    assert 0 <= found.begin <= len(text)
    assert found.begin <= find_word_end(text, found.begin, found.wanted) <= len(text)
