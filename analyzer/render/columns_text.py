"""Formats lines of cells for people: each column as wide as its widest cell, numbers to the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.render.amounts import format_counted

GAP = 2

_TOGETHER = 4096
"""Number of rows that are padded at a time."""


def align_rows(rows: Sequence[Sequence[str]], left: frozenset[int] = frozenset({0})) -> Iterator[str]:
    """Yields a line for each row. Columns in `left` are left-aligned. Escapes the cells."""
    columns = list(map(_escape_column, zip(*rows, strict=True)))
    widths = [max(map(len, column)) for column in columns]
    for begin in range(0, len(rows), _TOGETHER):
        padded = [
            [cell.ljust(width) if place in left else cell.rjust(width) for cell in column[begin : begin + _TOGETHER]]
            for place, (column, width) in enumerate(zip(columns, widths, strict=True))
        ]
        for row in zip(*padded, strict=True):
            yield (" " * GAP).join(row).rstrip()


def _escape_column(cells: Sequence[str]) -> Sequence[str]:
    """Returns the cells of a column, escaped; most columns need no escapes."""
    text = "".join(cells)
    safe = text.isprintable() and text.replace(ELLIPSIS, "").isascii()
    return cells if safe else [safe_text(cell) for cell in cells]


def format_columns(
    rows: Sequence[Sequence[str]],
    left: frozenset[int],
    width: int | None,
    least: Mapping[int, int],
    dropped: Sequence[int],
    lists: frozenset[int] = frozenset(),
) -> Iterator[str]:
    """Formats lines of at most `width` cells. If columns are left out, the last line says how many.

    width: None for no limit. least, dropped, lists: see analyzer.render.fitting.fit_columns().
    """
    if width is None:
        yield from align_rows(rows, left)
        return
    from analyzer.render.fitting import align_cells, fit_columns  # not needed for pipes

    safe = [[safe_text(cell) for cell in row] for row in rows]
    cells, shown = fit_columns(safe, width, least, dropped, lists)
    beginning = frozenset(place for place, column in enumerate(shown) if column in left)
    yield from align_cells(cells, beginning)
    if len(shown) < len(rows[0]):
        yield f"{format_counted(len(rows[0]) - len(shown), 'more column')}: -w shows all columns"
