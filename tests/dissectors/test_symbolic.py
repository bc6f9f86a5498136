"""Whatever is asked of a hole is noted, or the hole gives way: no reader learns a value unseen."""

# Every way of asking is asked, the unusual ones too.
# ruff: noqa: SIM300, FURB171, UP031, UP032, PLR1714, PLR0124, RUF005

from __future__ import annotations

import copy
import json
import pickle
import struct
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import (
    BEGIN,
    COMPARISONS,
    END,
    Bytes,
    Condition,
    Extent,
    Integer,
    NestedValue,
    Term,
    Text,
    derive,
    is_below,
    length,
    make_text,
)

NUMBER = Term(0, 4, "i")
WIDE = Term(4, 8, "q")
TEXT, DATA, LIST = (Extent(Term(at, 2, "h"), 0, at + 2, at + 5) for at in (12, 17, 22))
WHOLE = struct.pack(">iqh3sh3sh3s", 7, -(1 << 63), 3, b"abc", 3, b"\xff\0x", 3, b"12,")
RECORDS = [{"count": 2}, {"count": 5}]


def holes() -> tuple[TemplateBuilder, Integer, Integer, Text, Bytes, NestedValue]:
    builder = TemplateBuilder(WHOLE)
    number, wide = builder.integer(NUMBER, 7), builder.integer(WIDE, -(1 << 63))
    text, data = builder.text(TEXT), builder.bytes(DATA)
    nested = builder.add_nested(LIST, lambda contents, asked: [None for _ in contents], RECORDS, (number,))
    assert type(text) is Text
    assert type(data) is Bytes
    return builder, number, wide, text, data, nested


def is_fixed(builder: TemplateBuilder, extent: Extent | Term) -> bool:
    """Whether others must have the same bytes there, and length."""
    if isinstance(extent, Term):
        return all(builder.fixed[extent.at : extent.at + extent.size])
    size = all(builder.fixed[extent.term.at : extent.term.at + extent.term.size])
    return size and all(builder.fixed[extent.begin : extent.end])


def is_free(builder: TemplateBuilder, extent: Extent | Term) -> bool:
    if isinstance(extent, Term):
        return not any(builder.fixed[extent.at : extent.at + extent.size])
    return not any(builder.fixed[extent.begin : extent.end])


Act = Callable[[Any], object]
MARK = f"{BEGIN}0{END}"

# What gives a condition: the operation, what it is noted as.
COMPARED: dict[str, tuple[Act, tuple[str, int, bool]]] = {
    "==": (lambda x: x == 7, ("eq", 7, True)),
    "== from the other side": (lambda x: x == 8, ("eq", 8, False)),
    "!=": (lambda x: x != 7, ("ne", 7, False)),
    "<": (lambda x: x < 7, ("lt", 7, False)),
    "<=": (lambda x: x <= 7, ("le", 7, True)),
    ">": (lambda x: x > -(1 << 70), ("gt", -(1 << 70), True)),
    ">=": (lambda x: x >= 8, ("ge", 8, False)),
    "< turned": (lambda x: 3 < x, ("gt", 3, True)),
    "bool": (bool, ("ne", 0, True)),
    "not": (lambda x: not x, ("ne", 0, True)),
    "or": (lambda x: x or 5, ("ne", 0, True)),
    "True": (lambda x: x == True, ("eq", 1, False)),  # noqa: E712
    "in a tuple": (lambda x: x in (None, "", 7), ("eq", 7, True)),
    "in a list": (lambda x: x in [7], ("eq", 7, True)),
    "count": (lambda x: [7, 7].count(x), ("eq", 7, True)),
    "min": (lambda x: min(x, 9), ("gt", 9, False)),
    "max": (lambda x: max(9, x), ("gt", 9, False)),
    "sorted": (lambda x: sorted([x, 3]), ("gt", 3, True)),
    "match": (lambda x: _matched(x), ("eq", 7, True)),
}


def _matched(value: object) -> object:
    match value:
        case 7:
            return "seven"
        case _:
            return None


@pytest.mark.parametrize("name", COMPARED)
def test_a_comparison_is_noted(name: str) -> None:
    act, (noted, other, outcome) = COMPARED[name]
    builder, number, *_ = holes()
    found = act(number)
    assert is_free(builder, NUMBER)
    assert Condition((NUMBER,), 0, noted, other, outcome) in builder.conditions
    assert COMPARISONS[noted](7, other) is outcome
    plainly = act(7)
    assert found is number or found == plainly or [type(each) for each in found] == [int, Integer]  # type: ignore[attr-defined]


# What makes an integer give way.
PINNING_NUMBERS: dict[str, Act] = {
    "int": int,
    "index": lambda x: "abcdefgh"[x],
    "range": range,
    "float": float,
    "hash": hash,
    "chr": chr,
    "format": lambda x: f"{x:05}",
    "%d": lambda x: "%d" % x,
    "hex": hex,
    "method": lambda x: x.bit_length(),
    "dict": lambda x: {7: "a"}.get(x),
    "set": lambda x: x in {7},
    "== float": lambda x: x == 7.0,
    "< float": lambda x: x < 7.5,
    "> float": lambda x: x > 6.5,
    "times a list": lambda x: [0] * x,
    "pack": lambda x: struct.pack(">i", x),
    "bytes": bytes,
    "key": lambda x: {x: 1}[7],
    "isclose": lambda x: x.real,
    "to_bytes": lambda x: x.to_bytes(4),
    "+ far": lambda x: x + (1 << 40),
    "format()": lambda x: format(x, "x"),
    "slice": lambda x: "abcdefghij"[:x],
    "bin": bin,
    "complex": complex,
    "&": lambda x: x & 1,
}


@pytest.mark.parametrize("name", PINNING_NUMBERS)
def test_a_number_that_is_used_is_pinned(name: str) -> None:
    act = PINNING_NUMBERS[name]
    builder, number, *_ = holes()
    assert act(number) == act(7)
    assert is_fixed(builder, NUMBER)


REFUSED_BY_NUMBERS: dict[str, Act] = {
    "-": lambda x: x - 1,
    "unary": lambda x: -x,
    "*": lambda x: x * 2,
    "//": lambda x: x // 2,
    "/": lambda x: x / 2,
    "%": lambda x: x % 2,
    ">>": lambda x: x >> 1,
    "round": round,
    "divmod": lambda x: divmod(x, 2),
    "abs": abs,
    "+ float": lambda x: x + 0.5,
    "+ text": lambda x: x + "a",
    "< text": lambda x: x < "a",
    "**": lambda x: x**2,
    "< None": lambda x: x < None,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "len": len,
    "json": json.dumps,
    "json indented": lambda x: json.dumps([x], indent=1),
    "orjson": orjson.dumps,
    "iter": iter,
    "json key": lambda x: json.dumps({x: 1}),
    "orjson key": lambda x: orjson.dumps({x: 1}, option=orjson.OPT_NON_STR_KEYS),
}


@pytest.mark.parametrize("name", REFUSED_BY_NUMBERS)
def test_what_a_number_does_not_know_it_refuses(name: str) -> None:
    _, number, *_ = holes()
    with pytest.raises(TypeError):
        REFUSED_BY_NUMBERS[name](number)


UNASKED: dict[str, tuple[Act, object]] = {
    "isinstance": (lambda x: isinstance(x, int), True),
    "not a bool": (lambda x: isinstance(x, bool), False),
    "is None": (lambda x: x is None, False),
    "== None": (lambda x: x == None, False),  # noqa: E711
    "!= None": (lambda x: x != None, True),  # noqa: E711
    "== text": (lambda x: x == "7", False),
    "!= text": (lambda x: x != "7", True),
    "in texts": (lambda x: x in ("", None, b""), False),
    "class pattern": (lambda x: _is_int_pattern(x), True),
}


def _is_int_pattern(value: object) -> bool:
    match value:
        case int():
            return True
        case _:
            return False


@pytest.mark.parametrize("name", UNASKED)
def test_what_is_so_of_any_number_notes_nothing(name: str) -> None:
    act, expected = UNASKED[name]
    builder, number, *_ = holes()
    assert act(number) is expected
    assert is_free(builder, NUMBER)
    assert not builder.conditions


PRINTED: dict[str, tuple[Act, str]] = {
    "str": (str, MARK),
    "f-string": (lambda x: f"<{x}>", f"<{MARK}>"),
    "%s": (lambda x: "<%s>" % x, f"<{MARK}>"),
    "format": (lambda x: "<{}>".format(x), f"<{MARK}>"),
    "joined": (lambda x: "-".join([str(x), "a"]), f"{MARK}-a"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printing_leaves_a_mark(name: str) -> None:
    act, expected = PRINTED[name]
    for place, extent in ((1, NUMBER), (3, TEXT)):
        builder, *_ = found = holes()
        assert act(found[place]) == expected
        assert is_free(builder, extent)
        assert builder.marks == [found[place]] or builder.marks[0] is found[place]
        assert not builder.conditions


def test_a_number_is_shown_as_it_is_written() -> None:
    builder, number, *_ = holes()
    assert f"{number!r}" == MARK
    assert is_free(builder, NUMBER)


def test_sums() -> None:
    builder, number, wide, text, *_ = holes()
    total: Any = sum([number, number, 3])
    assert (total.terms, total.constant, total.value) == ((NUMBER, NUMBER), 3, 17)
    assert (1 + number).constant == 1
    assert is_free(builder, NUMBER)
    assert total == 17
    assert builder.conditions == [Condition((NUMBER, NUMBER), 3, "eq", 17, True)]
    other: Any = text.size + 1
    assert other.value == 4
    far: Any = wide + wide  # in columns this would wrap around
    assert far == -(1 << 64)
    assert is_fixed(builder, WIDE)


# What makes a text, bytes, a nested value give way: how the plain value does, the hole does.
PINNING: dict[str, Act] = {
    "== other": lambda x: x == "abc" or x == b"\xff\0x" or x == RECORDS,
    "slice": lambda x: x[:2],
    "item": lambda x: x[0],
    "repr": repr,
    "iterate": list,
    "tuple": tuple,
    "unpack": lambda x: (*x,),
    "reversed": lambda x: [*x][::-1],
    "enumerate": lambda x: list(enumerate(x)),
    "contains": lambda x: x[0] in x,
    "method": lambda x: x.count(x[0]),
    "!= other": lambda x: x != [1],
    "any": any,
    "zip": lambda x: list(zip(x, x, strict=True)),
}
PINNING_TEXTS: dict[str, Act] = {
    "startswith": lambda x: x.startswith("a"),
    "upper": lambda x: x.upper(),
    "hash": hash,
    "in a dict": {"abc": 1}.get,
    "in a set": lambda x: x in {"abc"},
    "padded": lambda x: f"{x:>5}",
    "part": lambda x: "bc" in x,
    "no part": lambda x: "ac" in x,
    "encode": lambda x: x.encode(),
    "split": lambda x: x.split("b"),
    "in a list": lambda x: x in ["abc"],
    "!r": lambda x: f"{x!r}",
    "%r": lambda x: "%r" % x,
    "== text": lambda x: x == "abc",
    "!= text": lambda x: x != "abc",
    "turned": lambda x: "abc" == x,
}
PINNING_BYTES: dict[str, Act] = {
    "str": str,
    "f-string": lambda x: f"{x}",
    "hex": lambda x: x.hex(),
    "bytes": bytes,
    "part": lambda x: b"\0x" in x,
    "no part": lambda x: b"\xffx" in x,
    "hash": hash,
    "== bytearray": lambda x: x == bytearray(b"\xff\0x"),
    "list": list,
    "from_bytes": lambda x: int.from_bytes(x),
    "startswith": lambda x: x[:1] == b"\xff",
}
PINNING_LISTS: dict[str, Act] = {
    "len": len,
    "bool": bool,
    "str": str,
    "== []": lambda x: x == [],
    "or": lambda x: x or (),
    "sum": lambda x: sum(e["count"] for e in x),
    "in": lambda x: RECORDS[0] in x,
    "f-string": lambda x: f"{x}",
}


@pytest.mark.parametrize(
    ("place", "extent", "plain", "acts"),
    [
        (3, TEXT, "abc", PINNING | PINNING_TEXTS),
        (4, DATA, b"\xff\0x", PINNING | PINNING_BYTES),
        (5, LIST, RECORDS, PINNING | PINNING_LISTS),
    ],
    ids=["text", "bytes", "nested"],
)
def test_what_is_looked_into_is_pinned(place: int, extent: Extent, plain: object, acts: dict[str, Act]) -> None:
    for name, act in acts.items():
        builder, *_ = found = holes()
        assert act(found[place]) == act(plain) or act(found[place]) is found[place], name
        assert is_fixed(builder, extent), name
        if extent is LIST:
            assert is_fixed(builder, NUMBER), name  # what reading it needs to know


def test_a_length_is_settled_without_the_content() -> None:
    for place, extent in ((3, TEXT), (4, DATA)):
        builder, *_ = found = holes()
        stretch: Any = found[place]
        assert len(stretch) == 3
        assert stretch.settled
        assert is_free(builder, extent)
        assert all(builder.fixed[extent.term.at : extent.begin])


REFUSED: dict[str, Act] = {
    "+": lambda x: x + x,
    "< ": lambda x: x < x,
    "%": lambda x: x % 1,
    "*": lambda x: x * 2,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "orjson": orjson.dumps,
    "int": int,
    "join": lambda x: "".join([x]),
    "join bytes": lambda x: b"".join([x]),
    "text +": lambda x: "a" + x,
    "list +": lambda x: [] + x,
    "json key": lambda x: json.dumps({x: 1}),
    "memoryview": memoryview,
    "fromhex": bytes.fromhex,
    "replace": lambda x: "a".replace("a", x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_the_content_could_tell_is_refused(name: str) -> None:
    for place in (3, 4, 5):
        with pytest.raises(TypeError):
            REFUSED[name](holes()[place])


def test_a_text_is_never_empty_or_anything_else() -> None:
    builder, _, _, text, data, _ = holes()
    assert all(each not in (None, "", -1, 0, b"") for each in (text, data))
    assert bool(text)
    assert bool(data)
    assert isinstance(text, str)
    assert isinstance(data, bytes)
    assert not isinstance(text, bytes)
    assert not isinstance(data, str)
    assert is_free(builder, TEXT)
    assert is_free(builder, DATA)
    empty = TemplateBuilder(bytes(2))
    nothing = Extent(Term(0, 2, "h"), 0, 2, 2)
    assert (empty.text(nothing), empty.bytes(nothing)) == ("", b"")
    assert is_fixed(empty, nothing.term)


def test_a_text_with_anything_but_ascii_has_no_shape() -> None:
    builder = TemplateBuilder(b"\0\3" + "ü!".encode())
    with pytest.raises(NotTemplatable):
        builder.text(Extent(Term(0, 2, "h"), 0, 2, 5))


def test_what_a_function_makes_of_symbolic_values() -> None:
    builder, number, *_, nested = holes()
    count = derive(lambda entries: sum(entry["count"] for entry in entries), nested)
    assert count == 7
    assert is_free(builder, LIST)
    assert builder.conditions[0].outcome
    assert int(count) == 7
    assert is_fixed(builder, LIST)
    assert make_text(lambda n: f"{n} bytes", number) == MARK
    assert is_free(builder, NUMBER) or is_fixed(builder, NUMBER)
    assert (derive(len, "abc"), make_text(str, 5)) == (3, "5")


def test_isinstance_of_a_list() -> None:
    builder, *_, nested = holes()
    assert isinstance(nested, list)
    assert is_free(builder, LIST)


def test_a_size_counts_less_than_is_written() -> None:
    builder = TemplateBuilder(b"\4abc")
    size = builder.encloses(Term(0, 1, "B"), 1, 1, 4)
    assert (size.value, size.constant) == (3, -1)
    assert size == 3
    assert builder.conditions == [Condition((Term(0, 1, "B"),), -1, "eq", 3, True)]


def test_the_length_of_symbolic_values_is_one() -> None:
    builder, _, _, text, data, nested = holes()
    for each, terms in ((text, (TEXT.term,)), (data, (DATA.term,))):
        assert (length(each).terms, length(each).value) == (terms, 3)
        assert is_free(builder, each.extent)
    assert length(nested).value == len(RECORDS)
    assert not nested.settled
    assert (length("abc"), length(b"ab"), length([1])) == (3, 2, 1)


def test_a_rest_has_a_size_of_several_numbers() -> None:
    """A rest of one byte behind a text of two; both are counted by the first number."""
    builder = TemplateBuilder(b"\4\2abc")
    total, size = Term(0, 1, "B"), Term(1, 1, "B")
    rest = builder.bytes(Extent(total, 1, 4, 5, (size,)))
    assert isinstance(rest, Bytes)
    assert (rest.size.terms, rest.size.constant, rest.size.value) == ((total, size._replace(negated=True)), -1, 1)
    assert is_below(builder.integer(size, 2), rest.size) is False
    (condition,) = builder.conditions
    assert condition.terms == (size, total._replace(negated=True), size)


def test_bytes_that_hold_bytes_say_so() -> None:
    builder = TemplateBuilder(b"\2ab")
    nested = builder.add_nested(Extent(Term(0, 1, "B"), 0, 1, 3), lambda contents, asked: list(contents), b"held")
    assert isinstance(nested, bytes)
    assert not isinstance(nested, list)
