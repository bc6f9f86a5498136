"""A shape laid over messages: which have it, and what they say."""

from __future__ import annotations

from struct import pack
from typing import Any

import numpy as np
import pytest

from analyzer.columns.cells import flatten_cells, join_cells
from analyzer.decode.template_decoder import _cut_text, _read_nested
from analyzer.decode.templates import LONGEST_TEXT, ConcatenatedMessages, Template, TemplateMatch
from dissectors import symbolic_text
from dissectors.message import Body
from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import FLOWING, UVARINT, ZIGZAG, Extent, Hex, Term, derive, length, make_text


def message(number: int, text: bytes, data: bytes, end: bytes = b"!") -> bytes:
    return pack(">qh", number, len(text)) + text + pack(">h", len(data)) + data + end


class Case:
    """The shape of one message, with a text made of it."""

    def __init__(self, limit: int | None = None) -> None:
        self.data = message(5, b"abc", b"\1\2")
        self.builder = TemplateBuilder(self.data)
        self.number = self.builder.integer(Term(0, 8, "q"), 5)
        self.text: Any = self.builder.text(Extent(Term(8, 2, "h"), 0, 10, 13))
        self.bytes: Any = self.builder.bytes(Extent(Term(13, 2, "h"), 0, 15, 17))
        self.limit = limit

    def said(self) -> str:
        return f"{self.number}|{self.text}|{self.builder.mark(Hex(self.bytes, self.limit))}|{self.bytes.size}"

    def laid(self, messages: list[bytes], said: str | None = None) -> tuple[list[int], list[str]]:
        """Which of these messages have the shape, and their texts."""
        template = Template(
            self.builder, {"": _cut_text(self.said() if said is None else said, self.builder)}, Body({}, None)
        )
        length = np.array(list(map(len, messages)), np.int64)
        laid = TemplateMatch(template, ConcatenatedMessages(messages), np.cumsum(length) - length, length)
        _read_nested([laid])
        if not len(laid.rows):
            return [], []
        lines = join_cells([*laid.make_parts(""), b"\n"], len(laid.rows))
        return laid.rows.tolist(), flatten_cells(lines).decode().splitlines()


FITTING = [
    (message(5, b"abc", b"\1\2"), "5|abc|0102|2"),
    (message(-(1 << 63), b"a", b"\xff"), "-9223372036854775808|a|ff|1"),
    (message((1 << 63) - 1, b"a longer one", bytes(9)), f"9223372036854775807|a longer one|{'00' * 9}|9"),
    (message(0, b"x" * 60, b"z"), f"0|{'x' * 60}|7a|1"),
]
FALLING = {
    "no text": message(5, b"", b"\1"),
    "no bytes": message(5, b"abc", b""),
    "another end": message(5, b"abc", b"\1", b"?"),
    "too long": message(5, b"abc", b"\1", b"!!"),
    "too short": message(5, b"abc", b"\1", b""),
    "nothing": b"",
    "negative": message(5, b"abc", b"\1").replace(b"\0\3abc", b"\xff\xffabc"),
    "beyond": message(5, b"abc", b"\1").replace(b"\0\3abc", b"\x7f\xffabc"),
    "quote": message(5, b'a"c', b"\1"),
    "backslash": message(5, b"a\\c", b"\1"),
    "space at the end": message(5, b"abc ", b"\1"),
    "zero": message(5, b"a\0c", b"\1"),
    "zero at the end": message(5, b"ab\0", b"\1"),
    "splice": message(5, b"a\1c", b"\1"),
    "delete": message(5, b"a\x7fc", b"\1"),
    "not ascii": message(5, "aü".encode(), b"\1"),
    "very long": message(5, b"a" * (LONGEST_TEXT + 1), b"\1"),
    "long bytes": message(5, b"abc", b"\1" * (LONGEST_TEXT + 1)),
}


@pytest.mark.parametrize("name", FALLING)
def test_what_has_the_shape(name: str) -> None:
    messages = [FITTING[0][0], FALLING[name], *(data for data, _ in FITTING[1:]), FALLING[name]]
    rows, texts = Case().laid(messages)
    assert rows == [0, 2, 3, 4]
    assert texts == [text for _, text in FITTING]


def test_none_has_it() -> None:
    assert Case().laid([FALLING["quote"]]) == ([], [])
    assert Case().laid([]) == ([], [])


@pytest.mark.parametrize(("limit", "expected"), [(0, "|9"), (1, "00|9"), (8, "00" * 8 + "|9"), (9, "00" * 9 + "|9")])
def test_bytes_are_shown_up_to_a_limit(limit: int, expected: str) -> None:
    _, texts = Case(limit).laid([data for data, _ in FITTING] + [message(1, b"a", b"\1" * 5000)])
    assert texts[2].split("|", 2)[2] == expected
    assert texts[0].endswith("|" + "0102"[: 2 * limit] + "|2")


def test_what_was_requested_decides() -> None:
    case = Case()
    assert not case.number > 5
    total: Any = case.bytes.size + 1
    assert total == 3
    rows, _ = case.laid(
        [message(5, b"a", b"12"), message(6, b"a", b"12"), message(-1, b"b", b"12"), message(1, b"b", b"1")]
    )
    assert rows == [0, 2]


def test_a_settled_text_has_the_same_length_and_any_content() -> None:
    case = Case()
    assert len(case.text) == 3
    rows, texts = case.laid(
        [message(1, b"xyz", b"1"), message(1, b"xy", b"1"), message(1, b"x z", b"12"), message(1, b"xy ", b"1")]
    )
    assert (rows, [text.split("|")[1] for text in texts]) == ([0, 2], ["xyz", "x z"])


def test_a_pinned_text_is_the_same() -> None:
    case = Case()
    assert case.text.startswith("a")
    assert case.laid([message(1, b"abc", b"1"), message(2, b"abd", b"1")]) == ([0], ["1|abc|31|1"])


def test_a_text_that_is_made_of_a_number() -> None:
    case = Case()
    text = make_text(lambda number: f"{number} item{'' if number == 1 else 's'}", case.bytes.size)
    _, texts = case.laid([message(1, b"a", b"1"), message(1, b"a", b"12"), message(1, b"a", b"3")], text)
    assert texts == ["1 item", "2 items", "1 item"]


def test_varints_take_as_many_bytes() -> None:
    data = b"\x96\1" + b"\3"
    builder = TemplateBuilder(data)
    unsigned, signed = builder.integer(Term(0, 2, UVARINT), 150), builder.integer(Term(2, 1, ZIGZAG), -2)
    case = Case()
    case.builder = builder
    rows, texts = case.laid(
        [data, b"\xff\x7f\0", b"\x80\1\x7e", b"\1\1\1", b"\x80\x80\1", b"\x80\1\x80"], f"{unsigned} {signed}"
    )
    assert (rows, texts) == ([0, 1, 2], ["150 -2", "16383 0", "128 63"])


def test_a_nested_value_is_read_for_each() -> None:
    """What a function makes of it decides too, also in a sum with what may be any number."""
    data = pack(">ih", 4, 2) + b"ab"
    builder = TemplateBuilder(data)
    number = builder.integer(Term(0, 4, "i"), 4)

    def read(contents: Any, asked: Any) -> list[Any]:
        assert all(type(each) is tuple for each in asked)
        return [None if content.startswith(b"?") else list(content) for content in contents]

    nested = builder.add_nested(Extent(Term(4, 2, "h"), 0, 6, 8), read, list(b"ab"), (number,))
    count = derive(len, nested)
    assert count < 4
    total: Any = count + number
    assert total > 5
    case = Case()
    case.builder = builder
    others = [
        pack(">ih", each, len(text)) + text
        for each, text in ((4, b"xyz"), (4, b"wxyz"), (4, b"?b"), (1, b"abc"), (9, b"a"))
    ]
    assert case.laid([data, *others], f"{number}/{count}") == ([0, 1, 5], ["4/2", "4/3", "9/1"])


def test_a_pinned_nested_value_next_to_a_free_number_still_decides() -> None:
    data = pack(">ih", 4, 2) + b"ab"
    builder = TemplateBuilder(data)
    number = builder.integer(Term(0, 4, "i"), 4)
    nested = builder.add_nested(
        Extent(Term(4, 2, "h"), 0, 6, 8), lambda contents, asked: [[] for _ in contents], [1, 2]
    )
    total: Any = derive(len, nested) + number
    assert total == 6
    assert len(nested) == 2
    case = Case()
    case.builder = builder
    assert case.laid([data, pack(">ih", 5, 2) + b"ab"], f"{number}") == ([0], ["4"])


def test_unsigned_numbers_of_64_bits() -> None:
    data = pack(">Qq", 5, 5)
    builder = TemplateBuilder(data)
    unsigned, signed = builder.integer(Term(0, 8, "Q"), 5), builder.integer(Term(8, 8, "q"), 5)
    assert unsigned != 6
    case = Case()
    case.builder = builder
    text = f"{unsigned} {signed}"
    most = (1 << 64) - 1, (1 << 53) + 1
    rows, texts = case.laid([pack(">Qq", *pair) for pair in ((7, most[1]), (6, 0), (5, 1))], text)
    assert (rows, texts) == ([0, 2], [f"7 {most[1]}", "5 1"])
    rows, texts = case.laid([pack(">Qq", most[0], -1), pack(">Qq", 1, 2)], text)
    assert texts == [f"{most[0]} -1", "1 2"]


def test_a_size_that_encloses_others_fits() -> None:
    data = pack(">hh", 5, 3) + b"abc"
    builder = TemplateBuilder(data)
    builder.encloses(Term(0, 2, "h"), 0, 2, 7)
    text = builder.text(Extent(Term(2, 2, "h"), 0, 4, 7))
    case = Case()
    case.builder = builder
    others = [pack(">hh", size, 2) + b"xy" for size in (4, 5, 3, -4)]
    assert case.laid([data, *others], f"{text}") == ([0, 1], ["abc", "xy"])


# ---- numbers of any width, and what is left


class Flowing(Case):
    """A total, the size of a text, a varint, the text, and what is left; a varint at the end."""

    def __init__(self) -> None:
        self.data = self.flowed(b"\x05", b"ab", b"rest", b"\x01")
        self.builder = TemplateBuilder(self.data)
        total, size = Term(0, 4, "I"), Term(4, 2, "H")
        self.builder.encloses(total, 0, 4, 14)
        self.first = self.builder.integer(Term(6, 1, FLOWING), 5)
        self.text = self.builder.text(Extent(size, 0, 7, 9))
        self.last = self.builder.integer(Term(13, 1, FLOWING), 1)
        self.builder.leave_open(0, 4)
        self.rest = self.builder.bytes(Extent(total, 1 + 1 + 2, 9, 13, (size,)))

    def flowed(self, first: bytes, text: bytes, rest: bytes, last: bytes) -> bytes:
        return pack(">IH", 2 + len(first) + len(text) + len(rest) + len(last), len(text)) + first + text + rest + last

    def said(self) -> str:
        return f"{self.first}|{self.text}|{length(self.rest)}|{self.last}"


def test_a_varint_takes_any_room() -> None:
    """Where a rest lies behind numbers of any width its own size is not told: these two are one message's."""
    case = Flowing()
    case.builder.pin(6, 7)
    rows, texts = case.laid(
        [
            case.flowed(b"\x05", b"ab", b"rest", b"\x01"),
            case.flowed(b"\x05", b"another", b"r" * 90, b"\x7f"),
            case.flowed(b"\x06", b"ab", b"rest", b"\x01"),
            case.flowed(b"\x05", b"ab", b"rest", b"\x80"),
            case.flowed(b"\x05", b"ab", b"", b"\x01"),
        ]
    )
    assert rows == [0, 1]
    assert texts == ["5|ab|4|1", "5|another|90|127"]


WIDTHS = {b"\x00": 0, b"\x7f": 127, b"\x80\x01": 128, b"\x80\x00": 0, b"\xff" * 8 + b"\x7f": (1 << 63) - 1}


def test_a_varint_of_any_width() -> None:
    builder = TemplateBuilder(b"\x05!")
    number = builder.integer(Term(0, 1, FLOWING), 5)
    case = Case()
    case.builder = builder
    rows, texts = case.laid([each + b"!" for each in (*WIDTHS, b"\x80" * 9 + b"\x01", b"\x80", b"")], f"{number}")
    assert rows == list(range(len(WIDTHS)))
    assert texts == list(map(str, WIDTHS.values()))


@pytest.mark.parametrize("least", [1, 200])
def test_conditions_on_a_varint_of_any_width(least: int) -> None:
    builder = TemplateBuilder(b"\xc8\x01!")
    number = builder.integer(Term(0, 2, FLOWING), 200)
    assert number >= least
    case = Case()
    case.builder = builder
    rows, _ = case.laid([b"\x05!", b"\xc8\x01!", b"\x80\x80\x01!"], f"{number}")
    assert rows == ([0, 1, 2] if least == 1 else [1, 2])


def test_a_pinned_varint_keeps_its_width() -> None:
    builder = TemplateBuilder(b"\x05!")
    number = builder.integer(Term(0, 1, FLOWING), 5)
    case = Case()
    case.builder = builder
    assert case.laid([b"\x05!", b"\x85\x00!", b"\x06!"], f"{int(number)}") == ([0], ["5"])


# ---- what ends by itself

SELF_ENDING = b'{"a":"abc","b":12}'
ENDING = {
    b'{"a":"abc","b":12}': "abc|12",
    b'{"a":"x","b":-1}': "x|-1",
    b'{"a":"%s","b":0}' % (b"y" * 60): f"{'y' * 60}|0",
    b'{"a":"a,b:c","b":12345678901234567}': "a,b:c|12345678901234567",
}
NOT_ENDING = (
    *(b'{"a":"","b":12}', b'{"a":"abc","b":}', b'{"a":"abc","b":012}', b'{"a":"abc","b":-0}', b'{"a":"abc","b":-}'),
    *(b'{"a":"abc","b":1-2}', b'{"a":"abc","b":1.5}', b'{"a":"abc","b":123456789012345678}', b'{"a":"a"c","b":12}'),
    *(b'{"a":"a\\n","b":12}', b'{"a":"abc ","b":12}', b'{"a":"%s","b":1}' % (b"z" * 513), b'{"a":"abc', b""),
)


def test_what_ends_by_itself() -> None:
    """Runs and decimals take as many bytes as their content says; what is written otherwise has another shape."""
    builder = TemplateBuilder(SELF_ENDING)
    text, number = symbolic_text.run(builder, 6, 9), symbolic_text.number(builder, 15, 17)
    template = Template(builder, {"": _cut_text(f"{text}|{number}", builder)}, Body({}, None))
    messages = [each for pair in zip(NOT_ENDING, [*ENDING] * 4, strict=False) for each in pair]
    size = np.array(list(map(len, messages)), np.int64)
    laid = TemplateMatch(template, ConcatenatedMessages(messages), np.cumsum(size) - size, size)
    assert laid.rows.tolist() == list(range(1, len(messages), 2))
    lines = flatten_cells(join_cells([*laid.make_parts(""), b"\n"], len(laid.rows))).decode().splitlines()
    assert lines == [ENDING[messages[row]] for row in laid.rows]


def test_a_number_in_a_text_that_is_requested() -> None:
    """Its bytes are compared then, and those of others with the same text behind a size."""
    data = pack(">h", 2) + b"42" + b"!"
    for asks, expected in ((False, [0, 1]), (True, [0])):
        builder = TemplateBuilder(data)
        builder.text(Extent(Term(0, 2, "h"), 0, 2, 4))
        number: Any = symbolic_text.number_within(builder, 2, 4)
        text = f"{int(number)}" if asks else f"{number}"
        template = Template(builder, {"": _cut_text(text, builder)}, Body({}, None))
        messages = [data, pack(">h", 3) + b"-17" + b"!", pack(">h", 2) + b"4x" + b"!", pack(">h", 2) + b"42" + b"?"]
        size = np.array(list(map(len, messages)), np.int64)
        assert (
            TemplateMatch(template, ConcatenatedMessages(messages), np.cumsum(size) - size, size).rows.tolist()
            == expected
        )


def test_bytes_that_are_read_in_two_ways_are_one_stretch() -> None:
    for asks in (False, True):
        data = pack(">h", 3) + b"abc!"
        builder = TemplateBuilder(data)
        extent = Extent(Term(0, 2, "h"), 0, 2, 5)
        first: Any = builder.bytes(extent)
        builder.add_nested(extent, lambda contents, _: [each.upper() for each in contents], b"ABC")
        if asks:
            assert first == b"abc"
        template = Template(builder, {"": _cut_text("said", builder)}, Body({}, None))
        messages = [data, pack(">h", 1) + b"x!", pack(">h", 3) + b"abd!"]
        size = np.array(list(map(len, messages)), np.int64)
        rows = TemplateMatch(template, ConcatenatedMessages(messages), np.cumsum(size) - size, size).rows.tolist()
        assert rows == ([0] if asks else [0, 1, 2])
