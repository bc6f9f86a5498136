"""The palette: every command is in it with its key, is found by a word, and works from there."""

from __future__ import annotations

import pytest
from textual.events import Paste

from analyzer.render.lines import strip_styles
from tests.tui.driving import Drive, driven
from tui.commands.menu import list_commands, run_key
from tui.keys import KEYS, KeyPlace
from tui.screens.chooser import Chooser

PANES: tuple[KeyPlace, ...] = ("list", "tree", "hex")
ENDS = "quit"


@driven()
async def test_all_that_can_be_done_now_is_there_with_its_key(found: Drive) -> None:
    await found.press("ctrl+p")
    screen = found.window.screen
    assert isinstance(screen, Chooser)
    listed = {strip_styles(line): key for line, key in screen.pane.lines}
    wanted = {key.help: key.label for key in KEYS if key.place in ("screen", "pane", "list")}
    del wanted["all commands, with a search for words"]
    assert listed == wanted
    await found.press("escape", "tab", "ctrl+p", *"unfold everything", "enter")
    assert found.window.screen is found.main
    assert found.main.bars.focused is found.main.tree_pane


@pytest.mark.slow
@pytest.mark.parametrize("pane", PANES)
@driven()
async def test_every_command_works_from_there(found: Drive, pane: KeyPlace) -> None:
    """On a real capture, without an error; whatever it opens is left again."""
    found.main.bars.panes[pane].focus()
    await found.settle()
    for key in list_commands(found.main):
        if key.action == ENDS or pane not in ("list", key.place):
            continue
        found.main.view.select_row(46)
        found.main.bars.panes[pane].focus()
        await found.settle()
        run_key(found.main, key)
        await found.settle()
        await found.filtered()
        for _ in range(5):
            if found.window.screen is not found.main:
                await found.press("escape")
        assert found.window.screen is found.main, key


@driven()
async def test_quit_is_one_of_them(found: Drive) -> None:
    await found.press("ctrl+p", *"quit, at once")
    await found.pilot.press("enter")
    await found.ended()
    assert found.window._exit


@pytest.mark.parametrize("keys", [("ctrl+p",), ("question_mark", "slash")])
@driven()
async def test_what_is_pasted_into_a_line_is_shown_safely(found: Drive, keys: tuple[str, ...]) -> None:
    await found.press(*keys)
    found.window.post_message(Paste("a\x1b]0;x\x9b\u202eb"))
    await found.settle()
    text = "\n".join(found.lines())
    assert "a\ufffd]0;x\ufffd\ufffdb" in text
    assert not set(text) & {"\x1b", "\x9b", "\u202e"}
