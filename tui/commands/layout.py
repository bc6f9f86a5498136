"""Where the panes stand: layouts, zoom, panes that are hidden, dividers moved by keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.model.arrangement import MODES, Arrangement, Name

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

COLUMNS, LINES = 3, 1
"""Cells that a key moves a divider by."""


def cycle(main: MainScreen) -> None:
    """The next layout."""
    main.desk.rearrange(main.desk.arrangement.next_mode())
    main.say(f"layout: {MODES[main.desk.arrangement.mode]}")


def zoom(main: MainScreen) -> None:
    """The pane with the focus alone, or all as before."""
    arrangement = main.desk.arrangement
    main.desk.rearrange(replace(arrangement, zoomed=not arrangement.zoomed))


def reset(main: MainScreen) -> None:
    """All panes, where they stand if nobody has chosen anything."""
    main.desk.rearrange(Arrangement())
    main.say("layout: as it was made")


def turn_list(main: MainScreen) -> None:
    """Hides or shows the list."""
    _turn(main, "list")


def turn_tree(main: MainScreen) -> None:
    """Hides or shows the tree."""
    _turn(main, "tree")


def turn_hex(main: MainScreen) -> None:
    """Hides or shows the bytes."""
    _turn(main, "hex")


def _turn(main: MainScreen, pane: Name) -> None:
    arrangement = main.desk.arrangement
    shown = pane in arrangement.hidden
    turned = arrangement.turned(pane, shown=shown)
    if turned == arrangement:
        main.say("the last pane stays", "bar-warning")
        return
    main.desk.rearrange(replace(turned, zoomed=False))


def right(main: MainScreen) -> None:
    """The divider beside the pane with the focus to the right."""
    _move(main, COLUMNS, upright=True)


def left(main: MainScreen) -> None:
    """The same to the left."""
    _move(main, -COLUMNS, upright=True)


def down(main: MainScreen) -> None:
    """The divider under or over the pane with the focus down."""
    _move(main, LINES, upright=False)


def up(main: MainScreen) -> None:
    """The same up."""
    _move(main, -LINES, upright=False)


def _move(main: MainScreen, by: int, *, upright: bool) -> None:
    desk = main.desk
    divider = desk.laid.divider(desk.focused, upright=upright)
    if divider is None:
        main.say(f"there is no divider {'beside' if upright else 'over or under'} this pane", "bar-warning")
    else:
        desk.rearrange(desk.arrangement.moved(divider, divider.position + by, desk.area.width))
