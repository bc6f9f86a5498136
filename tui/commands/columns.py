"""Commands for the columns of the list, which are saved for the next run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from tui.model.list_columns import CustomColumns, ListColumns, insert_column
from tui.model.row_lines import COLUMNS_KEY

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def restore_columns(main: MainScreen) -> None:
    """Shows the saved columns, those of the capture first; leaves out names that mean nothing any more."""
    names = []
    entry = main.opened.entry
    for name in main.saved_state.get(COLUMNS_KEY, []) if entry is None else entry.columns:
        try:
            ListColumns(main.session, [name], main.limits)
        except UserError:
            continue
        names.append(name)
    if names:
        main.timeline.row_lines.custom_columns = ListColumns(main.session, names, main.limits)


def get_columns(main: MainScreen) -> list[str] | None:
    """Returns the names of the columns; None while the list chooses those that fit."""
    chosen = main.timeline.row_lines.custom_columns
    return None if chosen is None else list(chosen.names)


def show_columns(main: MainScreen, names: Sequence[str] | None) -> None:
    """Shows these columns; None or none: those that fit. Raises UserError for a name that means nothing."""
    main.timeline.row_lines.custom_columns = ListColumns(main.session, names, main.limits) if names else None
    main.saved_state.set(COLUMNS_KEY, list(names or ()))
    main.timeline.invalidate()
    main.show_heads()


def add_column(main: MainScreen, name: str) -> None:
    """Adds a column before the info column, and scrolls to it. Raises UserError for a name that means nothing."""
    listed = main.timeline
    columns = listed.columns
    show_columns(main, insert_column(get_columns(main) or columns.names, name))
    columns = listed.columns
    if isinstance(columns, CustomColumns):
        listed.shift(max(columns.find_cells(name)[1] - listed.inner.width, 0))


def choose_columns(main: MainScreen) -> None:
    """Opens the dialog of columns."""
    from tui.screens.columns import ColumnsScreen

    main.app.push_screen(ColumnsScreen(main, partial(get_columns, main), partial(show_columns, main)))
