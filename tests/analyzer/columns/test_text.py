"""Nothing that acts on a terminal leaves safe_text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.columns.text import ELLIPSIS, MARKS_IN_A_ROW, escape_line_breaks, safe_text

CASES = [
    ("plain", "topic-1", "topic-1"),
    ("letters of other scripts", "Überweisung 支払い", "Überweisung 支払い"),
    ("escape sequence", "\x1b[31mred", "\\x1b[31mred"),
    ("line breaks", "a\r\nb\tc", "a\\r\\nb\\tc"),
    ("nul and del", "\0\x7f", "\\x00\\x7f"),
    ("a C1 CSI", "\x9b2J", "\\x9b2J"),
    ("right-to-left override", "abc\u202egpj", "abc\\u202egpj"),
    ("isolates and marks", "\u2066\u2069\u200e\u061c", "\\u2066\\u2069\\u200e\\u061c"),
    ("zero width", "a\u200b\u200d\ufeffb", "a\\u200b\\u200d\\ufeffb"),
    ("line and paragraph separators", "\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
    ("spaces that are none", "\xa0\u3000", "\\xa0\\u3000"),
    ("surrogate, private use, unassigned", "\ud800\ue000\U000e0fff", "\\ud800\\ue000\\U000e0fff"),
    ("tags", "\U000e0041", "\\U000e0041"),
    ("variation selectors", "\u2764\ufe0f\U000e0100", "\u2764\\ufe0f\\U000e0100"),
    ("fillers that print nothing", "\u3164\u2800", "\\u3164\\u2800"),
    ("an accent", "e\u0301", "e\u0301"),
    ("an accent without a letter", "\u0301e", "\\u0301e"),
    ("an accent on an escape", "\x1b\u0301", "\\x1b\\u0301"),
    ("a pile of accents", "e" + "\u0301" * 5, "e" + "\u0301" * 4 + "\\u0301"),
    ("backslash stays", "C:\\x1b", "C:\\x1b"),
    ("markup stays", "[/red][bold]", "[/red][bold]"),
    ("bytes, UTF-8", "é".encode(), "é"),
    ("bytes, not UTF-8", b"\xff\xfea", "\\xff\\xfea"),
    ("bytes, an encoded CSI", b"\xc2\x9b", "\\x9b"),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_table(text: str | bytes, expected: str) -> None:
    assert safe_text(text) == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde" + ELLIPSIS),
        (b"abcdefg", 6, "abcde" + ELLIPSIS),
        ("ab\x1b", 5, "ab\\x" + ELLIPSIS),
        ("abc", 1, ELLIPSIS),
        ("abc", 0, ""),
        ("", 0, ""),
        (b"a" * 1000, 3, "aa" + ELLIPSIS),
    ],
)
def test_limit(text: str | bytes, limit: int, expected: str) -> None:
    assert safe_text(text, limit) == expected


ANYTHING = st.text(st.characters(codec=None)) | st.binary()


@given(ANYTHING)
def test_nothing_that_acts_leaves(text: str | bytes) -> None:
    shown = safe_text(text)
    assert shown.isprintable()
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for character in shown)
    run = 0
    for character in shown:
        run = run + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        assert run <= MARKS_IN_A_ROW


@given(ANYTHING)
def test_twice_is_once(text: str | bytes) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


@given(ANYTHING, st.integers(0, 40))
def test_limit_holds_and_keeps_the_beginning(text: str | bytes, limit: int) -> None:
    shown = safe_text(text, limit)
    assert len(shown) <= limit
    assert safe_text(text).startswith(shown.removesuffix(ELLIPSIS))


def test_a_long_text_costs_its_limit() -> None:
    text = "\x1b" * 50_000_000
    assert len(safe_text(text, 80)) == 80


def test_one_line_is_one_line() -> None:
    assert escape_line_breaks("a\nb\r\nc\td") == "a\\nb\\r\\nc\td"
    assert escape_line_breaks("plain") == "plain"
