"""Where the panes stand: layouts, zoom, panes that are hidden, dividers moved by keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.model.arrangement import MODES, Arrangement, PaneName

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

COLUMNS, LINES = 3, 1
"""Cells that a key moves a divider by."""


def cycle_layout(main: MainScreen) -> None:
    """The next layout."""
    main.pane_area.rearrange(main.pane_area.arrangement.with_next_mode())
    main.show_message(f"layout: {MODES[main.pane_area.arrangement.mode]}")


def toggle_zoom(main: MainScreen) -> None:
    """The pane with the focus alone, or all as before."""
    arrangement = main.pane_area.arrangement
    main.pane_area.rearrange(replace(arrangement, zoomed=not arrangement.zoomed))


def reset_layout(main: MainScreen) -> None:
    """All panes, where they stand if nobody has chosen anything."""
    main.pane_area.rearrange(Arrangement())
    main.show_message("layout: as it was made")


def toggle_list(main: MainScreen) -> None:
    """Hides or shows the list."""
    _toggle_pane(main, "list")


def toggle_tree(main: MainScreen) -> None:
    """Hides or shows the tree."""
    _toggle_pane(main, "tree")


def toggle_hex(main: MainScreen) -> None:
    """Hides or shows the bytes."""
    _toggle_pane(main, "hex")


def _toggle_pane(main: MainScreen, pane: PaneName) -> None:
    arrangement = main.pane_area.arrangement
    shown = pane in arrangement.hidden
    turned = arrangement.with_pane(pane, shown=shown)
    if turned == arrangement:
        main.show_message("the last pane stays", "bar-warning")
        return
    main.pane_area.rearrange(replace(turned, zoomed=False))


def move_divider_right(main: MainScreen) -> None:
    """The divider beside the pane with the focus to the right."""
    _move_divider(main, COLUMNS, upright=True)


def move_divider_left(main: MainScreen) -> None:
    """The same to the left."""
    _move_divider(main, -COLUMNS, upright=True)


def move_divider_down(main: MainScreen) -> None:
    """The divider under or over the pane with the focus down."""
    _move_divider(main, LINES, upright=False)


def move_divider_up(main: MainScreen) -> None:
    """The same up."""
    _move_divider(main, -LINES, upright=False)


def _move_divider(main: MainScreen, by: int, *, upright: bool) -> None:
    desk = main.pane_area
    divider = desk.pane_layout.find_divider(desk.focused, upright=upright)
    if divider is None:
        main.show_message(f"there is no divider {'beside' if upright else 'over or under'} this pane", "bar-warning")
    else:
        desk.rearrange(desk.arrangement.with_divider_at(divider, divider.position + by, desk.area.width))
