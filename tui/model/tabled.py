"""A view that is a table: what stands behind its lines, sorted and narrowed as the user wants it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import overload

from tui.model.leads import Lead
from tui.model.table import Fit, Table
from tui.model.views import Heads, Item, Said, State


class Tabled(Said):
    """A table. keys: of its rows; lead: what such a row leads to. said: a line behind them."""

    def __init__(
        self,
        name: str,
        table: Table,
        keys: Sequence[Hashable],
        lead: Callable[[int], Lead | None],
        said: str = "",
    ) -> None:
        super().__init__(name, said)
        self.table, self.keys, self.lead = table, keys, lead
        self.sorts = True

    def head(self, width: int, state: State) -> Heads:
        """See View."""
        return self.table.head(self.table.fitted(width), state.order)

    def lines(self, width: int, state: State) -> Sequence[Item]:
        """See View."""
        rows, said = self.table.ordered(state.order), self.said
        if state.order.words:
            said = f"{len(rows):,} of {len(self.table):,} have {' '.join(state.order.words)}; / narrows, Esc shows all"
        fit = self.table.fitted(width)
        return Lines(self, fit, rows, [Item((("dim", said),))] if said else [])

    def place(self, key: Hashable, lines: Sequence[Item]) -> int | None:
        """See View."""
        if key is None or not isinstance(lines, Lines):
            return None
        return next((place for place, row in enumerate(lines.rows) if self.keys[row] == key), None)


class Lines(Sequence[Item]):
    """An item for each of the rows that are seen, made when it is asked for, and some behind them."""

    def __init__(self, view: Tabled, fit: Fit, rows: Sequence[int], behind: Sequence[Item]) -> None:
        self.view, self.rows, self.behind = view, rows, behind
        self._fit = fit

    def __len__(self) -> int:
        return len(self.rows) + len(self.behind)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> list[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | list[Item]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place >= len(self.rows):
            return self.behind[place - len(self.rows)]
        row, view = self.rows[place], self.view
        return Item(view.table.line(self._fit, row), view.lead(row), view.keys[row])
