"""Phrases say nothing of what is not as the tables promise."""

from __future__ import annotations

import pytest

from dissectors.wire.phrases import MOST, Say, joined, listed, positive, said, shown_in, some, text, unless, when


@pytest.mark.parametrize(
    ("say", "value", "parts"),
    [
        (text, "a", ["a"]),
        (text, "", []),
        (text, 3, []),
        (said("at {}"), 0, ["at 0"]),
        (said("at {}"), "", []),
        (said("at {}"), None, []),
        (said("at {}"), [1], []),
        (positive("{} left"), 3, ["3 left"]),
        (positive("{} left"), 0, []),
        (positive("{} left"), MOST + 1, []),
        (when("forced"), True, ["forced"]),
        (when("forced"), "true", []),
        (when("never", so=False), False, ["never"]),
        (unless("usual"), "usual", []),
        (unless("usual"), "odd", ["odd"]),
        (listed("topic"), ["a", "b"], ["a", "b"]),
        (listed("topic"), ["a"] * 4, ["4 topics"]),
        (listed("topic"), ["a", {}], ["2 topics"]),
        (listed("topic"), [], ["0 topics"]),
        (listed("topic"), "a", []),
    ],
)
def test_say(say: Say, value: object, parts: list[str]) -> None:
    assert list(say(value, {})) == parts


def test_lists() -> None:
    assert some(None, "topic") == []
    assert list(joined("new ", ["a", "b", "c", "d", "e"])) == ["new a, b, c, 2 more"]
    assert list(joined("new ", [])) == list(joined("new ", "a")) == []
    assert list(joined("", [{"a": 1, "b": 2}, 3], shown_in("a", "b", by=":"))) == ["1:2, ?"]
