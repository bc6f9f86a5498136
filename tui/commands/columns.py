"""The columns of the list: chosen by the user, remembered for the next time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from tui.model.chosen import AUTOMATIC, Chosen, added
from tui.widgets.lines import COLUMNS

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def begin(main: MainScreen) -> None:
    """Shows the columns that are remembered; those that mean nothing any more are left out."""
    names = []
    for name in main.remembered.get(COLUMNS, []):
        try:
            Chosen(main.session, [name], main.limits)
        except UserError:
            continue
        names.append(name)
    if names:
        main.timeline.said.chosen = Chosen(main.session, names, main.limits)


def shown(main: MainScreen) -> list[str] | None:
    """The columns by name; None while the list chooses those that fit."""
    chosen = main.timeline.said.chosen
    return None if chosen is None else list(chosen.names)


def show(main: MainScreen, names: Sequence[str] | None) -> None:
    """Shows these columns; None or none: those that fit. Raises UserError for a name that means nothing."""
    main.timeline.said.chosen = Chosen(main.session, names, main.limits) if names else None
    main.remembered.keep(COLUMNS, list(names or ()))
    main.timeline.anew()
    main.say_heads()


def add(main: MainScreen, name: str) -> None:
    """One more column, before the line for people. Raises UserError for a name that means nothing."""
    show(main, added(shown(main) or AUTOMATIC, name))


def choose(main: MainScreen) -> None:
    """Asks which columns."""
    from tui.screens.columns import ColumnsScreen

    main.app.push_screen(ColumnsScreen(main))
