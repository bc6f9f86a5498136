"""Texts and numbers that end where their own bytes say so, and texts of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_text import DIGITS, PiecewiseText, is_decimal, is_run, join_pieces, number, number_within, run
from dissectors.symbolic_values import BEGIN, END, Text, plain

TEXT = b'"abc\\u0001d e\\u0002"'
ABC, D_E = (1, 4), (10, 13)

RUNS = {b'abc"': 3, b"a\\": 1, b"~ \0": 2, b"a\x7f": 1, "aü".encode(): 1}
NO_RUNS = (b'"', b"abc", b"", b'a"b"', b"\x1fa\0", b"a\x7fb\0")
DECIMALS = (b"0", b"7", b"-1", b"10", b"9" * DIGITS, b"-" + b"9" * DIGITS)
NO_DECIMALS = (b"", b"-", b"-0", b"00", b"07", b"+1", b"1.0", b"1e5", b" 1", b"1_0", b"9" * (DIGITS + 1), b"\xd9\xa1")


@pytest.mark.parametrize("data", RUNS)
def test_runs(data: bytes) -> None:
    assert is_run(data, 0, RUNS[data])
    assert plain(run(TemplateBuilder(data), 0, RUNS[data])) == data[: RUNS[data]].decode()


@pytest.mark.parametrize("data", NO_RUNS)
def test_no_runs(data: bytes) -> None:
    assert not is_run(data, 0, max(len(data) - 1, 0))
    assert not is_run(data, 0, len(data))
    with pytest.raises(NotTemplatable):
        run(TemplateBuilder(data), 0, len(data))


def test_a_part_of_a_run_is_none() -> None:
    assert not is_run(b'abc"', 0, 2)


@pytest.mark.parametrize("text", DECIMALS)
def test_decimals(text: bytes) -> None:
    assert is_decimal(b"5" + text + b"5", 1, 1 + len(text))
    found: Any = number(TemplateBuilder(text + b","), 0, len(text))
    assert isinstance(found, int)
    assert plain(found) == int(text)
    assert str(int(text)).encode() == text


@pytest.mark.parametrize("text", NO_DECIMALS)
def test_no_decimals(text: bytes) -> None:
    assert not is_decimal(text, 0, len(text))
    for read in (number, number_within):
        with pytest.raises(NotTemplatable):
            read(TemplateBuilder(text + b","), 0, len(text))


def test_a_part_of_a_number_is_none() -> None:
    with pytest.raises(NotTemplatable):
        number(TemplateBuilder(b"123"), 0, 2)


def test_a_number_is_pinned_when_its_value_is_read() -> None:
    builder = TemplateBuilder(b'"42"')
    text, value = run(builder, 1, 3), number_within(builder, 1, 3)
    assert value > 5
    assert not any(builder.fixed[1:3])
    assert f"{text}={value}" == f"{BEGIN}0{END}={BEGIN}1{END}"
    assert value + 1 == 43
    assert not any(builder.fixed[1:3])
    assert int(value) == 42
    assert all(builder.fixed[1:3])


def text_of_several() -> tuple[TemplateBuilder, Any]:
    builder = TemplateBuilder(TEXT)
    return builder, join_pieces(builder, ["n", "\1", run(builder, *ABC), "\2", "m\1", run(builder, *D_E), "\2"])


SAME = "n\1abc\2m\1d e\2"


@pytest.mark.parametrize("separator", ["\1", "\2", "\1\2", "\3", "\\", '"', "ü"])
def test_where_no_run_can_be_a_text_is_split(separator: str) -> None:
    builder, text = text_of_several()
    parts, (before, mark, behind) = text.split(separator), text.partition(separator)
    assert not any(builder.fixed[slice(*ABC)])
    assert [plain(part) for part in parts] == SAME.split(separator)
    assert (plain(before), mark, plain(behind)) == SAME.partition(separator)


ASKED: dict[str, Callable[[Any], Any]] = {
    "split at what a run may have": lambda text: text.split("b"),
    "partition there": lambda text: text.partition(" "),
    "its length": len,
    "an item": lambda text: text[3],
    "a part": lambda text: text[1:9],
    "what it has": lambda text: "bc" in text,
    "what it begins with": lambda text: text.startswith("n"),
    "another text": lambda text: text == SAME,
    "no text of it": lambda text: text != SAME,
    "its hash": lambda text: {text: 1}[SAME],
    "its case": lambda text: text.upper(),
    "as a key": lambda text: {SAME: 5}.get(text),
    "its form": lambda text: f"{text:>20}",
    "its look": repr,
}


@pytest.mark.parametrize("case", ASKED)
def test_whatever_else_is_requested_pins_all_of_it(case: str) -> None:
    builder, text = text_of_several()
    assert ASKED[case](text) == ASKED[case](SAME)
    assert all(builder.fixed)


def test_what_pins_nothing() -> None:
    builder, text = text_of_several()
    assert text
    assert (text == "", text == 5, text is None) == (False, False, False)
    assert isinstance(text, str)
    assert f"{text}" == f"n\1{BEGIN}0{END}\2m\1{BEGIN}1{END}\2"
    assert not any(builder.fixed[slice(*ABC)])


def test_as_simple_as_it_can_be() -> None:
    builder = TemplateBuilder(TEXT)
    assert join_pieces(builder, ["a", "", "b"]) == "ab"
    assert join_pieces(builder, []) == ""
    assert type(join_pieces(builder, ["", run(builder, *ABC)])) is Text
    assert type(text_of_several()[1]) is PiecewiseText


@given(st.lists(st.tuples(st.booleans(), st.text("ab \1\2", min_size=1, max_size=3)), max_size=8))
def test_splitting_is_that_of_texts(parts: list[tuple[bool, str]]) -> None:
    """Runs are what has no separator and is followed by one."""
    data = "\3".join(text for _, text in parts).encode() + b"\3"
    builder, at = TemplateBuilder(data), 0
    pieces: list[Any] = []
    for is_open, text in parts:
        stop = at + len(text)
        pieces += [run(builder, at, stop) if is_open and is_run(data, at, stop) else text, "\3"]
        at = stop + 1
    whole: Any = join_pieces(builder, pieces)
    same = "".join(plain(piece) for piece in pieces)
    for separator in ("\1", "\2", "\3", "\1\2"):
        assert [plain(each) for each in whole.split(separator)] == same.split(separator)
        assert tuple(map(plain, whole.partition(separator))) == same.partition(separator)
