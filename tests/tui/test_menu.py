"""The menu of a field, a row and a stream: filters, columns, copies, where to go; decode as."""

from __future__ import annotations

import pytest

from analyzer.decode.content import find_dissector
from analyzer.render.lines import strip_styles
from tests.tui.driving import KAFKA, Drive, driven
from tui.screens.chooser import Chooser
from tui.widgets.pane import Pane

FETCH = ("ctrl+g", *"47", "enter")


async def open_menu(found: Drive, key: str = "x") -> list[str]:
    """The lines of the menu."""
    await found.press(key)
    await found.until(lambda: isinstance(found.window.screen, Chooser))
    await found.settle()
    return shown(found)


def shown(found: Drive) -> list[str]:
    screen = found.window.screen
    assert isinstance(screen, Chooser)
    return [strip_styles(line) for line, _ in screen.pane.lines]


async def take(found: Drive, words: str) -> None:
    await found.press(*words, "enter")
    await found.filtered()


def select(found: Drive, name: str) -> None:
    """Selects the first field of a name."""
    tree = found.main.tree_pane
    texts = (strip_styles(tuple(tree.get_spans(line))) for line in range(tree.count))
    tree.move_cursor(next(line for line, text in enumerate(texts) if f" {name}:" in text))


def in_force(found: Drive) -> str | None:
    return None if found.main.filter.in_force is None else found.main.filter.in_force.text


@driven()
async def test_of_a_row(found: Drive) -> None:
    await found.press(*FETCH)
    lines = await open_menu(found)
    assert "filter: this operation:  operation == Fetch" in lines
    assert "filter: all but this stream:  not (stream == 7)" in lines
    assert not any("the current one" in line for line in lines)
    await take(found, "this stream")
    assert in_force(found) == "stream == 7"
    assert found.row == 46
    lines = await open_menu(found, "shift+f10")
    assert "filter: the current one and not this operation:  (stream == 7) and not (operation == Fetch)" in lines
    await take(found, "current one and this operation: ")
    assert in_force(found) == "(stream == 7) and (operation == Fetch)"
    assert 46 in found.rows()


@driven(size=(200, 50))
async def test_of_a_field(found: Drive) -> None:
    await found.press(*FETCH, "enter", "=")
    select(found, "maxWaitMs")
    lines = await open_menu(found)
    assert lines[0] == "filter: this value:  kafka.Fetch.request.maxWaitMs == 500"
    assert "filter: another value:  kafka.Fetch.request.maxWaitMs != 500" in lines
    await take(found, "another value")
    assert in_force(found) == "kafka.Fetch.request.maxWaitMs != 500"
    await found.filter("")
    await found.press("shift+tab", *FETCH, "enter")
    select(found, "maxWaitMs")
    await open_menu(found)
    await take(found, "as a column")
    assert "maxWai" in found.text("list-head")
    select(found, "maxWaitMs")
    await open_menu(found)
    await take(found, "go to its bytes")
    assert found.window.focused is found.main.hex_pane


@driven()
async def test_of_a_stream(found: Drive) -> None:
    await found.press("g")
    lines = await open_menu(found)
    assert lines[0] == "filter: this stream:  stream == 0"
    assert any("as another protocol" in line for line in lines)


@pytest.mark.parametrize("pane", ["list", "tree", "hex"])
@driven()
async def test_the_other_button_of_the_mouse(found: Drive, pane: str) -> None:
    where = found.main.query_one(f"#{pane}", Pane)
    await found.pilot.click(where, offset=(14, 3), button=3)
    await found.until(lambda: isinstance(found.window.screen, Chooser))
    assert where.cursor == 3
    await found.press("escape")
    assert found.window.screen is found.main
    assert found.main.bars.focused is where


@driven()
async def test_commands_say_their_keys_and_do_what_these_do(found: Drive) -> None:
    await open_menu(found)
    screen = found.window.screen
    assert isinstance(screen, Chooser)
    other = {strip_styles(line): key for line, key in screen.pane.lines}
    assert other["the other half of the exchange: request or response"] == "p"
    await found.press(*"other half", "enter")
    assert found.row == 1


@driven()
async def test_decode_as_reads_again_and_keeps_filter_and_message(found: Drive) -> None:
    await found.filter("kafka.Fetch or stream == 7")
    await found.press(*FETCH)
    before = found.main
    await found.press("ctrl+p", *"as another protocol", "enter")
    await found.until(lambda: isinstance(found.window.screen, Chooser))
    assert "stream 7 as rocketmq" in shown(found)
    await found.press(*"stream 7 not", "enter")
    await found.until(lambda: found.main is not before)
    await found.loaded()
    assert found.window.screen is found.main
    assert in_force(found) == "kafka.Fetch or stream == 7"
    await found.until(lambda: found.status() == "stream 7 is read as none")  # it comes after the next refresh
    place = found.main.timeline.selected
    assert place is not None
    assert place.stream == 7
    assert place.row is not None
    assert find_dissector(found.main.session, place.row) is None
    await found.press("q")


@driven(KAFKA, follow=True, wait=False)
async def test_what_grows_cannot_be_read_again(found: Drive) -> None:
    await found.until(lambda: found.row is not None)
    await found.press("ctrl+p", *"as another protocol", "enter")
    await found.until(lambda: isinstance(found.window.screen, Chooser))
    await found.press("enter")
    assert found.status() == "a growing capture cannot be read again: give -d when you open it"
