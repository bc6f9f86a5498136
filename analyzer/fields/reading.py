"""Reading field paths of many rows: as columns where the index tells, else value by value.

Theory. Whoever compares wants columns, whoever prints wants the values of each row, and both want a message decoded
once. A short also knows what others told: the name behind an id, and of an answer what its request asked. Names are the
first that an id had, as in the line for people; a stream of rows knows only what was told up to the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns import Bools, Ints
from analyzer.fields import keys
from analyzer.fields.bodies import Bodies
from analyzer.fields.dense import Chosen, Dense, Numbers
from analyzer.fields.path import AliasField, BodyField, FieldPath, Key, ShortField
from analyzer.lore import Lore
from analyzer.rows import Rows
from dissectors.api import Role
from dissectors.catalog import Alias, Short
from dissectors.wire.bulk import NULL64

_BY_VALUE = keys.NEEDS_MESSAGE | keys.APART


class Occurrences(NamedTuple):
    """Values of a field: `places` are indexes of the rows that were asked for, rising, one for each value."""

    places: Ints
    values: list[Any]


class Reading:
    """Reads some fields of the rows of a reader. Keeps what it decoded until forget()."""

    def __init__(self, reader: Rows, fields: Sequence[FieldPath]) -> None:
        self.reader = reader
        self._bodies = Bodies(reader, [field for field in fields if not field.is_cheap])
        self._lore: dict[str, Lore] = {}

    def forget(self) -> None:
        """Lets go of what was decoded."""
        self._bodies.forget()

    def may_have(self, field: FieldPath, rows: Ints) -> Bools:
        """Which rows can have a value, as far as protocol, operation and role tell."""
        return self._bodies.may_have(field, rows)

    def columns(self, field: FieldPath, rows: Ints) -> Sequence[Dense] | None:
        """A field as columns, of which each row has the values; None for one that must be read value by value."""
        name = _key(field)
        found = None if name is None or name in _BY_VALUE else keys.read(self.reader, name, rows)
        if found is None or isinstance(found, list):
            return None
        return [_added(column, field) for column in found] if _adds(field) else found

    def by_row(self, field: FieldPath, rows: Ints) -> list[Sequence[Any]]:
        """The values of a field in each of `rows`; nulls and what is missing left out."""
        name = _key(field)
        if name is None and isinstance(field.origin, BodyField) and not field.origin.path:
            return [(True,) if there else () for there in self._bodies.may_have(field, rows).tolist()]
        found: list[Sequence[Any]] = [()] * len(rows)
        places = np.flatnonzero(self._bodies.may_have(field, rows))
        mine = rows[places]
        if name is None:
            values = self._of_bodies(field, mine)
        elif name == "bytes":
            values = [(message,) for message in self.reader.session.messages(mine)]
        elif name == "comment":
            values = self._comments(mine)
        elif name in keys.NEEDS_MESSAGE:
            values = self._bodies.values(field, mine)
        else:
            values = _rowwise(keys.read(self.reader, name, mine))
        for place, each in zip(places.tolist(), values, strict=True):
            found[place] = each
        return [_made(field.origin.alias, each) for each in found] if isinstance(field.origin, AliasField) else found

    def of(self, field: FieldPath, rows: Ints) -> Occurrences:
        """The same as one list with the place of each value."""
        found = self.by_row(field, rows)
        counts = np.fromiter(map(len, found), np.int64, len(found))
        return Occurrences(np.repeat(np.arange(len(rows)), counts), [value for each in found for value in each])

    def _comments(self, rows: Ints) -> list[Sequence[Any]]:
        found: list[Sequence[Any]] = [()] * len(rows)
        comments = self.reader.session.comments
        if comments.any:
            places, texts = comments.of_rows(rows)
            for place, text in zip(places.tolist(), texts, strict=True):
                found[place] = (*found[place], text)
        return found

    def _of_bodies(self, field: FieldPath, rows: Ints) -> list[Sequence[Any]]:
        if isinstance(field.origin, ShortField):
            return self._of_short(field, field.origin.short, rows)
        return self._bodies.values(field, rows)

    def _of_short(self, field: FieldPath, short: Short, rows: Ints) -> list[Sequence[Any]]:
        found = self._named(field, short, rows)
        if not short.inherited:
            return found
        lacking = np.array([not each for each in found], bool)
        lacking &= self.reader.take("role", rows) == Role.RESPONSE
        partners = self.reader.partner_rows(rows[lacking])
        known = partners != NULL64
        for place, values in zip(
            np.flatnonzero(lacking)[known].tolist(), self._named(field, short, partners[known]), strict=True
        ):
            found[place] = values
        return found

    def _named(self, field: FieldPath, short: Short, rows: Ints) -> list[Sequence[Any]]:
        """What messages say themselves, each thing once, with names in the place of ids."""
        found = self._bodies.values(field, rows)
        lore = self._learned(short.kind, rows) if short.kind is not None and any(found) else None
        if lore is None or short.kind is None:
            return [_once(values) for values in found]
        return [
            _once([self._name(lore, short.kind, value, row) for value in values]) if values else values
            for row, values in zip(rows.tolist(), found, strict=True)
        ]

    def _learned(self, kind: str, rows: Ints) -> Lore:
        lore = self._lore.get(kind)
        if lore is None:
            lore = self._lore[kind] = Lore(self.reader.session, (kind,))
        lore.learn(int(rows.max(initial=-1)) + 1 if self.reader.streaming else len(self.reader.session.rows))
        return lore

    def _name(self, lore: Lore, kind: str, value: Any, row: int) -> Any:
        known = lore.first(kind, str(value))
        return value if known is None or (self.reader.streaming and known.row > row) else known.name


def _key(field: FieldPath) -> str | None:
    """The key of a row that is meant."""
    origin = field.origin
    if isinstance(origin, Key):
        return origin.name
    return origin.alias.key if isinstance(origin, AliasField) else None


def _adds(field: FieldPath) -> int:
    """What another program counts more than we do."""
    return field.origin.alias.add if isinstance(field.origin, AliasField) else 0


def _added(column: Dense, field: FieldPath) -> Dense:
    return column._replace(numbers=column.numbers + _adds(field)) if isinstance(column, Numbers) else column


def _made(alias: Alias, values: Sequence[Any]) -> Sequence[Any]:
    """What another program makes of our values."""
    if alias.made is not None:
        return [made for value in values if (made := alias.made(value)) is not None]
    return [value + alias.add if type(value) is int else value for value in values] if alias.add else values


def _once(values: Sequence[Any]) -> Sequence[Any]:
    """Each thing once, and what has no name not at all."""
    return values if not values else [value for value in dict.fromkeys(values) if value != ""]


def _rowwise(columns: Sequence[Dense] | list[Any]) -> list[Sequence[Any]]:
    if isinstance(columns, list):
        return [() if value is None else (value,) for value in columns]
    cells = [_cells(column) for column in columns]
    if len(cells) == 1:
        return [() if value is None else (value,) for value in cells[0]]
    return [[value for value in row if value is not None] for row in zip(*cells, strict=True)]


def _cells(column: Dense) -> list[Any]:
    if isinstance(column, Chosen):
        return column.values()
    numbers: list[Any] = column.numbers.tolist()
    if column.null is None:
        return numbers
    return [None if null else number for number, null in zip(numbers, column.null.tolist(), strict=True)]
