"""Back and forward through the messages that one has jumped to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def back(main: MainScreen) -> None:
    """To where one was before the last jump."""
    listed = main.timeline
    _go(main, listed.jumps.back(listed.around, listed.timeline.shows), "back")


def forward(main: MainScreen) -> None:
    """To where one was before going back."""
    listed = main.timeline
    _go(main, listed.jumps.forward(listed.around, listed.timeline.shows), "forward")


def _go(main: MainScreen, row: int | None, way: str) -> None:
    if row is None:
        main.say(f"there is nothing to go {way} to", "bar-warning")
    else:
        main.timeline.go_to_row(row)
