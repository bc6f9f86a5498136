"""File names are safe whatever a capture says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.export.folder import LONGEST, FileNames, safe_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders-3-17", "orders-3-17"),
        ("my.topic_1", "my.topic_1"),
        ("../../etc/passwd", "_.._.._etc_passwd"),
        ("/", "_"),
        ("..", "_"),
        (".hidden", "_.hidden"),
        ("-rf", "_-rf"),
        ("", "_"),
        ("a\x1b[2Jb\nc\x00d", "a_2Jb_c_d"),
        ("caf\u00e9\u202egnp", "caf_gnp"),
        ("CON", "_CON"),
        ("nul.x", "_nul.x"),
        ("console", "console"),
        ("dot.", "dot"),
        ("x" * 500, "x" * LONGEST),
    ],
)
def test_names(text: str, name: str) -> None:
    assert safe_name(text) == name


@given(st.text(st.characters(), max_size=300))
def test_every_name_is_one_plain_component(text: str) -> None:
    name = safe_name(text)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name)
    assert len(name) <= LONGEST
    assert name == safe_name(name) or name.startswith("_")


def test_the_same_name_is_given_once() -> None:
    names = FileNames()
    assert [names.new(text) for text in ("a", "A", "a/", "a?", "a~2", "b")] == ["a", "A~2", "a_", "a_~2", "a_2", "b"]
