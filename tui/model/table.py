"""Tables that can be sorted by any column, narrowed by words, and fitted into any width.

Theory. A table keeps values, and makes texts only for the lines on the screen. The width of a column must be known
before; it is that of its widest text. If the columns do not fit, first long names are shortened, then the least
important columns are left out. The room at the right is filled with bars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len, set_cell_size

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.render.lines import Line
from tui.model.drawing import draw_bar

LONGEST_NAME, SHORT_NAME, SHORTEST_NAME = 100, 32, 8
"""The cells of a name: with enough room, before columns are left out, and at last."""

GAP = 2
LEAST_BAR, MOST_BAR = 10, 40
"""The least and the most cells of bars."""

DOWN, UP = "▼", "▲"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column.

    values: one for each row, None for none. is_name: aligned to the left and shortened if needed. rank: columns of a
    higher rank are left out first; those of rank 0 stay.
    """

    title: str
    values: Sequence[Any]
    show: Callable[[Any], str]
    is_name: bool = False
    rank: int = 0
    style: str = "value"

    def format_cell(self, row: int) -> str:
        """Returns the text of a cell."""
        value = self.values[row]
        return "" if value is None else safe_text(self.show(value), LONGEST_NAME)


@dataclass(slots=True)
class TableOrder:
    """The user's view of a table.

    by: the title of the column that it is sorted by, None: as it was made. words: must all occur in the names of a row.
    """

    by: str | None = None
    is_reversed: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFit:
    """The columns that fit, their widths, and the width of bars."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]
    bar: int


@dataclass(slots=True)
class SortableTable:
    """Columns of equal lengths with different titles.

    bars: for each row, the value of its bar.
    """

    columns: Sequence[TableColumn]
    bars: Sequence[float] | None = None
    _natural: list[int] = field(init=False)
    _most: float = field(init=False)
    _searched: list[str] = field(init=False)

    def __post_init__(self) -> None:
        names = {
            column.title: [column.format_cell(row) for row in range(len(self))]
            for column in self.columns
            if column.is_name
        }
        self._natural = [_measure_column(column, names.get(column.title)) for column in self.columns]
        self._most = max(self.bars or (), default=0)
        self._searched = [" ".join(each).lower() for each in zip(*names.values(), strict=True)]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def sort_rows(self, order: TableOrder) -> Sequence[int]:
        """Returns the visible rows in their order: names ascend, numbers descend, missing values come last."""
        rows: Sequence[int] = range(len(self))
        if order.words:
            searched = self._searched
            rows = [row for row in rows if all(word in searched[row] for word in order.words)]
        column = next((column for column in self.columns if column.title == order.by), None)
        if column is None:
            return rows[::-1] if order.is_reversed else rows
        there = [row for row in rows if column.values[row] is not None]
        there.sort(key=column.values.__getitem__, reverse=column.is_name is order.is_reversed)
        return there + [row for row in rows if column.values[row] is None]

    def fit(self, width: int) -> TableFit:
        """Returns what fits into `width` cells."""
        visible, widths = list(range(len(self.columns))), list(self._natural)
        self._shorten(visible, widths, width, SHORT_NAME)
        visible = self._choose_columns(visible, widths, width)
        self._shorten(visible, widths, width, SHORTEST_NAME)
        left = width - _count_cells(visible, widths) - GAP
        bar_width = min(left, MOST_BAR) if self.bars is not None and left >= LEAST_BAR else 0
        return TableFit(tuple(visible), tuple(widths[place] for place in visible), bar_width)

    def _shorten(self, visible: Sequence[int], widths: list[int], width: int, least: int) -> None:
        """Shortens names, the widest first."""
        names = [place for place in visible if self.columns[place].is_name]
        for _ in range(_count_cells(visible, widths) - width):
            widest = max(names, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= least:
                return
            widths[widest] -= 1

    def _choose_columns(self, there: Sequence[int], widths: Sequence[int], width: int) -> list[int]:
        """Returns the columns that stay: those of rank 0, then of each rank that fits as a whole."""
        visible = [place for place in there if not self.columns[place].rank]
        for rank in sorted({self.columns[place].rank for place in there} - {0}):
            more = sorted([*visible, *(place for place in there if self.columns[place].rank == rank)])
            if _count_cells(more, widths) <= width:
                visible = more
        return visible

    def make_head(self, fit: TableFit, order: TableOrder) -> list[tuple[str, str]]:
        """Returns the titles with padding, and each title alone; a sign is behind that which sorts."""
        found = []
        for at, (place, width) in enumerate(zip(fit.columns, fit.widths, strict=True), 1):
            column = self.columns[place]
            gap = " " * (GAP - 1) if at < len(fit.columns) else ""
            sign = (DOWN if column.is_name is order.is_reversed else UP) if column.title == order.by else " "
            found.append((_pad(column.title, width, left=column.is_name) + sign + gap, column.title))
        return found

    def make_line(self, fit: TableFit, row: int) -> Line:
        """Formats the cells of a row as styled text, fitted into the widths of the columns."""
        spans: list[tuple[str, str]] = []
        for place, width in zip(fit.columns, fit.widths, strict=True):
            column = self.columns[place]
            text = _pad(column.format_cell(row), width, left=column.is_name)
            spans.append((column.style, f"{' ' * GAP if spans else ''}{text}"))
        if fit.bar and self.bars is not None:
            spans.append(("name", " " * GAP + draw_bar(self.bars[row], self._most, fit.bar)))
        return tuple(spans)


def _measure_column(column: TableColumn, names: Sequence[str] | None) -> int:
    """Returns the cells of the widest text; each different value is formatted once."""
    texts = {column.show(value) for value in {*column.values} - {None}} if names is None else {*names}
    return max(map(cell_len, {column.title, *texts}))


def _count_cells(visible: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] for place in visible) + GAP * (len(visible) - 1)


def _pad(text: str, width: int, *, left: bool) -> str:
    """Pads or shortens a text to exactly `width` cells."""
    cells = cell_len(text)
    if cells > width:
        # Names that begin alike differ at their end, and the other way round.
        end = width // 2
        return set_cell_size(text, width - 1 - end) + ELLIPSIS + set_cell_size(text[::-1], end)[::-1]
    blank = " " * (width - cells)
    return text + blank if left else blank + text
