"""Commands for the time line above the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.model.activity_height import HEIGHT_KEY, HEIGHTS

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

NAMES = {0: "hidden", 1: "one line", 3: "three lines"}


def focus_time_line(main: MainScreen) -> None:
    """Gives the time line the focus, and shows it if needed; from there, goes back to the list."""
    bar = main.activity.bar
    if bar.has_focus:
        main.set_focus(main.timeline)
        return
    if not bar.height:
        cycle_time_line(main)
    if not bar.is_placed:
        main.show_message("the terminal is too low for the time line", "bar-warning")
        return
    main.activity.meter.read_moments()
    main.set_focus(bar)


def cycle_time_line(main: MainScreen) -> None:
    """Shows the time line in one line, in three lines, or not at all."""
    height = main.activity.cycle_height(HEIGHTS)
    if not height and main.activity.bar.has_focus:
        main.set_focus(main.timeline)
    main.saved_state.set(HEIGHT_KEY, height)
    main.pane_area.refresh_layout_soon()
    main.show_message(f"time line: {NAMES[height]}")
