"""Columns of row values, as Python objects for programs and as cells of text for printing.

Theory. The index has a column of numbers for each key of a row, and some numbers represent texts. values() converts a
column to Python objects. cells() converts it to bytes in columns (analyzer.columns.cells) without an object for any
row. tests/analyzer/columns/test_values.py compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from analyzer.columns import cells
from analyzer.columns.arrays import Array, Bools, Ints, list_distinct
from analyzer.columns.cells import Cells
from dissectors.slotted import field, make_slotted

Values = list[Any]


@make_slotted
class CellStyle:
    """Describes how an output format writes a cell.

    `text` escapes a text, and adds quotes if the format uses them; `quote` goes around texts that need no escape.
    """

    name: str
    null: bytes
    text: Callable[[str], bytes]
    quote: bytes = b""


class CellColumn(Protocol):
    """Holds the values of one key for n rows."""

    def values(self) -> Values:
        """Returns n Python values, None for null."""

    def cells(self, style: CellStyle) -> Cells:
        """Returns the values as n cells of text. Raises TooWide."""


MOST_TEXTS = 1 << 18
"""Maximum number of texts that a TextTable caches; beyond it, all are dropped and the current ones made again."""


class TextTable:
    """Makes the text of each small number when it is first needed.

    It caches the text as str and as a cell of each style.
    """

    def __init__(self, text: Callable[[int], str | None]) -> None:
        self._text = text
        self._places = np.empty(0, np.int32)
        self._table: npt.NDArray[np.object_] = np.empty(0, object)
        self._count = 0
        self._cells: dict[str, tuple[Cells, Bools]] = {}

    def values(self, numbers: Ints) -> Values:
        """Returns the texts of many numbers."""
        places = self._find_places(numbers)
        values: Values = self._table[places].tolist()
        return values

    def value(self, number: int) -> str | None:
        """Returns the text of one number."""
        return self._text(number)

    def cells(self, numbers: Ints, style: CellStyle) -> Cells:
        """Returns the texts of many numbers as cells."""
        places = self._find_places(numbers)
        found, made = self._cells.get(style.name, (np.zeros((0, 0), np.uint8), np.zeros(0, bool)))
        if len(made) < len(self._table) or not made[places].all():
            found, made = self._cells[style.name] = self._write_cells(found, made, places, style)
        return found[places]

    def _find_places(self, numbers: Ints) -> Array:
        """Returns the positions of texts in the table, and makes the missing ones."""
        missing = int(numbers.max(initial=-1)) + 1 - len(self._places)
        if missing > 0:
            self._places = np.concatenate((self._places, np.full(missing + len(self._places), -1, np.int32)))
        places: Array = self._places[numbers]
        if (places < 0).any():
            self._make(numbers, list_distinct(numbers[places < 0]))
            places = self._places[numbers]
        return places

    def _make(self, numbers: Ints, new: Ints) -> None:
        if self._count and self._count + len(new) > MOST_TEXTS:
            self._places[:] = -1
            self._table, self._count, self._cells = np.empty(0, object), 0, {}
            new = list_distinct(numbers)
        end = self._count + len(new)
        if end > len(self._table):
            self._table = np.concatenate((self._table, np.empty(end, object)))
        for place, number in enumerate(new.tolist(), self._count):
            self._table[place] = self._text(number)
        self._places[new] = np.arange(self._count, end)
        self._count = end

    def _write_cells(self, found: Cells, made: Bools, places: Array, style: CellStyle) -> tuple[Cells, Bools]:
        """Returns the cells of a style, including those of `places`."""
        made = np.concatenate((made, np.zeros(len(self._table) - len(made), bool)))
        new = list_distinct(places[~made[places]])
        texts = [style.null if text is None else style.text(text) for text in self._table[new].tolist()]
        more = cells.make_cells(texts)
        wider = np.zeros((len(made), max(found.shape[1], more.shape[1])), np.uint8)
        wider[: len(found), : found.shape[1]] = found
        wider[new, : more.shape[1]] = more
        made[new] = True
        return wider, made


def make_text_table(texts: Sequence[str]) -> TextTable:
    """Returns a table of texts known in advance, such as roles and states."""
    return TextTable(lambda number: texts[number])


@make_slotted
class TextColumn:
    """Holds one of few texts for each row."""

    texts: TextTable
    numbers: Ints

    def values(self) -> Values:
        """Returns the text of each row."""
        return self.texts.values(self.numbers)

    def cells(self, style: CellStyle) -> Cells:
        """Returns the text of each row as a cell. Raises TooWide."""
        return self.texts.cells(self.numbers, style)


@make_slotted
class IntegerColumn:
    """Holds a number, or null, for each row."""

    numbers: Array
    null: Bools | None = None

    def values(self) -> Values:
        """Returns the number of each row, None for null."""
        numbers = self.numbers
        if self.null is not None and self.null.any():
            numbers = numbers.astype(object)
            numbers[self.null] = None
        values: Values = numbers.tolist()
        return values

    def cells(self, style: CellStyle) -> Cells:
        """Returns the number of each row in decimal."""
        if self.null is None:
            return cells.format_integers(self.numbers)
        written = cells.format_integers(np.where(self.null, 0, self.numbers))
        return cells.replace_nulls(written, self.null, style.null)


@make_slotted
class FlagColumn:
    """Holds a truth value for each row."""

    flags: Bools

    def values(self) -> Values:
        """Returns a bool for each row."""
        values: Values = self.flags.tolist()
        return values

    def cells(self, style: CellStyle) -> Cells:
        """Returns `true` or `false` for each row."""
        return cells.make_cells([b"false", b"true"])[self.flags.astype(np.int8)]


@make_slotted
class TimeColumn:
    """Holds a time (ns since 1970) for each row, printed as ISO 8601."""

    times: Ints

    def values(self) -> Values:
        """Returns the ISO 8601 text of each row."""
        text = cells.flatten_cells(cells.format_times(self.times)).decode("ascii")
        return [text[at : at + cells.ISO_WIDTH] for at in range(0, len(text), cells.ISO_WIDTH)]

    def cells(self, style: CellStyle) -> Cells:
        """Returns the ISO 8601 text of each row as a cell."""
        return cells.join_cells([style.quote, cells.format_times(self.times), style.quote], len(self.times))


_EPOCH = datetime(1970, 1, 1)

PLAIN = CellStyle("plain", b"", str.encode)


@make_slotted
class ConcatenatedColumn:
    """Concatenates several columns to one text for each row, or null; the texts must need no escape."""

    parts: Sequence[CellColumn]
    null: Bools = field(default_factory=lambda: np.zeros(0, bool))

    def values(self) -> Values:
        """Returns the concatenated text of each row, None for null."""
        columns = [list(map(str, part.values())) for part in self.parts]
        texts: Values = ["".join(row) for row in zip(*columns, strict=True)]
        for place in np.flatnonzero(self.null).tolist():
            texts[place] = None
        return texts

    def cells(self, style: CellStyle) -> Cells:
        """Returns the concatenated text of each row as a cell. Raises TooWide."""
        parts = [part.cells(PLAIN) for part in self.parts]
        written = cells.join_cells([style.quote, *parts, style.quote], len(parts[0]))
        return cells.replace_nulls(written, self.null, style.null) if len(self.null) else written


@make_slotted
class ScopedColumn:
    """Holds a number, null, or a text for each row. The text is the name of a scope and a number that counts in it."""

    scope: TextColumn
    scoped: Bools
    signed: IntegerColumn
    unsigned: IntegerColumn

    def values(self) -> Values:
        """Returns an int, a str or None for each row."""
        values = self.signed.values()
        rows = np.flatnonzero(self.scoped)
        scopes = self.scope.texts.values(self.scope.numbers[rows])
        for place, scope, number in zip(rows.tolist(), scopes, self.unsigned.numbers[rows].tolist(), strict=True):
            values[place] = f"{scope}{number}"
        return values

    def cells(self, style: CellStyle) -> Cells:
        """Returns the text of each row as a cell. Raises TooWide."""
        plain = self.signed.cells(style)
        if not self.scoped.any():
            return plain
        rows = np.flatnonzero(self.scoped)
        scope = self.scope.texts.cells(self.scope.numbers[rows], PLAIN)
        numbers = cells.format_integers(self.unsigned.numbers[rows])
        texts = cells.join_cells([style.quote, scope, numbers, style.quote], len(rows))
        whole = np.zeros((len(plain), max(plain.shape[1], texts.shape[1])), np.uint8)
        whole[:, : plain.shape[1]] = plain
        whole[rows] = 0
        whole[rows, : texts.shape[1]] = texts
        return whole


def format_iso_time(time: int) -> str:
    """Formats a time (ns since 1970) as `2026-11-21T10:00:00.123456789Z`."""
    seconds, rest = divmod(time, 10**9)
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()}.{rest:09d}Z"
