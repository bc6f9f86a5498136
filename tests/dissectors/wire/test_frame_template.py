"""What a frame that is read by hand leaves open, and what makes it stand for itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.errors import MalformedField
from dissectors.finding import Finding, Severity
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import Bytes, Integer, NestedValue, Text
from dissectors.wire.budget import Budget
from dissectors.wire.frame_template import FrameNames, SymbolicFrame, build_template

CONTEXT = Context(Role.REQUEST, 1)
NAMES = FrameNames(frozenset({"password"}), "=")
BOUNDS = (0, 99)


def frame(text: bytes) -> SymbolicFrame:
    """Two numbers, the size of a text, the text, and a rest of two bytes."""
    head = (10 + len(text)).to_bytes(4) + (4 + len(text)).to_bytes(4) + len(text).to_bytes(4)
    data = head + text + b"\0y"
    return SymbolicFrame(TemplateBuilder(data), 0, len(data), NAMES)


def of_text(content: bytes, name: str = "") -> tuple[SymbolicFrame, Any]:
    made = frame(content)
    return made, made.text(12, 12 + len(content), name)


def test_texts() -> None:
    assert type(of_text(b"orders")[1]) is Text
    assert of_text(b"")[1] == ""
    _, pairs = of_text(b"name\x01value\x02")
    assert type(pairs) is PiecewiseText
    with pytest.raises(UnicodeDecodeError):
        of_text(b"\xff")


def test_numbers_stay_numbers_within_bounds() -> None:
    made, text = of_text(b"42")
    assert type(made.convert(text, int, BOUNDS)) is Integer
    made, text = of_text(b"042")
    assert made.convert(text, int, BOUNDS) == 42
    made, text = of_text(b"420")
    with pytest.raises(NotTemplatable):
        made.convert(text, int, BOUNDS)


def test_the_length_of_a_secret_is_the_same() -> None:
    made, text = of_text(b"secret", "password")
    assert len(made.hide(text)) == 6
    with pytest.raises(NotTemplatable):
        made.hide("secret")


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
    made = SymbolicFrame(TemplateBuilder(data), 0, len(data), NAMES)
    assert made.json_rest(0) is None
    assert type(made.json(0, len(data), bytes)["topic"]) is Text
    assert made.json_rest(1) is None


def test_a_message_that_something_is_reported_of_stands_for_itself() -> None:
    text = Finding(Severity.NOTE, "given-up", "said")
    assert build_template(lambda frame, _: Body({}, None, (text,)), NAMES, b"a", CONTEXT, None) is None
    content = partial(build_template, lambda frame, _: Body({"value": frame.content(0, broken)}, None), NAMES)
    assert content(b"a", CONTEXT, None) is None
    found = build_template(lambda frame, _: Body({"at": frame.begin}, None), NAMES, b"ab", CONTEXT, (b"c", CONTEXT))
    assert found is not None
    assert (found.body.values, found.body.request) == ({"at": 0}, {"at": 2})
