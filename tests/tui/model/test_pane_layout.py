"""Boxes cover the area, whatever its size and whatever was chosen; and what was chosen is what is seen."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.pane_layout import (
    GROUPS,
    HEAVIEST,
    MODES,
    PANE_HEIGHT,
    PANE_WIDTH,
    PANES,
    Arrangement,
    Box,
    PaneLayout,
    PaneName,
    apportion,
    drop_hidden,
    measure_least,
    walk_groups,
)
from tui.saved_state import SavedState

NAMES = sorted(name for shape in GROUPS.values() for group in walk_groups(shape) for name in group.parts)
WEIGHTS = st.integers(1, 500) | st.integers(1, HEAVIEST)
SIZES = st.tuples(st.integers(1, 500), st.integers(1, 200)) | st.tuples(st.integers(20, 130), st.integers(2, 30))

arrangements = st.builds(
    Arrangement,
    st.sampled_from(list(MODES)),
    st.dictionaries(st.sampled_from(NAMES), WEIGHTS) | st.fixed_dictionaries(dict.fromkeys(NAMES, WEIGHTS)),
    st.frozensets(st.sampled_from(PANES), max_size=2),
    st.booleans(),
)


def boxes(laid: PaneLayout) -> list[Box]:
    return [*laid.heads.values(), *laid.panes.values(), *(divider.box for divider in laid.dividers)]


def check(laid: PaneLayout, width: int, height: int) -> None:
    """Boxes touch and do not overlap; each head stands on its pane."""
    found = [box for box in boxes(laid) if box.width and box.height]
    assert sum(box.width * box.height for box in found) == width * height
    for box in found:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= width
        assert box.y + box.height <= height
    for one, other in combinations(found, 2):
        assert (
            one.x + one.width <= other.x
            or other.x + other.width <= one.x
            or one.y + one.height <= other.y
            or other.y + other.height <= one.y
        )
    for name, pane in laid.panes.items():
        head = laid.heads[name]
        assert (head.x, head.width, head.y + head.height) == (pane.x, pane.width, pane.y)
        if len(laid.panes) > 1:
            assert pane.width >= PANE_WIDTH
            assert head.height + pane.height >= PANE_HEIGHT


@given(arrangements, SIZES, st.sampled_from(PANES))
def test_boxes_cover_the_area(arrangement: Arrangement, size: tuple[int, int], focus: PaneName) -> None:
    laid = arrangement.lay_out(*size, focus)
    check(laid, *size)
    shown = [name for name in PANES if name not in arrangement.hidden]
    assert arrangement.visible_panes == shown
    if len(laid.panes) == 1:
        assert list(laid.panes) == [focus if focus in shown else shown[0]]
        assert not laid.dividers
    else:
        assert not arrangement.zoomed
        assert list(laid.panes) == shown
        assert len(laid.dividers) == len(shown) - 1


@given(arrangements, SIZES, st.lists(st.tuples(st.integers(0, 1), st.integers(-9, 600)), min_size=1, max_size=3))
def test_a_divider_goes_where_it_is_put(
    arrangement: Arrangement, size: tuple[int, int], moves: list[tuple[int, int]]
) -> None:
    for index, to in moves:
        laid = arrangement.lay_out(*size, "list")
        if index >= len(laid.dividers):
            continue
        divider = laid.dividers[index]
        arrangement = arrangement.with_divider_at(divider, to, size[0])
        after = arrangement.lay_out(*size, "list")
        check(after, *size)
        moved = after.dividers[index]
        sizes = list(divider.sizes.values())
        first = divider.position - sizes[divider.index - 1]
        end = divider.position + 1 + sizes[divider.index]
        assert moved.position == max(first + divider.least_sizes[0], min(to, end - divider.least_sizes[1] - 1))
        for other, same in zip(laid.dividers, after.dividers, strict=True):
            if other.upright == divider.upright and other is not divider:
                assert other.position == same.position
        assert all(0 < weight <= HEAVIEST for weight in arrangement.shares.values())


@given(st.lists(st.tuples(WEIGHTS, st.integers(0, 20)), min_size=1, max_size=5), st.integers(0, 500))
def test_cells_by_weights(parts: list[tuple[int, int]], more: int) -> None:
    weights, smallest = zip(*parts, strict=True)
    room = sum(smallest) + more
    sizes = apportion(room, weights, smallest)
    assert sum(sizes) == room
    assert all(size >= each for size, each in zip(sizes, smallest, strict=True))
    fair = [room * weight / sum(weights) for weight in weights]
    if all(each >= size for each, size in zip(fair, smallest, strict=True)):
        assert all(abs(size - each) <= 1 for size, each in zip(sizes, fair, strict=True))


def columns(laid: PaneLayout) -> dict[str, tuple[int, int]]:
    return {name: (box.width, box.height) for name, box in laid.panes.items()}


@pytest.mark.parametrize(
    ("size", "mode", "panes"),
    [
        ((80, 21), "auto", {"list": (80, 9), "tree": (35, 9), "hex": (44, 9)}),
        ((119, 21), "auto", {"list": (119, 9), "tree": (74, 9), "hex": (44, 9)}),
        ((120, 37), "auto", {"list": (120, 17), "tree": (75, 17), "hex": (44, 17)}),
        ((181, 37), "auto", {"list": (181, 17), "tree": (103, 17), "hex": (77, 17)}),
        ((182, 37), "auto", {"list": (96, 36), "tree": (40, 36), "hex": (44, 36)}),
        ((200, 57), "auto", {"list": (96, 56), "tree": (58, 56), "hex": (44, 56)}),
        ((240, 57), "auto", {"list": (100, 56), "tree": (61, 56), "hex": (77, 56)}),
        ((200, 57), "mixed", {"list": (200, 27), "tree": (122, 27), "hex": (77, 27)}),
        ((80, 21), "beside", {"list": (21, 20), "tree": (13, 20), "hex": (44, 20)}),
        ((80, 21), "stacked", {"list": (80, 7), "tree": (80, 4), "hex": (80, 5)}),
        ((38, 9), "beside", {"list": (12, 8), "tree": (12, 8), "hex": (12, 8)}),
        ((37, 9), "beside", {"tree": (37, 8)}),
        ((20, 2), "auto", {"tree": (20, 1)}),
        ((1, 1), "auto", {"tree": (1, 1)}),
    ],
)
def test_sizes(size: tuple[int, int], mode: str, panes: dict[str, tuple[int, int]]) -> None:
    assert mode in MODES
    assert columns(Arrangement(mode).lay_out(*size, "tree")) == panes  # type: ignore[arg-type]


def test_what_is_hidden_gives_its_room_and_gets_it_back() -> None:
    whole = Arrangement("beside")
    laid = whole.lay_out(150, 30, "list")
    moved = whole.with_divider_at(laid.dividers[1], 120, 150)
    without = moved.with_pane("tree", shown=False)
    assert columns(without.lay_out(150, 30, "list")).keys() == {"list", "hex"}
    assert without.with_pane("tree", shown=True).lay_out(150, 30, "list") == moved.lay_out(150, 30, "list")
    smaller = without.with_divider_at(without.lay_out(150, 30, "list").dividers[0], 60, 150)
    back = columns(smaller.with_pane("tree", shown=True).lay_out(150, 30, "list"))
    assert back["list"][0] / back["hex"][0] == pytest.approx(60 / 89, rel=0.05)
    assert back["tree"][0] == pytest.approx(columns(moved.lay_out(150, 30, "list"))["tree"][0], abs=1)


def test_the_last_pane_stays() -> None:
    found = Arrangement().with_pane("list", shown=False).with_pane("hex", shown=False)
    assert found.with_pane("tree", shown=False) is found
    assert found.with_pane("hex", shown=True).visible_panes == ["tree", "hex"]


def test_modes_go_round() -> None:
    found = Arrangement(zoomed=True)
    modes = []
    for _ in MODES:
        found = found.with_next_mode()
        modes.append(found.mode)
    assert modes == ["beside", "stacked", "mixed", "auto"]
    assert not found.zoomed


@pytest.mark.parametrize(
    ("mode", "pane", "upright", "index"),
    [
        ("beside", "list", True, 0),
        ("beside", "tree", True, 1),
        ("beside", "hex", True, 1),
        ("beside", "tree", False, None),
        ("mixed", "list", False, 0),
        ("mixed", "hex", False, 0),
        ("mixed", "tree", True, 1),
        ("mixed", "hex", True, 1),
        ("mixed", "list", True, None),
        ("stacked", "list", False, 0),
        ("stacked", "hex", False, 1),
    ],
)
def test_the_divider_next_to_a_pane(mode: str, pane: PaneName, upright: bool, index: int | None) -> None:
    laid = Arrangement(mode).lay_out(150, 30, "list")  # type: ignore[arg-type]
    assert laid.find_divider(pane, upright=upright) is (None if index is None else laid.dividers[index])


def test_where_dividers_meet() -> None:
    level, upright = Arrangement("mixed").lay_out(80, 21, "list").dividers
    assert level.joint == upright.box.x
    assert upright.joint is None
    hidden = Arrangement("mixed", hidden=frozenset({"hex"})).lay_out(80, 21, "list")
    assert [divider.joint for divider in hidden.dividers] == [None]


@pytest.mark.parametrize(
    "arrangement",
    [
        Arrangement(),
        Arrangement("stacked", {"mixed.list": 1, "beside.hex": HEAVIEST}, frozenset({"tree", "list"}), zoomed=True),
    ],
)
def test_it_is_repeated(arrangement: Arrangement) -> None:
    saved_state = SavedState()
    arrangement.save(saved_state)
    found = Arrangement.load(saved_state)
    assert (found.mode, found.shares, found.hidden, found.zoomed) == (
        arrangement.mode, arrangement.shares, arrangement.hidden, False
    )  # fmt: skip


def test_what_makes_no_sense_is_not_repeated() -> None:
    saved_state = SavedState()
    saved_state.set("layout", "[/red]")
    saved_state.set("hidden", ["list", "tree", "hex", "status"])
    saved_state.set("shares", {"beside.list": -1, "beside.tree": 1e15, "beside.hex": 0.5, "mixed.list": 2})
    assert Arrangement.load(saved_state) == Arrangement(shares={"mixed.list": 2})


def test_least_sizes() -> None:
    assert measure_least(GROUPS["beside"]) == (38, 2)
    assert measure_least(GROUPS["stacked"]) == (12, 8)
    assert measure_least(GROUPS["mixed"]) == (25, 5)
    assert drop_hidden(GROUPS["mixed"], frozenset({"list", "tree"})) == "hex"
