"""Every key and the mouse, on a real capture."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from textual.events import MouseScrollDown, MouseScrollUp

from analyzer.decode.bodies import decode_tree
from dissectors.field import Field
from tests.tui.driving import GOLDEN, Drive, drive, driven
from tui.keys import KEYS, TITLES, list_bindings, list_footer_keys
from tui.model.detail import find_range


def test_every_key_is_bound_once_and_reported_in_help() -> None:
    for where in TITLES:
        places = (where,) if where in ("time", "diagram", "graphs", "map", "compare") else (where, "pane", "screen")
        keys = [key for row in KEYS if row.place in places for key in row.keys.split(",") if key]
        again = {"o", "O"} if where in ("folding", "views") else set()  # pages have an order of their own
        assert len(keys) == len(set(keys)) + len(again & {key for key in keys if keys.count(key) > 1}), where
        assert len(list_bindings(where)) == sum(row.place == where and bool(row.keys) for row in KEYS)
    assert all(row.footer for row in list_footer_keys("list"))


@driven()
async def test_the_first_screen(found: Drive) -> None:
    assert found.row == 0
    title = found.text("title")
    assert all(word in title for word in ("648 messages", "37 streams", "1,241 packets", "complete"))
    listed = found.text("list").splitlines()
    assert re.match(r"▾  0 adminclient-1 .* 4 messages +499ms  :33862 > :29092", listed[0])
    assert re.match(r" +1 .* > ApiVersions", listed[1])
    assert listed[5].startswith("▸  1 ")
    assert "kafka ApiVersions v5 request" in found.text("tree-head")
    assert "clientSoftwareName" in found.text("tree")
    assert found.text("hex").startswith("0000  00 00 00 36 00 12 00 05")
    assert "? help" in found.text("keys")


Step = tuple[Sequence[str], int | None]

LIST: dict[str, Sequence[Step]] = {
    "down": [(["down"], 1), (["j"], 2), (["down", "down"], None)],
    "up": [(["down", "down", "up"], 1), (["k"], 0), (["k"], None), (["k"], None)],
    "ends": [(["G"], None), (["g"], None), (["down"], 0), (["end"], None), (["home", "down"], 0)],
    "pages": [(["v", "pagedown"], 34), (["pagedown"], 68), (["pageup"], 34), (["pageup"], 0), (["pageup"], 0)],
    "out and in": [(["down", "h"], None), (["h"], None), (["down", "up", "l"], None), (["l"], 0), (["left"], None)],
    "space folds from a message": [(["down", "space"], None), (["right", "right"], 0)],
    "enter on a stream": [(["up", "enter"], None), (["enter", "down"], 0)],
    "fold all": [(["down", "-"], None), (["=", "down", "down"], 1), (["end"], 630)],
    "partner": [(["p"], 1), (["p"], 0), (["j", "j", "p"], 3)],
    "view": [(["j", "v"], 1), (["G"], 647), (["v"], 647), (["p"], 642)],
    "go to": [(["ctrl+g", "4", "8", "enter"], 47), (["ctrl+g", "escape"], 47), (["ctrl+g", "enter"], 47)],
    "go to nowhere": [(["ctrl+g", "6", "4", "9", "enter"], 0), (["ctrl+g", "0", "enter"], 0)],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", LIST)
@driven()
async def test_keys_of_the_list(found: Drive, case: str) -> None:
    for keys, row in LIST[case]:
        await found.press(*keys)
        assert found.row == row, keys


@driven()
async def test_the_view_keeps_the_message_and_its_stream_is_unfolded(found: Drive) -> None:
    await found.press("v", "ctrl+g", "6", "0", "0", "enter", "v")
    assert found.row == 599
    listed = found.main.timeline
    assert listed.timeline.is_open(listed.selected.stream)  # type: ignore[union-attr]
    assert re.search(r"^ +600 ", found.text("list"), re.MULTILINE)
    await found.press("h", "v")
    assert found.row == listed.timeline.find_first_row(listed.selected.stream)  # type: ignore[union-attr]


@driven()
async def test_partner_is_marked_in_its_row(found: Drive) -> None:
    assert re.search(r"^ ◂ +2 .* <", found.text("list"), re.MULTILINE)
    await found.press("down")
    marked = [line for line in found.text("list").splitlines() if "◂" in line]
    assert len(marked) == 1
    assert re.match(r" ◂ +1 .* >", marked[0])


@driven()
async def test_without_partner_it_says_so(found: Drive) -> None:
    await found.press("up", "p")
    assert found.status() == "no message is selected"
    await found.press("ctrl+g", "9", "9", "9", "9", "enter")
    assert found.status() == "there is no message 9999: there are 648, counted from 1"


def selected_field(found: Drive) -> Field:
    what = found.main.tree_pane.get_path()[-1]
    assert isinstance(what, Field)
    return what


FETCH = ("ctrl+g", "4", "8", "enter")


@driven()
async def test_keys_of_the_tree(found: Drive) -> None:
    await found.press(*FETCH, "enter")
    tree = found.main.tree_pane
    assert found.window.focused is tree
    await found.press("down")
    assert selected_field(found).spec.name == "length"
    await found.press("j")
    assert selected_field(found).spec.name == "header"
    before = tree.count
    for key in ("enter", "space", "left", "h"):
        if not tree.outline.is_open(tree.cursor):
            await found.press("right")
        await found.press(key)
        assert tree.count < before, key
    await found.press("l", "l")
    assert selected_field(found).spec.name == "correlationId"
    await found.press("left")
    assert selected_field(found).spec.name == "header"
    await found.press("G")
    last = selected_field(found)
    await found.press("=")
    assert selected_field(found) is last
    assert tree.count == 246
    await found.press("-")
    assert tree.count == 4
    assert selected_field(found).spec.name == "body"
    await found.press("g")
    assert tree.cursor == 0


@driven()
async def test_folds_are_remembered_for_the_next_message_of_the_kind(found: Drive) -> None:
    await found.press("enter", "down", "down", "h")
    assert selected_field(found).spec.name == "header"
    await found.press("shift+tab", "down", "down")
    assert found.row == 2
    lines = found.text("tree").splitlines()
    assert next(line for line in lines if "header" in line).startswith("▸ header")
    assert next(line for line in lines if "body" in line).startswith("▾ body")


@driven()
async def test_a_field_marks_its_bytes_and_a_byte_selects_its_field(found: Drive) -> None:
    await found.press(*FETCH, "tab", "=", "G")
    hexes, tree = found.main.hex_pane, found.main.tree_pane
    place = find_range(selected_field(found))
    assert place is not None
    assert (hexes.offset_at_cursor, hexes._marked) == (place.offset, (place.offset, place.offset + place.length))
    await found.press("-", "tab", "g")
    assert selected_field(found).spec.name == "length"
    await found.press(*["l"] * 15)
    assert hexes.offset_at_cursor == 15
    assert found.main.tree_pane.get_path()[-1].spec.name == "sessionId"  # type: ignore[union-attr]
    assert hexes._marked == (15, 19)
    assert "body.sessionId" in found.status()
    assert "byte 15 (0xf)" in found.status()
    await found.press("left", "down")
    assert hexes.offset_at_cursor == 14 + hexes.rows.width
    await found.press("up", "k")
    assert hexes.offset_at_cursor == 14 - hexes.rows.width
    await found.press("G")
    assert hexes.offset_at_cursor == 1106
    assert selected_field(found).offset + selected_field(found).length == 1107
    await found.press("pageup", "pagedown", "l")
    assert hexes.offset_at_cursor == 1106
    assert tree.cursor < tree.count


@driven()
async def test_panes_by_tab(found: Drive) -> None:
    main = found.main
    order = []
    for key in ("tab", "tab", "tab", "shift+tab", "shift+tab"):
        await found.press(key)
        order.append(found.window.focused)
    assert order == [main.tree_pane, main.hex_pane, main.timeline, main.hex_pane, main.tree_pane]
    assert found.text("tree-head").startswith("▌")
    assert not found.text("list-head").startswith("▌")
    assert "Space fold" in found.text("keys")


@driven(size=(120, 44))
async def test_help_names_every_key_and_goes_away(found: Drive) -> None:
    await found.press("question_mark")
    shown = "\n".join(found.lines())
    assert "Everywhere" in shown
    for _ in range(len(KEYS) // 10):
        await found.press("pagedown")
        shown += "\n".join(found.lines())
    assert all(row.help[:40] in shown for row in KEYS)
    await found.press("escape")
    assert found.window.screen is found.main
    await found.press("question_mark", "q")
    assert found.window.screen is found.main


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
@driven()
async def test_quit(found: Drive, key: str) -> None:
    await found.pilot.press(key)
    assert found.window._exit
    assert found.window.return_code == 0


def first_with_sources(found: Drive) -> int:
    session = found.main.session
    return next(row for row in range(len(session.rows)) if len(decode_tree(session, row).sources) > 1)


@driven(GOLDEN / "k4_java_produce.pcap.zst", size=(180, 40))
async def test_sources_are_tabs(found: Drive) -> None:
    row = first_with_sources(found)
    await found.press("ctrl+g", *str(row + 1), "enter", "tab", "tab")
    assert "[message]" in found.text("hex-head")
    await found.press("right_square_bracket")
    detail = found.main.view.detail
    assert detail is not None
    source = detail.tree.sources[1]
    assert f"[{source.name}]" in found.text("hex-head")
    assert f"{source.length:,} bytes" in found.text("hex-head")
    await found.press("l")
    assert selected_field(found).source == 1
    assert f"of {source.name}" in found.status()
    await found.press("left_square_bracket")
    assert "[message]" in found.text("hex-head")
    head = found.main.query_one("#hex-head")
    column = found.text("hex-head").index(source.name)
    await found.pilot.click(head, offset=(column, 0))
    await found.settle()
    assert f"[{source.name}]" in found.text("hex-head")
    await found.press("shift+tab", "=", "G", "g", "down")
    assert "[message]" in found.text("hex-head")
    await found.press("ctrl+g", "1", "enter", "tab", "right_square_bracket")
    assert found.status().startswith("there is no other source")


@driven()
async def test_the_mouse(found: Drive) -> None:
    main = found.main
    await found.pilot.click(main.timeline, offset=(12, 3))
    await found.settle()
    assert found.row == 2
    await found.pilot.click(main.timeline, offset=(0, 5))
    await found.settle()
    assert main.timeline.timeline.is_open(1)
    await found.pilot.click(main.timeline, offset=(12, 1))
    await found.settle()
    await found.pilot.click(main.tree_pane, offset=(6, 1))
    await found.settle()
    assert selected_field(found).spec.name == "length"
    assert found.window.focused is main.tree_pane
    lines = main.tree_pane.count
    await found.pilot.click(main.tree_pane, offset=(0, 2))
    await found.settle()
    assert main.tree_pane.count < lines
    first, text = main.hex_pane.rows.find_columns(3)
    for column in (first, first + 1, text):
        await found.pilot.click(main.hex_pane, offset=(column, 2))
        await found.settle()
        assert main.hex_pane.offset_at_cursor == 2 * main.hex_pane.rows.width + 3
    await found.pilot.click(main.query_one("#keys"), offset=(found.text("keys").index("p partner"), 0))
    await found.settle()
    assert found.row == 1


@driven(size=(140, 20))
async def test_the_wheel(found: Drive) -> None:
    await found.press(*FETCH, "tab", "=", "shift+tab")
    main = found.main
    for pane in (main.timeline, main.tree_pane, main.hex_pane):
        before, cursor = pane.top, pane.cursor
        await found.pilot._post_mouse_events([MouseScrollDown], pane, (3, 3))
        await found.settle()
        assert pane.top > before
        await found.pilot._post_mouse_events([MouseScrollUp], pane, (3, 3))
        await found.settle()
        assert (pane.top, pane.cursor) == (before, cursor)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 12), (20, 5), (5, 3), (1, 1)])
def test_any_size(size: tuple[int, int]) -> None:
    async def test(found: Drive) -> None:
        await found.press("down", "p", "tab", "=", "G", "tab", "G", "g", "v", "shift+tab", "shift+tab")
        await found.pilot.resize_terminal(100, 30)
        await found.settle()
        await found.pilot.resize_terminal(*size)
        await found.press("v", "down", "question_mark", "escape", "ctrl+g", "5", "enter")
        assert found.row == 4

    drive(test, size=size)
