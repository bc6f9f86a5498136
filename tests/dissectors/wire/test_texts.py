"""Runs of bits as people read them; what bytes that are text look like is tested with those that show them."""

from __future__ import annotations

import pytest

from dissectors.field import FieldSpec
from dissectors.wire.texts import runs_text, with_text

RUNS = [
    ("", 0, "", False),
    ("000", 0, "", False),
    ("1", 0, "0", False),
    ("01", 7, "8", False),
    ("1101", 0, "0-1, 3", True),
    ("11", 40, "40-41", True),
    ("10" * 25, 0, ", ".join(str(each) for each in range(0, 40, 2)) + ", 5 more", True),
]


@pytest.mark.parametrize(("bits", "first", "expected", "many"), RUNS)
def test_runs(bits: str, first: int, expected: str, many: bool) -> None:
    assert runs_text(bits, first) == (expected, many)


def test_a_text_of_one_node_alone() -> None:
    spec = FieldSpec("name", "int32", None, True)
    reported = with_text(spec, "so")
    assert reported.label is not None
    assert (reported.name, reported.type, reported.secret, reported.label(4)) == ("name", "int32", True, "so")
    assert spec.label is None
