"""Lines that are wrapped rather than cut."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from analyzer.render.lines import Line, strip_styles
from tests.tui.hostile import TEXTS
from tui.widgets.wrapping import wrap_line

CASES: list[tuple[Line, int, list[str]]] = [
    ((("", "all of it fits"),), 20, ["all of it fits"]),
    ((("", "one two three four"),), 12, ["one two", "    three", "    four"]),
    ((("name", "  /   "), ("", "one two three")), 14, ["  /   one two", "      three"]),
    ((("name", "  a long filter  "), ("", "what it is")), 20, ["  a long filter  ", "    what it is"]),
    ((("", "0123456789abcdef"),), 10, ["0123456789", "    abcdef"]),
    ((), 10, [""]),
]


@pytest.mark.parametrize(("line", "width", "wanted"), CASES, ids=str)
def test_words_stay_whole(line: Line, width: int, wanted: list[str]) -> None:
    assert [strip_styles(each).rstrip() for each in wrap_line(line, width)] == [each.rstrip() for each in wanted]


@pytest.mark.parametrize("width", [1, 5, 9, 40])
def test_nothing_is_wider_or_endless(width: int) -> None:
    for text in (*TEXTS, "漢字" * 30, "a " * 50):
        lines = wrap_line((("name", "  x  "), ("", text)), width)
        assert len(lines) < 10 * len(text) + 10
        assert all(cell_len(strip_styles(line)) <= max(width, 6) for line in lines), text
