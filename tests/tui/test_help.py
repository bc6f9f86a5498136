"""The help: all there is, searched, and used."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.query.filter import compile_filter
from analyzer.render.lines import strip_styles
from tests.tui.driving import Drive, driven
from tui.keys import KEYS
from tui.model.row_spans import SIGN_HELP
from tui.screens.help import FILTERS, HelpScreen, filter_lines, make_help_lines

ROOT = Path(__file__).parent.parent.parent


def texts(found: Drive) -> list[str]:
    screen = found.window.screen
    assert isinstance(screen, HelpScreen)
    return [strip_styles(each.line) for each in screen.pane.help_lines]


@driven()
async def test_every_key_command_sign_and_rule_is_there(found: Drive) -> None:
    await found.until(lambda: found.main.timeline.row_lines.colour_rules is not None)
    await found.press("question_mark")
    output = "\n".join(texts(found))
    assert all(key.help in output and key.label in output for key in KEYS)
    assert all(sign in output and text in output for sign, text in SIGN_HELP)
    assert "state == partial" in output
    assert "slow" in output


@pytest.mark.parametrize("example", FILTERS, ids=lambda example: example[0])
def test_examples_of_filters_are_filters_that_filters_md_has(example: tuple[str, str]) -> None:
    compile_filter(example[0])
    page = (ROOT / "docs" / "reference" / "filters.md").read_text().replace("\\|", "|")
    assert f"`{example[0]}`" in page


def test_words_make_it_shorter() -> None:
    text = make_help_lines(SIGN_HELP, ())
    for words, first in (
        ("mark remove", "mark this message"),
        ("bytes previous byte", "the previous byte"),
        ("MOUSE wheel", ""),
    ):
        found = filter_lines(text, words)
        assert 0 < len(found) < 5
        assert first in strip_styles(found[0].line)
    assert filter_lines(text, "") == text
    assert filter_lines(text, "no such thing") == []


@driven()
async def test_a_search_and_what_it_finds_done(found: Drive) -> None:
    await found.press("question_mark", "slash", *"other half")
    assert len(texts(found)) == 1
    await found.press("enter")
    assert found.window.screen is found.main
    assert found.row == 1
    await found.press("question_mark", "slash", *"bytes previous byte", "enter")
    assert found.main.bars.focused is found.main.hex_pane
    await found.press("question_mark", "slash", *"nothing has this", "enter", "escape")
    assert len(texts(found)) > len(KEYS)
    await found.press("escape")
    assert found.window.screen is found.main


@driven()
async def test_a_line_that_does_nothing_leads_back(found: Drive) -> None:
    await found.press("question_mark", "enter")
    assert found.window.screen is found.main
    await found.press("question_mark", "down", "down", "enter")
    assert found.window.screen is not found.main  # the line of a filter, which is what the second key opens
