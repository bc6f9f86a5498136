"""What the end of a filter wants: where the word begins that is being written, and what it is to become."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.query.filter.expected import Wanted, expected, word_end

NAMED = {"slow": "latency > 50ms"}

CASES = [
    ("", Wanted.COMPARISON, "", None),
    ("  ", Wanted.COMPARISON, "", None),
    ("lat", Wanted.COMPARISON, "lat", None),
    ("kafka.", Wanted.COMPARISON, "kafka.", None),
    ("kafka.Fetch.req", Wanted.COMPARISON, "kafka.Fetch.req", None),
    ("not lat", Wanted.COMPARISON, "lat", None),
    ("(error and lat", Wanted.COMPARISON, "lat", None),
    ("error||lat", Wanted.COMPARISON, "lat", None),
    ("any po", Wanted.FIELD, "po", None),
    ("len(cli", Wanted.FIELD, "cli", None),
    ("$sl", Wanted.NAMED, "$sl", None),
    ("not ${sl", Wanted.NAMED, "${sl", None),
    ("latency ", Wanted.OPERATOR, "", "latency"),
    ("latency =", Wanted.OPERATOR, "=", "latency"),
    ("client cont", Wanted.OPERATOR, "cont", "client"),
    ("client[2:3] ", Wanted.OPERATOR, "", None),
    ("len(client) ", Wanted.OPERATOR, "", None),
    ("client not ", Wanted.IN, "", None),
    ("client in ", Wanted.SET, "", None),
    ("client in {", Wanted.VALUE, "", "client in"),
    ("client in {a, b", Wanted.VALUE, "b", "client in"),
    ("version not in {1..", Wanted.VALUE, "", "version not in"),
    ("client ==", Wanted.VALUE, "", "client =="),
    ("client== b", Wanted.VALUE, "b", "client =="),
    ('error and client contains "a b', Wanted.VALUE, '"a b', "client contains"),
    ("lower(client) == b", Wanted.VALUE, "b", None),
    ("error ", Wanted.OPERATOR, "", "error"),
    ("client == a ", Wanted.JOINING, "", None),
    ("client == a an", Wanted.JOINING, "an", None),
    ("$slow ", Wanted.JOINING, "", None),
    ("client in {a} o", Wanted.JOINING, "o", None),
]


@pytest.mark.parametrize(("text", "wanted", "word", "compared"), CASES, ids=repr)
def test_what_is_wanted(text: str, wanted: Wanted, word: str, compared: str | None) -> None:
    found = expected(text, NAMED)
    assert (found.wanted, text[found.begin :]) == (wanted, word)
    field = None if found.field is None else f"{found.field} {found.operator or ''}".strip()
    assert field == compared or (compared is None and found.field is None)


@pytest.mark.parametrize(
    ("text", "begin", "wanted", "end"),
    [
        ("kafka.topic == x", 0, Wanted.COMPARISON, 11),
        ("kafka.topic == x", 12, Wanted.OPERATOR, 14),
        ("client contains x", 7, Wanted.OPERATOR, 15),
        ("client == 'a b' and", 10, Wanted.VALUE, 15),
        ("client == 'a b", 10, Wanted.VALUE, 10),
        ("${slow} and", 0, Wanted.NAMED, 7),
        ("x == ", 5, Wanted.VALUE, 5),
    ],
)
def test_where_the_word_ends(text: str, begin: int, wanted: Wanted, end: int) -> None:
    assert word_end(text, begin, wanted) == end


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
    found = expected(text, NAMED)
    assert 0 <= found.begin <= len(text)
    assert found.begin <= word_end(text, found.begin, found.wanted) <= len(text)
