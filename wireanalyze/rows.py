"""Rows of statistics and reports: dictionaries with the same keys, which notebooks show as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas
    import polars
    from rich.table import Table

Row = Mapping[str, Any]

SHOWN = 50
"""Rows that a display has."""

LONGEST = 120
"""Characters of a cell in a display."""


class Rows(Sequence[Row]):
    """A list of dictionaries. `keys` are the columns.

    >>> rows = Rows([{"operation": "Fetch", "messages": 2}])
    >>> rows[0]["messages"]
    2
    >>> rows.column("operation")
    ['Fetch']
    """

    __slots__ = ("_rows", "keys")

    def __init__(self, rows: Iterable[Row], keys: Sequence[str] | None = None) -> None:
        self._rows = list(rows)
        self.keys: tuple[str, ...] = tuple(keys if keys is not None else self._rows[0] if self._rows else ())

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Rows: ...

    def __getitem__(self, place: int | slice) -> Row | Rows:
        return Rows(self._rows[place], self.keys) if isinstance(place, slice) else self._rows[place]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Rows({len(self)} rows of {', '.join(self.keys)})"

    def column(self, key: str) -> list[Any]:
        """Returns the values of one key, None where a row lacks it."""
        return [row.get(key) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas DataFrame. Raises MissingExtra."""
        from wireanalyze.errors import require_extra

        require_extra("pandas", "A pandas DataFrame")
        import pandas

        return pandas.DataFrame({key: self.column(key) for key in self.keys})

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars DataFrame. Raises MissingExtra."""
        from wireanalyze.errors import require_extra

        require_extra("polars", "A polars DataFrame")
        import polars

        return polars.DataFrame({key: self.column(key) for key in self.keys}, strict=False)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(key)}</th>" for key in self.keys)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_format_cell(row.get(key)))}</td>' for key in self.keys)}</tr>"
            for row in self._rows[:SHOWN]
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{_count_left(len(self))}"

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(*self.keys, caption=_count_left(len(self)) or None)
        for row in self._rows[:SHOWN]:
            table.add_row(*(Text(_format_cell(row.get(key))) for key in self.keys))
        return table


def _format_cell(value: Any) -> str:
    from analyzer.columns.text import safe_text

    return "" if value is None else safe_text(str(value), LONGEST)


def _count_left(count: int) -> str:
    return f"and {count - SHOWN:,} more rows" if count > SHOWN else ""
