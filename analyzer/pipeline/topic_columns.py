"""What messages are about, as columns: topics, groups of consumers, paths of nodes.

Theory. What people ask of any message of a protocol (`kafka.topic`, analyzer.query.fields) is asked here of all
messages: it is walked to in many of them at once, and only what is unusual is decoded. Half of all messages say nothing
themselves, but the other half of their exchange does. Few different lists occur, so a row keeps the number of what it
is about, four bytes, and each of these is kept once.

Topics that have only an id stay ids here: who told their names may be read somewhere else (topic_names.py, finish.py).
What a connection has counted for itself, producers and consumers, is resolved, for that is told within the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints, find_runs, make_group_keys, merge_rows
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.request_fields import find_own_request_rows
from analyzer.decode.rows import RowReader
from analyzer.query.fields import FieldPath, find_field
from analyzer.query.fields.bodies import BodyFieldReader
from analyzer.query.fields.gathered import FieldValues, make_list
from analyzer.query.fields.getting import ScopedNumber
from analyzer.query.fields.path import AliasedField
from analyzer.query.fields.sessions import follow_sessions
from analyzer.session import Analysis
from dissectors.wire.fast_path import NULL

ALIASES: Mapping[str, Collection[str]] = {
    "topics": ("topic",),
    "groups": ("group", "subscription"),
    "paths": ("path",),
}
"""The columns, and how protocols call what stands in them; a protocol has one of these names or none."""

MOST_NAMES = 1000
"""Things that one message is about, beyond which the others are not told."""

WINDOW = 1 << 16
"""Rows that are read together."""

MOST_CACHED = 32 << 20
"""Bytes of what is kept, beyond which it is read anew when it is asked for again."""

EACH = 256
"""Bytes that a list takes besides the characters in it."""

_UNREAD = -1
_NOTHING: tuple[str, ...] = ()

NamedLists = dict[str, pa.Array]
"""By column: for each row a list of texts, an empty one where there are none."""


class TopicColumns:
    """Reads what rows of an analysis are about, which was read to its end.

    requests: rows that will be asked for, rising; of these as many are read ahead as make a window.
    """

    def __init__(self, session: Analysis, requests: Ints) -> None:
        self._session, self._requests, self._reader = session, requests, RowReader(session)
        self._fields = {column: list(_list_alias_fields(session, names)) for column, names in ALIASES.items()}
        self._bodies = BodyFieldReader(self._reader, [field for fields in self._fields.values() for field in fields])
        self._resolver: NameResolver | None = None
        self._clear()

    def _clear(self) -> None:
        self._of_row = np.full(len(self._session.rows), _UNREAD, np.int32)
        self._pools = {column: _ListPool() for column in ALIASES}
        self._kinds: dict[tuple[int, ...], int] = {}

    def columns(self, rows: Ints) -> NamedLists:
        """Returns the topics, groups and paths of rows (n, in any order).

        A row that names none has those of its partner.

        Each name is there once, in the order of the message, at most MOST.
        """
        partner = self._session.rows.column("partner")[rows].astype(np.int64)
        paired = partner != NULL
        partner = np.where(paired, partner, rows)
        self._read_rows(np.concatenate((rows, partner[paired])))
        kinds = np.array(list(self._kinds), np.int64).reshape(-1, len(ALIASES))
        own, others = kinds[self._of_row[rows]], kinds[self._of_row[partner]]
        found = np.where(own == 0, others, own)
        lists = {column: self._pools[column].build_lists(found[:, place]) for place, column in enumerate(ALIASES)}
        if sum(pool.size for pool in self._pools.values()) > MOST_CACHED:
            self._clear()
        return lists

    def _read_rows(self, rows: Ints) -> None:
        missing = rows[self._of_row[rows] == _UNREAD]
        if not len(missing):
            return
        place = int(np.searchsorted(self._requests, missing.min()))
        ahead = self._requests[place : place + WINDOW]
        missing = merge_rows(len(self._of_row), missing, ahead[self._of_row[ahead] == _UNREAD])
        numbers = np.zeros((len(ALIASES), len(missing)), np.int64)
        for place, column in enumerate(ALIASES):
            for field in self._fields[column]:
                able = np.flatnonzero(self._bodies.find_candidates(field, missing))
                if len(able):
                    numbers[place, able] = self._numbers(field, missing[able], self._pools[column])
        self._bodies.forget()
        kinds, keys = make_group_keys(list(numbers))
        named = [
            self._kinds.setdefault(kind, len(self._kinds))
            for kind in zip(*(each.tolist() for each in kinds), strict=True)
        ]
        self._of_row[missing] = np.array(named, np.int32)[keys]

    def _numbers(self, field: FieldPath, rows: Ints, pool: _ListPool) -> Ints:
        """For each row the number of its list in the pool, of what it says itself and what its session holds."""
        numbers = self._number_lists(field, rows, pool)
        assert isinstance(field.origin, AliasedField)
        part = field.origin.short.session
        if part is None:
            return numbers
        session = self._session
        reach = follow_sessions(session).find_reach(part, find_own_request_rows(session, rows), len(session.rows))
        lists = [tuple(islice(each, MOST_NAMES)) for each in reach.lists]
        (own, in_session), keys = make_group_keys([numbers, reach.numbers])
        both = zip(own.tolist(), in_session.tolist(), strict=True)
        joined: Ints = np.array([pool.with_more(mine, lists[more]) for mine, more in both], np.int64)[keys]
        return joined

    def _number_lists(self, field: FieldPath, rows: Ints, pool: _ListPool) -> Ints:
        """The same of what it says itself."""
        found = self._select_texts(field, self._bodies.read_field(field, rows), rows)
        numbers = np.zeros(len(rows), np.int64)
        if not len(found.rows):
            return numbers
        begins, ends = find_runs(found.rows)
        values = make_list(found.values)
        if len(begins) == len(values):
            numbers[found.rows] = list(map(pool.__getitem__, values))
            return numbers
        keys = [
            values[begin] if end - begin == 1 else tuple(values[begin:end])
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        numbers[found.rows[begins]] = list(map(pool.__getitem__, keys))
        return numbers

    def _select_texts(self, field: FieldPath, found: FieldValues, rows: Ints) -> FieldValues:
        """Values as texts; what is none (of JSON, say), or stands for nothing, is left out."""
        assert isinstance(field.origin, AliasedField)
        short, values = field.origin.short, make_list(found.values)
        if short.kind is not None and any(type(value) is ScopedNumber for value in values):
            values = [
                self._resolve_number(short.kind, *pair) for pair in zip(values, rows[found.rows].tolist(), strict=True)
            ]
        good = [type(value) is str and value != "" and value not in short.nothing for value in values]
        if all(good):
            return FieldValues(found.rows, values)
        good_places = np.flatnonzero(good)
        return FieldValues(found.rows[good_places], [values[place] for place in good_places.tolist()])

    def _resolve_number(self, kind: str, value: Any, row: int) -> Any:
        """The name of what a connection has numbered, None where it was not told."""
        if type(value) is not ScopedNumber:
            return value
        if self._resolver is None:
            # Who made what a connection numbers says it of its topic, and of its subscription.
            self._resolver = NameResolver(
                self._session, {short.kind for short in self._list_numbered_aliases() if short.kind is not None}
            )
            self._resolver.learn(len(self._session.rows))
        known = self._resolver.find(kind, str(value.number), row, value.scope)
        return None if known is None else known.name

    def _list_numbered_aliases(self) -> list[Any]:
        fields = (field for fields in self._fields.values() for field in fields)
        return [field.origin.short for field in fields if isinstance(field.origin, AliasedField)]


def _list_alias_fields(session: Analysis, names: Collection[str]) -> Iterator[FieldPath]:
    """The fields of these names, of all protocols that the session knows."""
    for dissector in session.engine.known.dissectors:
        catalog = dissector.catalog
        for short in () if catalog is None else catalog.field_aliases():
            if short.name in names:
                yield find_field(f"{dissector.name}.{short.name}")


class _ListPool(dict[Any, int]):
    """Numbers of different lists; the key of one with a single text is the text. Number 0 is the empty one."""

    def __init__(self) -> None:
        super().__init__()
        self._lists: list[tuple[str, ...]] = [_NOTHING]
        self.size = 0

    def __missing__(self, key: str | tuple[str, ...]) -> int:
        texts = (key,) if isinstance(key, str) else tuple(islice(dict.fromkeys(key), MOST_NAMES))
        self.size += EACH + sum(map(len, texts))
        number = self[key] = len(self._lists)
        self._lists.append(tuple(text.encode("utf-8", "backslashreplace").decode() for text in texts))
        return number

    def with_more(self, number: int, more: tuple[str, ...]) -> int:
        """The number of a list with more texts behind it."""
        return self[(*self._lists[number], *more)] if more else number

    def build_lists(self, numbers: Ints) -> pa.Array:
        """The lists of these numbers."""
        used, back = np.unique(numbers, return_inverse=True)
        different = pa.array([self._lists[number] for number in used.tolist()], pa.list_(pa.string()))
        return different.take(pa.array(back))
