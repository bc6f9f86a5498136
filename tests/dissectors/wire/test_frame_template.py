"""What a frame that is read by hand leaves open, and what makes it stand for itself."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.errors import MalformedField
from dissectors.finding import Finding, Severity
from dissectors.symbolic import Bytes, Integer, NestedValue, NotTemplatable, TemplateBuilder, Text
from dissectors.symbolic_text import PiecewiseText
from dissectors.wire.budget import Budget
from dissectors.wire.frame_template import SymbolicFrame, build_template

CONTEXT = Context(Role.REQUEST, 1)


def frame(text: bytes) -> SymbolicFrame:
    """Two numbers, the size of a text, the text, and a rest of two bytes."""
    head = (10 + len(text)).to_bytes(4) + (4 + len(text)).to_bytes(4) + len(text).to_bytes(4)
    data = head + text + b"\0y"
    return SymbolicFrame(TemplateBuilder(data), 0, len(data))


def of_text(content: bytes, **asked: Any) -> tuple[SymbolicFrame, Any]:
    made = frame(content)
    return made, made.text(12, 12 + len(content), "=", **asked)


def test_texts() -> None:
    assert type(of_text(b"orders")[1]) is Text
    assert of_text(b"")[1] == ""
    _, pairs = of_text(b"name\x01value\x02")
    assert type(pairs) is PiecewiseText
    with pytest.raises(UnicodeDecodeError):
        of_text(b"\xff")


def test_numbers_stay_numbers_within_bounds() -> None:
    made, text = of_text(b"42")
    assert type(made.number(text, 12, 14, (0, 99))) is Integer
    made, text = of_text(b"042")
    assert made.number(text, 12, 15, (0, 99)) is None
    made, text = of_text(b"420")
    with pytest.raises(NotTemplatable):
        made.number(text, 12, 15, (0, 99))


def test_the_length_of_a_secret_is_the_same() -> None:
    made, text = of_text(b"secret", as_run=True)
    assert made.length(text, 12, 18) == 6
    with pytest.raises(NotTemplatable):
        made.length("secret", 12, 18)


def test_rests_and_contents() -> None:
    made = frame(b"orders")
    assert type(made.rest(18)) is Bytes
    assert type(made.content(18, lambda content, _: content * 2)) is NestedValue
    with pytest.raises(NotTemplatable):
        made.content(18, broken)


def broken(content: bytes, budget: Budget) -> Any:
    raise MalformedField("body", 0, "is none")


def test_json_that_can_be_left_open() -> None:
    data = b'{"topic":"orders","password":"x"}'
    made = SymbolicFrame(TemplateBuilder(data), 0, len(data))
    assert made.json_rest(0, frozenset({"password"})) is None
    assert type(made.json_rest(0, frozenset())["topic"]) is Text
    assert made.json_rest(1, frozenset()) is None


def test_a_message_that_something_is_reported_of_stands_for_itself() -> None:
    text = Finding(Severity.NOTE, "given-up", "said")
    assert build_template(lambda frame, _: Body({}, None, (text,)), b"a", CONTEXT, None) is None
    assert build_template(lambda frame, _: Body({"value": frame.content(0, broken)}, None), b"a", CONTEXT, None) is None
    found = build_template(lambda frame, _: Body({"at": frame.begin}, None), b"ab", CONTEXT, (b"c", CONTEXT))
    assert found is not None
    assert (found.body.values, found.body.request) == ({"at": 0}, {"at": 2})
