"""The border: whatever the text, a line is as wide as asked for or wrapped, and nothing in it acts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from analyzer.render.lines import Line, strip_styles
from tests.tui.hostile import TEXTS, acts, random_texts
from tui import theme
from tui.model.drawing import cut_text
from tui.widgets.painted import make_strip, overlay_strip
from tui.widgets.wrapping import wrap_line

STYLES = theme.make_palette("dark").styles


@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 40, 200])
def test_hostile_texts(width: int) -> None:
    for text in (*TEXTS, *random_texts(100, 60), "x" * 1_000_000, "漢" * 300_000):
        line = make_strip([("name", text), ("value", text)], width, STYLES, STYLES["cursor"])
        assert line.cell_length == cell_len(line.text) == width
        assert not acts(line.text)


@pytest.mark.slow
def test_many_and_long_ones() -> None:
    for text in random_texts(2000, 4096):
        line = make_strip([("value", text)], 60, STYLES)
        assert cell_len(line.text) == 60
        assert not acts(line.text)


@given(text=st.text(), width=st.integers(0, 30))
def test_any_text(text: str, width: int) -> None:
    line = make_strip([("", text)], width, STYLES)
    assert cell_len(line.text) == width
    assert not acts(line.text)


def test_markup_stays_text() -> None:
    assert make_strip([("", "[/red][@click=app.quit]x")], 30, STYLES).text.rstrip() == "[/red][@click=app.quit]x"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abc", 5, "abc  "), ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字", 3, "漢…"), ("漢字", 2, " …"), ("a", 0, "")],
)
def test_cut(text: str, width: int, expected: str) -> None:
    assert cut_text(text, width) == expected


def test_a_style_is_laid_over_some_cells() -> None:
    over = Style.parse("reverse")
    line = overlay_strip(make_strip([("", "abcdef")], 6, STYLES), [(1, 3), (5, 6), (9, 10)], over)
    assert line.text == "abcdef"
    marked = "".join(segment.text for segment in line if segment.style is not None and segment.style.reverse)
    assert marked == "bcf"


# ---- lines that are wrapped rather than cut


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
