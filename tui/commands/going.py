"""To other messages: the partner, and one by its number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def partner(main: MainScreen) -> None:
    """Selects the other half of the exchange."""
    row = None if main.view.detail is None else main.view.detail.partner
    if row is None or row >= main.timeline.timeline.rows:
        main.say("this message has no partner" if main.view.detail else "no message is selected", "bar-warning")
    else:
        main.view.select_row(row, "its partner, ")


def number(main: MainScreen) -> None:
    """Asks for a number and goes there."""
    from tui.screens.ask import AskNumber

    def go(number: int | None) -> None:
        rows = main.timeline.timeline.rows
        if number is None:
            return
        if 1 <= number <= rows:
            main.view.select_row(number - 1)
        else:
            main.say(f"there is no message {number}: there are {rows:,}, counted from 1", "bar-warning")

    main.app.push_screen(AskNumber(main.timeline.timeline.rows), go)
