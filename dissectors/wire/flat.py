"""Long lists of small alike things, as record batches have them.

Theory. To make a dict of each item and to format each of its values as JSON would cost more than reading them. So the
items come in two forms with rows of the same keys. FlatRows is an ordinary list. A Table keeps the bytes and the places
of all values, as columns. Its rows are the same dicts, made on demand; a writer that handles columns makes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias, overload

from dissectors.slotted import make_slotted

Row: TypeAlias = dict[str, Any]


class FlatRows(list[Row]):
    """A list of dicts with the same keys in the same order; a column holds few types: int, bytes, None, list."""

    __slots__ = ()


class Ints(Protocol):
    """Integers in a row, of which a slice is another; what an array gives and this module needs, without NumPy."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, places: slice, /) -> Ints:
        """Some of them."""

    def tolist(self) -> list[int]:
        """Returns the column as a list of integers."""


class IntegerColumn(NamedTuple):
    """A column of 64-bit integers."""

    name: str
    values: Ints


class Slices(NamedTuple):
    """A column of bytes, or of `text` that is known to be UTF-8: offsets in the data, and lengths; -1 is null."""

    name: str
    at: Ints
    length: Ints
    text: bool = False


class NestedColumn(NamedTuple):
    """A column of lists: those of row n are `rows` from ends[n] up to ends[n + 1]."""

    name: str
    ends: Ints
    rows: FlatColumns


@make_slotted(eq=False)
class FlatColumns:
    """Columns of `rows` rows over the same bytes. longest: as many items has the longest list within a row."""

    data: bytes
    columns: tuple[IntegerColumn | Slices | NestedColumn, ...]
    rows: int
    longest: int = 0


class RowTable(Sequence[Row]):
    """The rows of `columns` from `start` up to `stop`, as a list of dicts to whoever looks; pickled as one."""

    __slots__ = ("columns", "start", "stop")
    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __init__(self, columns: FlatColumns, start: int, stop: int) -> None:
        self.columns = columns
        self.start = start
        self.stop = stop

    def __len__(self) -> int:
        return self.stop - self.start

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return self.rows()[place]
        at = range(self.start, self.stop)[place]
        return _rows(self.columns, at, at + 1)[0]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __eq__(self, other: object) -> bool:
        return self.rows() == list(other) if isinstance(other, list | RowTable) else NotImplemented

    def __repr__(self) -> str:
        return repr(self.rows())

    def __reduce__(self) -> tuple[type[FlatRows], tuple[list[Row]]]:
        return FlatRows, (self.rows(),)

    def rows(self) -> list[Row]:
        """Returns the rows as dictionaries, made anew each time."""
        return _rows(self.columns, self.start, self.stop)


def _rows(columns: FlatColumns, start: int, stop: int) -> list[Row]:
    names = [column.name for column in columns.columns]
    cells = [_cells(columns.data, column, start, stop) for column in columns.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _cells(data: bytes, column: IntegerColumn | Slices | NestedColumn, start: int, stop: int) -> Iterable[Any]:
    if isinstance(column, IntegerColumn):
        return column.values[start:stop].tolist()
    if isinstance(column, NestedColumn):
        ends = column.ends[start : stop + 1].tolist()
        inner = iter(_rows(column.rows, ends[0], ends[-1]))
        return [list(islice(inner, end - begin)) for begin, end in pairwise(ends)]
    at, length = column.at[start:stop].tolist(), column.length[start:stop].tolist()
    found = [None if size < 0 else data[begin : begin + size] for begin, size in zip(at, length, strict=True)]
    return [None if item is None else item.decode() for item in found] if column.text else found
