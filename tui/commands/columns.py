"""Commands for the columns of the list, which are saved for the next run, and for its order.

Theory. Another thread sorts: columns of the index are ranked as columns, so a million rows take a moment, and the
fields of bodies as long as reading them takes. A sorted list is flat. It keeps its order: it is sorted again when a
filter or new messages change what is visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from tui.model.list_columns import CustomColumns, ListColumns, insert_column
from tui.model.row_lines import COLUMNS_KEY
from tui.model.row_sets import RowSorting

if TYPE_CHECKING:
    from analyzer.columns.arrays import Ints
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


FALLING = frozenset({"latency", "latency_ns", "length", "retransmissions", "error", "findings"})
"""Columns of which the largest values are wanted first."""


def choose_order(main: MainScreen) -> None:
    """Opens the list of columns to sort by."""
    from tui.screens.chooser import Choice, Chooser

    sorting = main.timeline.sorting
    names = list(main.timeline.columns.names)
    choices = [Choice((("", f"sort by {name}"),), name, _describe(name, sorting)) for name in names]
    choices.append(Choice((("", "the order of time"),), ""))
    at = names.index(sorting.column) if sorting is not None and sorting.column in names else names.index("latency")
    main.open_dialog(
        Chooser(main.palette, "sort", choices, at), lambda name: sort_by(main, name) if name else clear_order(main)
    )


def _describe(name: str, sorting: RowSorting | None) -> str:
    if sorting is None or sorting.column != name:
        return "largest first" if name in FALLING else ""
    return "reverse"


def sort_by(main: MainScreen, name: str) -> None:
    """Sorts by a column; by the same column again: in reverse."""
    before = main.timeline.sorting
    is_same = before is not None and before.column == name
    descending = not before.descending if before is not None and is_same else name in FALLING
    _begin(main, RowSorting(name, descending))


def reverse_order(main: MainScreen) -> None:
    """Reverses the order of the list."""
    sorting = main.timeline.sorting
    if sorting is None:
        main.show_message("the list is in the order of time: press o to sort it", "bar-warning")
    else:
        sort_by(main, sorting.column)


def clear_order(main: MainScreen) -> None:
    """Shows the list in the order of time again."""
    main.timeline.sorting = None
    main.timeline.show_order(None)
    main.show_heads()
    main.show_message("the list is in the order of time")


def restore_order(main: MainScreen, key: str) -> None:
    """Sorts by a remembered key, such as `latency:desc`, and keeps the place."""
    column, _, direction = key.rpartition(":")
    _begin(main, RowSorting(column, direction == "desc"), again=True)


def sort_again(main: MainScreen) -> None:
    """Sorts again after other rows became visible."""
    if main.timeline.sorting is not None:
        _begin(main, main.timeline.sorting, again=True)


def _begin(main: MainScreen, sorting: RowSorting, *, again: bool = False) -> None:
    from analyzer.decode.rows import RowReader
    from analyzer.query.ordering import parse_sort_keys, sort_rows

    listed, session = main.timeline, main.session
    try:
        keys = parse_sort_keys(sorting.key)
    except UserError as error:
        main.show_message(str(error), "bar-warning")
        return
    listed.sorting = sorting
    visible, last = listed.timeline.visible_rows, listed.timeline.rows
    if not again:
        main.show_message(f"sorting by {sorting.column} ...")

    def take(order: Ints) -> None:
        timeline = listed.timeline
        if listed.sorting is not sorting or timeline.rows != last or len(order) != len(timeline.visible_rows):
            return  # sorted otherwise meanwhile, or again for other rows
        listed.show_order(order)
        if not again:
            listed.go_to_top()
            main.show_message(
                f"sorted by {sorting.column}{', largest first' if sorting.descending else ''}; v: streams"
            )
        main.show_heads()

    main.background.submit("sort", lambda: sort_rows(RowReader(session), visible, keys), take)
