"""To other messages: the partner, one by its number, and back and forward through those that one has jumped to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def go_to_partner(main: MainScreen) -> None:
    """Selects the other half of the exchange."""
    row = None if main.view.detail is None else main.view.detail.partner
    if row is None or row >= main.timeline.timeline.rows:
        main.show_message(
            "this message has no partner" if main.view.detail else "no message is selected", "bar-warning"
        )
    else:
        main.view.select_row(row, "its partner, ")


def go_to_number(main: MainScreen) -> None:
    """Asks for a number and goes there."""
    from tui.screens.ask import NumberDialog

    def go(number: int | None) -> None:
        rows = main.timeline.timeline.rows
        if number is None:
            return
        if 1 <= number <= rows:
            main.view.select_row(number - 1)
        else:
            main.show_message(f"there is no message {number}: there are {rows:,}, counted from 1", "bar-warning")

    main.app.push_screen(NumberDialog(main.timeline.timeline.rows), go)


def go_back(main: MainScreen) -> None:
    """To where one was before the last jump."""
    listed = main.timeline
    _go_to_row(main, listed.jumps.go_back(listed.current_row, listed.timeline.is_shown), "back")


def go_forward(main: MainScreen) -> None:
    """To where one was before going back."""
    listed = main.timeline
    _go_to_row(main, listed.jumps.go_forward(listed.current_row, listed.timeline.is_shown), "forward")


def _go_to_row(main: MainScreen, row: int | None, way: str) -> None:
    if row is None:
        main.show_message(f"there is nothing to go {way} to", "bar-warning")
    else:
        main.timeline.go_to_row(row)
