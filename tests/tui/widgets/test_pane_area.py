"""Layouts, zoom, hidden panes and dividers, by keys and by mouse, at any size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.events import Key, MouseDown, MouseMove, MouseUp, Paste
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from tests.tui.driving import Drive, drive, driven
from tui.model.pane_layout import TOO_SMALL
from tui.saved_state import SavedState
from tui.widgets.painted import PaintedWidget


def seen(found: Drive) -> dict[str, Region]:
    """The panes that are on the screen, and where."""
    panes = {"list": found.main.timeline, "tree": found.main.tree_pane, "hex": found.main.hex_pane}
    placed = found.window.screen._compositor.full_map
    return {name: placed[pane].region for name, pane in panes.items() if pane in placed}


def check_screen(found: Drive) -> None:
    """Every cell belongs to one widget that paints, and each line is as wide as the screen."""
    size = found.window.size
    painted = [
        geometry.region
        for widget, geometry in found.main._compositor.full_map.items()
        if isinstance(widget, PaintedWidget) and geometry.region
    ]
    assert sum(region.area for region in painted) == size.area
    strips = found.main._compositor.render_strips()
    assert [strip.cell_length for strip in strips] == [size.width] * size.height
    shown = seen(found)
    if shown:
        focused = found.main.focused
        assert focused is not None
        assert focused.id in shown


LIST, TREE, HEX = ["list"], ["tree"], ["hex"]
ALL = [*LIST, *TREE, *HEX]

Step = tuple[Sequence[str], list[str], str]
"""Keys, the panes that are seen then, and the one with the focus."""

KEYS: dict[str, Sequence[Step]] = {
    "zoom follows the focus": [
        ("z", LIST, "list"), (["tab"], TREE, "tree"), (["tab"], HEX, "hex"), ("z", ALL, "hex"),
        (["tab", "down", "z"], LIST, "list"), (["enter"], TREE, "tree"), ("z", ALL, "tree"),
    ],
    "hidden panes are skipped": [
        ("2", ["list", "hex"], "list"), (["tab"], ["list", "hex"], "hex"), (["tab"], ["list", "hex"], "list"),
        (["shift+tab"], ["list", "hex"], "hex"), ("2", ALL, "hex"),
    ],
    "the last one stays": [
        ("2", ["list", "hex"], "list"), ("3", LIST, "list"), ("1", LIST, "list"), ("z", LIST, "list"),
    ],
    "the focus leaves what is hidden": [
        ("1", ["tree", "hex"], "tree"), ("2", HEX, "hex"), ("1", ["list", "hex"], "hex"), ("3", LIST, "list"),
    ],
    "enter shows the tree, and from there the bytes": [
        ("32", LIST, "list"), (["enter"], ["list", "tree"], "tree"), (["down", "enter"], ALL, "hex"),
    ],
    "to hide ends the zoom": [("z", LIST, "list"), ("2", ["list", "hex"], "list")],
    "to show does, too": [("2z", LIST, "list"), ("2", ALL, "list")],
    "zoomed, hidden panes are skipped": [("2z", LIST, "list"), (["tab"], HEX, "hex"), (["tab"], LIST, "list")],
    "a layout ends the zoom": [("zL", ALL, "list")],
    "reset": [("L3z0", ALL, "list")],
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", KEYS)
@driven()
async def test_keys(found: Drive, case: str) -> None:
    for keys, panes, focused in KEYS[case]:
        await found.press(*keys)
        assert (keys, list(seen(found))) == (keys, panes)
        assert found.main.focused is not None
        assert found.main.focused.id == focused
        check_screen(found)


@driven()
async def test_keys_do_not_wait_for_what_those_before_them_did(found: Drive) -> None:
    for key in ("tab", "2", "tab", "z", "L", "ctrl+right", "3"):
        found.window.post_message(Key(key, key if len(key) == 1 else None))
    await found.settle()
    await found.until(lambda: list(seen(found)) == LIST)
    assert found.main.pane_area.arrangement.hidden == {"tree", "hex"}
    assert found.main.focused is found.main.timeline


@driven(size=(100, 30))
async def test_layouts_go_round(found: Drive) -> None:
    begin = seen(found)
    text, shapes = [], []
    for _ in range(4):
        await found.press("L")
        text.append(found.status())
        shapes.append({name: (region.x > 0, region.y > 3) for name, region in seen(found).items()})
        check_screen(found)
    other = {"list": (False, False), "tree": (True, False), "hex": (True, False)}
    stacked = {"list": (False, False), "tree": (False, True), "hex": (False, True)}
    mixed = {"list": (False, False), "tree": (False, True), "hex": (True, True)}
    assert shapes == [other, stacked, mixed, mixed]
    assert text == [
        "layout: side by side",
        "layout: one above the other",
        "layout: the list above, tree and bytes below it",
        "layout: as the width allows",
    ]
    assert seen(found) == begin
    level = found.lines(found.main.query_one("#splitter-0"))[0]
    assert level.strip("─") == "┬"
    assert level.index("┬") == seen(found)["hex"].x - 1


@driven(size=(100, 30))
async def test_the_head_says_that_it_is_zoomed(found: Drive) -> None:
    assert "zoomed" not in "".join(found.lines())
    for name in ("list-head", "tree-head", "hex-head"):
        await found.press("z")
        assert found.text(name).rstrip().endswith("zoomed, z: all panes")
        await found.press("z", "tab")
    assert "zoomed" not in "".join(found.lines())


MOVES: dict[str, Sequence[tuple[str, dict[str, int], dict[str, int]]]] = {
    "": [
        ("ctrl+right", {"list": 3, "tree": -3}, {}),
        ("ctrl+left", {"list": -3, "tree": 3}, {}),
        ("alt+l", {"list": 3, "tree": -3}, {}),
        ("alt+h", {"list": -3, "tree": 3}, {}),
        ("ctrl+down", {}, {}),
    ],
    "L": [
        ("tab", {}, {}), ("ctrl+right", {"tree": 3, "hex": -3}, {}),
        ("tab", {}, {}), ("ctrl+left", {"tree": -3, "hex": 3}, {}),
    ],
    "LL": [("ctrl+down", {}, {"list": 1, "tree": -1}), ("alt+k", {}, {"list": -1, "tree": 1}), ("ctrl+right", {}, {})],
    "LLL": [
        ("tab", {}, {}), ("ctrl+up", {}, {"list": -1, "tree": 1, "hex": 1}), ("ctrl+right", {"tree": 3, "hex": -3}, {}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("layout", MOVES)
@driven()
async def test_dividers_by_keys(found: Drive, layout: str) -> None:
    await found.press(*layout)
    for key, wider, higher in MOVES[layout]:
        before = seen(found)
        await found.press(key)
        after = seen(found)
        for name, region in before.items():
            changed = after[name].width - region.width, after[name].height - region.height
            assert (key, name, *changed) == (key, name, wider.get(name, 0), higher.get(name, 0))
        check_screen(found)


@driven()
async def test_where_there_is_no_divider_it_says_so(found: Drive) -> None:
    await found.press("ctrl+up")
    assert found.status() == "there is no divider above or below this pane"
    await found.press("z", "ctrl+left")
    assert found.status() == "there is no divider next to this pane"
    await found.press("z", "2", "3", "1")
    assert found.status() == "the last visible pane cannot be hidden"


async def mouse(found: Drive, kind: type[MouseDown] | type[MouseMove] | type[MouseUp], x: int, y: int) -> None:
    """The mouse at a cell of the screen, its button pressed."""
    stored = 0 if kind is MouseUp else 1
    found.window.post_message(kind(None, x, y, 0, 0, stored, False, False, False, x, y))
    await found.settle()


async def drag(found: Drive, splitter: str, by: tuple[int, int]) -> None:
    """Takes hold of the middle of a divider and lets go of it `by` cells further."""
    x, y = found.main.query_one(splitter, Widget).region.center
    await mouse(found, MouseDown, int(x), int(y))
    for part in (1, 2, 3):
        await mouse(found, MouseMove, int(x) + by[0] * part // 3, int(y) + by[1] * part // 3)
    await mouse(found, MouseUp, int(x) + by[0], int(y) + by[1])


@pytest.mark.parametrize(
    ("layout", "splitter", "by", "names", "changed"),
    [
        ("", "#splitter-0", (12, 3), ("list", "tree"), (12, 0)),
        ("", "#splitter-1", (-7, 0), ("tree", "hex"), (-7, 0)),
        ("LL", "#splitter-0", (5, 6), ("list", "tree"), (0, 6)),
        ("LL", "#splitter-1", (0, -2), ("tree", "hex"), (0, -2)),
        ("LLL", "#splitter-0", (0, 4), ("list", "tree"), (0, 4)),
        ("LLL", "#splitter-1", (9, 9), ("tree", "hex"), (9, 0)),
    ],
)
@driven()
async def test_dividers_by_mouse(
    found: Drive, layout: str, splitter: str, by: tuple[int, int], names: tuple[str, str], changed: tuple[int, int]
) -> None:
    await found.press(*layout)
    before = seen(found)
    await drag(found, splitter, by)
    after = seen(found)
    for name, sign in zip(names, (1, -1), strict=True):
        assert after[name].width - before[name].width == changed[0] * sign
        assert after[name].height - before[name].height == changed[1] * sign
    check_screen(found)
    assert found.window.mouse_captured is None
    assert found.row == 0
    await mouse(found, MouseMove, 3, 3)
    assert seen(found) == after


@driven()
async def test_a_divider_stops_at_the_least_sizes(found: Drive) -> None:
    for splitter in ("#splitter-0", "#splitter-1"):
        for by in (-500, 500, 0):
            await drag(found, splitter, (by, 0))
            assert min(region.width for region in seen(found).values()) >= 12
            check_screen(found)


@driven()
async def test_the_screen_changes_under_the_mouse(found: Drive) -> None:
    for keys, size in (("z", None), ("", (70, 20)), ("", (10, 3)), ("L", (130, 30)), ("1", None), ("0", None)):
        await found.press("0")
        x, y = map(int, found.main.query_one("#splitter-0", Widget).region.center)
        await mouse(found, MouseDown, x, y)
        assert found.window.mouse_captured is not None
        await found.press(*keys)
        if size is not None:
            await found.pilot.resize_terminal(*size)
        await mouse(found, MouseMove, x + 2, y)
        await mouse(found, MouseUp, x + 2, y)
        assert found.window.mouse_captured is None
        check_screen(found)
        await found.pilot.resize_terminal(184, 40)


@driven()
async def test_a_move_without_a_button_lets_go(found: Drive) -> None:
    before = seen(found)
    x, y = map(int, found.main.query_one("#splitter-0", Widget).region.center)
    await mouse(found, MouseDown, x, y)
    found.window.post_message(MouseMove(None, x + 5, y, 5, 0, 0, False, False, False, x + 5, y))
    await found.settle()
    assert seen(found) == before
    assert found.window.mouse_captured is None


@driven()
async def test_too_small_and_back(found: Drive) -> None:
    await found.press("tab", "down", "down")
    before, field = seen(found), found.main.tree_pane.get_path()
    for size in ((19, 40), (200, 4), (12, 6), (1, 1)):
        await found.pilot.resize_terminal(*size)
        await found.settle()
        assert seen(found) == {}
        check_screen(found)
        shown = " ".join(" ".join(found.lines()).split())
        assert TOO_SMALL.startswith(shown)
        assert shown == TOO_SMALL or size[1] < 5
        await found.press("L", "z", "z", "L", "L", "L", "ctrl+right", "tab", "shift+tab", "j", "k")
    await found.pilot.resize_terminal(20, 5)
    await found.settle()
    assert list(seen(found)) == TREE
    check_screen(found)
    await found.pilot.resize_terminal(184, 40)
    await found.settle()
    assert seen(found) == before
    assert found.main.tree_pane.get_path() == field
    assert found.main.focused is found.main.tree_pane
    check_screen(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [(1, 1), (19, 5), (20, 4), (20, 5), (25, 8), (38, 5), (119, 9), (120, 9), (500, 200)])
@driven(size=(80, 24))
async def test_any_size_in_any_layout(found: Drive, size: tuple[int, int]) -> None:
    await found.pilot.resize_terminal(*size)
    for keys in ("L", "L", "L", "L", "z", ["tab"], "z", "2", "L", ["ctrl+right", "ctrl+down"], "2", "G", "0"):
        await found.press(*keys)
        check_screen(found)


@driven(block=64, wait=False)
async def test_resize_while_loading(found: Drive) -> None:
    for number in range(12):
        await found.pilot.resize_terminal(30 + number * 13, 6 + number * 3)
        await found.press("L" if number % 2 else "z")
        check_screen(found)
    await found.loaded()
    assert "648 messages" in found.text("title")


GARBAGE = "q\nj\x1b[2J[/red]\u202e0z\r\n\t:q!\n" * 50


@pytest.mark.parametrize("keys", ["", "z", "LL"])
@driven()
async def test_a_paste_does_nothing(found: Drive, keys: str) -> None:
    await found.press(*keys)
    for size in ((140, 40), (10, 4), (140, 40)):
        await found.pilot.resize_terminal(*size)
        for _ in range(3):
            await found.press("tab")
            await found.painted()
            before = found.row, seen(found), found.lines()
            found.window.post_message(Paste(GARBAGE))
            await found.settle()
            assert (found.row, seen(found), found.lines()) == before
    assert not found.window._exit


def test_it_is_remembered() -> None:
    saved_state = SavedState()

    async def first(found: Drive) -> None:
        await found.press("L", "L", "L", "ctrl+down", "2", "v")
        nonlocal before
        before = seen(found)

    async def second(found: Drive) -> None:
        assert seen(found) == before
        assert found.main.timeline.timeline.flat
        await found.press("2", "1", "z")

    async def third(found: Drive) -> None:
        assert list(seen(found)) == ["tree", "hex"]
        assert found.main.focused is found.main.tree_pane
        assert found.main.timeline.timeline.flat
        check_screen(found)

    before: dict[str, Region] = {}
    for test in (first, second, third):
        drive(test, saved_state=saved_state)
    assert list(before) == ["list", "hex"]


def test_no_key_that_moves_a_cursor_has_the_screen_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    laid = 0

    def counted(self: Screen[object], *arguments: object, **options: object) -> None:
        nonlocal laid
        laid += 1
        original(self, *arguments, **options)  # type: ignore[arg-type]

    original = Screen._refresh_layout
    monkeypatch.setattr(Screen, "_refresh_layout", counted)

    async def test(found: Drive) -> None:
        nonlocal laid
        for keys in ("", "2", "z"):
            await found.press(*keys)
            laid = 0
            for focus in ([], ["tab"]):
                await found.press("j", "k", "pagedown", "pageup", "G", "g", "end", "home", "p", "v", "v", "right")
                if focus:
                    assert laid <= (keys == "z")
                else:
                    assert laid == 0
                await found.press(*focus)

    drive(test)


@driven()
async def test_a_scroll_bar_is_let_go_when_its_pane_is_hidden(found: Drive) -> None:
    await found.press("v", "2")
    listed = found.main.timeline
    await mouse(found, MouseDown, listed.region.right - 1, listed.region.y)
    assert found.window.mouse_captured is listed
    await found.press("1")
    assert found.window.mouse_captured is None
    await found.press("1")
    await mouse(found, MouseMove, listed.region.right - 1, listed.region.bottom - 1)
    assert listed.top == 0
