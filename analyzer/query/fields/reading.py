"""Reads field paths of many rows: as columns if the index has the values, else value by value.

Theory. Comparing needs columns, printing needs the values of each row, and in both cases a message is decoded once. An
alias also has values from other messages: the name of an id, and for a response the values of its request. A name is
the first one that an id had, as in the summary line. In a stream of rows only names up to the row count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints, find_runs, rank_in_runs
from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.decode.content import read_messages
from analyzer.decode.masking import find_secret_spans
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.packets import list_packet_numbers
from analyzer.decode.request_fields import find_own_request_rows
from analyzer.decode.rows import RowReader
from analyzer.query.fields import keys
from analyzer.query.fields.bodies import BodyFieldReader
from analyzer.query.fields.dense import Dense, NumberColumn
from analyzer.query.fields.gathered import NO_VALUES, FieldValues, join_values, make_list, pick_values
from analyzer.query.fields.getting import ScopedNumber
from analyzer.query.fields.path import AliasedField, AliasField, BodyField, FieldPath, RowKey, SharedField, expand_field
from analyzer.query.fields.session_values import merge_session_values
from analyzer.query.fields.sessions import follow_sessions
from analyzer.query.response_errors import find_errors
from dissectors.api import Role
from dissectors.catalog import Alias, FieldAlias
from dissectors.wire.embedded import EmbeddedValue, holds_secret
from dissectors.wire.fast_path import NULL64
from dissectors.wire.secret import Secret

_BY_VALUE = keys.NEEDS_MESSAGE | keys.APART


class ReportedError(NamedTuple):
    """Holds an error that a message reports; it is compared by name or by number."""

    code: int
    name: str


class FieldOccurrences(NamedTuple):
    """Holds values of a field: `places` are indexes of the requested rows, ascending, one for each value."""

    places: Ints
    values: list[Any]


class FieldReader:
    """Reads some fields of the rows of a reader. Keeps what it decoded until forget().

    masked: masks secrets, for callers that show values. Callers that only compare values get messages unmasked.
    """

    def __init__(self, reader: RowReader, fields: Sequence[FieldPath], *, masked: bool = True) -> None:
        self.reader, self._masked = reader, masked
        each = (part for field in fields for part in expand_field(field))
        self._bodies = BodyFieldReader(reader, [field for field in each if not field.is_cheap])
        self._resolvers: dict[str, NameResolver] = {}

    def forget(self) -> None:
        """Drops all decoded values, so that the next call decodes again."""
        self._bodies.forget()

    def find_candidates(self, field: FieldPath, rows: Ints) -> Bools:
        """Returns which rows can have a value, by protocol, operation and role."""
        return self._bodies.find_candidates(field, rows)

    def read_columns(self, field: FieldPath, rows: Ints) -> Sequence[Dense] | None:
        """Reads a field as columns with a value for each row; None if its values must be read one by one."""
        name = _find_key(field)
        found = None if name is None or name in _BY_VALUE else keys.read_row_field(self.reader, name, rows)
        if found is None or isinstance(found, list):
            return None
        added = field.origin.alias.add if isinstance(field.origin, AliasField) else 0
        if not added:
            return found
        return [
            each._replace(numbers=each.numbers + added) if isinstance(each, NumberColumn) else each for each in found
        ]

    def read_occurrences(self, field: FieldPath, rows: Ints) -> FieldValues:
        """Returns the values of a field: of `rows[n]` with n ascending, without nulls and missing values.

        Returns an array if all values are integers. `rows` rise and have no duplicates.
        """
        if isinstance(field.origin, SharedField):
            return join_values([self.read_occurrences(each, rows) for each in field.origin.fields])
        places = np.flatnonzero(self._bodies.find_candidates(field, rows))
        mine = rows[places]
        name = _find_key(field)
        if name is None:
            found = self._read_body_field(field, mine)
        elif name in keys.OF_ERROR:
            found = self._read_errors(name, mine)
        elif name in keys.OF_BODY:
            found = self._bodies.read_field(field, mine)
        elif name == "bytes":
            found = self._read_messages(mine)
        elif name == "packets":
            found = FieldValues(*list_packet_numbers(self.reader.session, mine, streaming=self.reader.streaming))
        elif name == "comment":
            found = self._read_comments(mine)
        else:
            found = _split_columns(keys.read_row_field(self.reader, name, mine))
        if isinstance(field.origin, AliasField):
            found = _translate_values(field.origin.alias, found)
        return found if len(places) == len(rows) else FieldValues(places[found.rows], found.values)

    def read_values(self, field: FieldPath, rows: Ints) -> FieldOccurrences:
        """Returns all values as Python objects, for rows in any order."""
        if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
            by_row = self.read_by_row(field, rows)
            counts = np.fromiter(map(len, by_row), np.int64, len(by_row))
            return FieldOccurrences(
                np.repeat(np.arange(len(rows)), counts), [value for each in by_row for value in each]
            )
        found = self.read_occurrences(field, rows)
        return FieldOccurrences(found.rows, make_list(found.values))

    def read_by_row(self, field: FieldPath, rows: Ints) -> list[Sequence[Any]]:
        """Returns a list of the values of a field for each of `rows`, in any order."""
        each, back = np.unique(rows, return_inverse=True)
        found = self.read_occurrences(field, each)
        values: list[Any] = make_list(found.values)
        if len(found.rows) == len(each) and (found.rows == np.arange(len(each))).all():
            lists: list[Sequence[Any]] = [(value,) for value in values]
        else:
            lists = [()] * len(each)
            for begin, end in zip(*(edge.tolist() for edge in find_runs(found.rows)), strict=True):
                lists[int(found.rows[begin])] = values[begin:end]
        return [lists[place] for place in back.tolist()]

    def _read_messages(self, rows: Ints) -> FieldValues:
        """Returns the bytes of messages; a message with a secret is masked as a whole."""
        session = self.reader.session
        messages: list[Any] = list(read_messages(session, rows))
        if self._masked:
            for place, row in enumerate(rows.tolist()):
                body = decode_body(session, row)
                if holds_secret(body.values) or (body.findings and find_secret_spans(decode_tree(session, row))):
                    messages[place] = Secret(messages[place])
        return FieldValues(np.arange(len(rows)), messages)

    def _read_errors(self, name: str, rows: Ints) -> FieldValues:
        places, numbers, kinds = find_errors(self.reader.session, rows)
        error_values: list[Any] = [ReportedError(*kind) for kind in kinds]
        if name != "error":
            error_values = [kind[0] if name == "error.code" else kind[1] for kind in kinds]
        return FieldValues(places, [error_values[number] for number in numbers.tolist()])

    def _read_comments(self, rows: Ints) -> FieldValues:
        comments = self.reader.session.comments
        return FieldValues(*comments.read_rows(rows)) if comments.has_comments else NO_VALUES

    def _read_body_field(self, field: FieldPath, rows: Ints) -> FieldValues:
        origin = field.origin
        if isinstance(origin, BodyField) and not origin.path:
            return FieldValues(np.arange(len(rows)), [True] * len(rows))
        if isinstance(origin, AliasedField):
            return self._resolve_alias(field, origin.short, rows)
        return self._bodies.read_field(field, rows)

    def _resolve_alias(self, field: FieldPath, short: FieldAlias, rows: Ints) -> FieldValues:
        found = self._read_named(field, short, rows)
        if not short.inherited:
            return found
        lacking = self.reader.take_cells("role", rows) == Role.RESPONSE
        lacking[found.rows] = False
        places = np.flatnonzero(lacking)
        partners = self.reader.find_partner_rows(rows[places])
        known = partners != NULL64
        if not known.any():
            return found
        each, back = np.unique(partners[known], return_inverse=True)
        request_values = self._read_named(field, short, each)
        # Each row takes all values of its partner, the first of which is at `first`.
        first = np.searchsorted(request_values.rows, back)
        counts = np.searchsorted(request_values.rows, back, "right") - first
        taken = np.repeat(first, counts) + rank_in_runs(counts)
        return join_values(
            [found, FieldValues(np.repeat(places[known], counts), pick_values(request_values, taken).values)]
        )

    def _read_named(self, field: FieldPath, short: FieldAlias, rows: Ints) -> FieldValues:
        """Returns values of messages and of their sessions, without duplicates, with names in place of ids."""
        found = self._read_bare(field, short, rows)
        if short.session is None:
            return found
        session = self.reader.session
        reach = follow_sessions(session).find_reach(
            short.session, find_own_request_rows(session, rows), self._find_limit(rows)
        )
        if len(reach.lists) == 1:
            return found
        if short.kind is None:
            return merge_session_values(found, reach)
        resolver = self._learn_names(short.kind, rows)
        if self.reader.streaming:
            # The name of an id depends on the row.
            from_session = reach.list_values()
            from_session = FieldValues(
                from_session.rows,
                self._find_names(resolver, short.kind, make_list(from_session.values), rows[from_session.rows]),
            )
            return _drop_repeats(join_values([found, from_session]), short.nothing)
        at_all = np.zeros(0, np.int64)
        names = [self._find_names(resolver, short.kind, list(each), at_all) for each in reach.lists]
        return merge_session_values(found, reach._replace(lists=[tuple(dict.fromkeys(each)) for each in names]))

    def _read_bare(self, field: FieldPath, short: FieldAlias, rows: Ints) -> FieldValues:
        """Returns the same, but only values of the messages themselves."""
        found = self._bodies.read_field(field, rows)
        if not len(found.rows):
            return found
        values = make_list(found.values)
        if any(type(value) in (list, dict) for value in values):
            # An empty list is present, but has no value.
            found = pick_values(found, np.flatnonzero([type(value) not in (list, dict) for value in values]))
            values = make_list(found.values)
        if short.kind is not None:
            values = self._find_names(self._learn_names(short.kind, rows), short.kind, values, rows[found.rows])
        return _drop_repeats(FieldValues(found.rows, values), short.nothing)

    def _learn_names(self, kind: str, rows: Ints) -> NameResolver:
        resolver = self._resolvers.get(kind)
        if resolver is None:
            resolver = self._resolvers[kind] = NameResolver(self.reader.session, (kind,))
        resolver.learn(self._find_limit(rows))
        return resolver

    def _find_limit(self, rows: Ints) -> int:
        """Returns the row before which messages may give names or session state for these rows."""
        return int(rows.max(initial=-1)) + 1 if self.reader.streaming else len(self.reader.session.rows)

    def _find_names(self, resolver: NameResolver, kind: str, values: list[Any], rows: Ints) -> list[Any]:
        if any(type(value) is ScopedNumber for value in values):
            return [_name_value(resolver, kind, value, row) for value, row in zip(values, rows.tolist(), strict=True)]
        known = {value: resolver.find_first(kind, str(value)) for value in set(values)}
        if not self.reader.streaming:
            named = {value: value if each is None else each.name for value, each in known.items()}
            return [named[value] for value in values]
        return [
            value if (each := known[value]) is None or each.row > row else each.name
            for value, row in zip(values, rows.tolist(), strict=True)
        ]


def _find_key(field: FieldPath) -> str | None:
    """Returns the key of a row that a field stands for, or None."""
    origin = field.origin
    if isinstance(origin, RowKey):
        return origin.name
    return origin.alias.key if isinstance(origin, AliasField) else None


def _translate_values(alias: Alias, found: FieldValues) -> FieldValues:
    """Translates our values to those of another program."""
    if alias.made is not None:
        values = make_list(found.values)
        # Few values are different. A value that is not hashable is translated each time.
        try:
            known = {value: alias.made(value) for value in set(values)}
            made = list(map(known.__getitem__, values))
        except TypeError:
            made = [alias.made(value) for value in values]
        if None not in made:
            return FieldValues(found.rows, made)
        there = [place for place, value in enumerate(made) if value is not None]
        return FieldValues(found.rows[there], [made[place] for place in there])
    if not alias.add:
        return found
    if not isinstance(found.values, list):
        return FieldValues(found.rows, found.values + alias.add)
    return FieldValues(found.rows, [value + alias.add if type(value) is int else value for value in found.values])


def _name_value(resolver: NameResolver, kind: str, value: Any, row: int) -> Any:
    """Returns the name of a number at a row, empty if it has none; other values as they are."""
    if type(value) is not ScopedNumber:
        return value
    known = resolver.find(kind, str(value.number), row, value.scope)
    return "" if known is None else known.name


def _drop_repeats(found: FieldValues, nothing: Collection[Any]) -> FieldValues:
    """Removes duplicates in a row, and values that stand for no name."""
    seen = {
        (place, _make_distinct(value)): value for place, value in zip(found.rows.tolist(), found.values, strict=True)
    }
    others = [(place, value) for (place, alone), value in seen.items() if alone != "" and alone not in nothing]
    if len(others) == len(found.values):
        return found
    return FieldValues(np.array([place for place, _ in others], np.int64), [value for _, value in others])


def _make_distinct(value: Any) -> Any:
    """Returns what identifies a value: for a structure in bytes, the bytes."""
    return value.data if isinstance(value, EmbeddedValue) else value


def _split_columns(columns: Sequence[Dense] | list[Any]) -> FieldValues:
    """Returns the values of each row from columns with all values, or from a list with one value for each row."""
    cells = [columns] if isinstance(columns, list) else [column.list_values() for column in columns]
    found = [(place, value) for place, row in enumerate(zip(*cells, strict=True)) for value in row if value is not None]
    return FieldValues(np.array([place for place, _ in found], np.int64), [value for _, value in found])
