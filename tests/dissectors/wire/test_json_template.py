"""JSON with holes: the values of the standard library's parser, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import plain
from dissectors.wire.json_template import DEPTH, MOST, JsonTemplater
from tests.dissectors.symbolic import filled, find_symbolic_values


def read(data: bytes, **how: Any) -> tuple[Any, int]:
    """Of what has other bytes in front and behind."""
    return JsonTemplater(TemplateBuilder(b"[" + data + b'"x"'), 1 + len(data), **how).value(1)


VALUES = {
    b"{}": 0,
    b"[]": 0,
    b'{"a":"b","c":[1,-2,"d"],"e":{}}': 4,
    b' \t{ "a" : [ 1 , 2 ] , "b" : "c" }'.strip(): 3,
    b'{"a":"","b":null,"c":true,"d":false}': 0,
    b'{"a":1.5,"b":-0,"c":1e3,"d":123456789012345678901234567890}': 0,
    b'{"a":"\\u0001b\\n\\"c\\\\\\/","d":"\\ud83d\\ude00x","e":"\\u00fc"}': 1,
    '{"a":"größe","b":"plain"}'.encode(): 1,
    b'{"a":"\x01\x7f"}': 0,
}
REFUSED = (
    *(b"", b"{", b"[", b"[1", b"[1,", b"[1,]", b"[,1]", b"{]", b"[}", b'{"a"}', b'{"a":}', b'{"a":1,}', b'{"a" 1}'),
    *(b"{a:1}", b"{1:2}", b"{'a':1}", b'{"a":1 "b":2}', b'{"a":1,"a":2}', b"NaN", b"-Infinity", b"tru", b"-", b"+1"),
    *(b'"', b'"\\', b'"\\x"', b'"\\u12"', b'"\xff"', b'"a', b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1)),
)


@pytest.mark.parametrize("data", VALUES)
def test_values(data: bytes) -> None:
    value, stop = read(data)
    assert stop == 1 + len(data)
    assert find_symbolic_values(value) == VALUES[data]
    assert repr(filled(value)) == repr(json.loads(data, strict=False))


@pytest.mark.parametrize("data", REFUSED)
def test_what_stands_for_itself(data: bytes) -> None:
    with pytest.raises(NotTemplatable):
        read(data)


@pytest.mark.parametrize("data", [each for each in VALUES if len(each) > 2])
def test_every_cut_stands_for_itself(data: bytes) -> None:
    for end in range(len(data)):
        with pytest.raises(NotTemplatable):
            read(data[:end])


def test_zeros_in_front_end_a_number() -> None:
    with pytest.raises(NotTemplatable):
        read(b"[01]")


def test_secrets() -> None:
    for data in (b'{"token":"x"}', b'[{"a":{"token":null}}]', b'{"\\u0074oken":1}'):
        assert find_symbolic_values(read(data)[0]) <= 1
        with pytest.raises(NotTemplatable):
            read(data, secrets=frozenset({"token"}))


def test_names_in_a_text_belong_to_the_shape() -> None:
    text = read(b'"KEYS\\u0001k 1\\u0002TAGS\\u0001a\\u0002"', names_end="\1")[0]
    assert type(text) is PiecewiseText
    assert [type(piece) is str for piece in text.pieces] == [True, False, True, False, True]
    assert plain(text) == "KEYS\1k 1\2TAGS\1a\2"


def test_much_stands_for_itself() -> None:
    assert find_symbolic_values(read(json.dumps([1] * (MOST - 1)).encode())[0]) == MOST - 1
    with pytest.raises(NotTemplatable):
        read(json.dumps([1] * MOST).encode())


SIMPLE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
NESTED = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(NESTED, st.booleans(), st.booleans())
def test_whatever_json_writes(value: Any, ascii_only: bool, spaced: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1 if spaced else None)
    try:
        data = text.encode()
        found, stop = read(data)
    except (NotTemplatable, UnicodeEncodeError):
        return  # deep, or no Unicode
    assert (stop, repr(filled(found))) == (1 + len(data), repr(json.loads(text)))


@given(st.sampled_from(list(VALUES)), st.integers(0, 40), st.integers(0, 255))
def test_bytes_that_changed(data: bytes, at: int, byte: int) -> None:
    changed = data[: at % len(data)] + bytes([byte]) + data[at % len(data) + 1 :]
    try:
        value, stop = read(changed)
    except NotTemplatable:
        return
    assert repr(filled(value)) == repr(json.loads(changed[: stop - 1], strict=False))
