"""Reads how requests use sessions (dissectors.session_state), for many requests together.

Theory. Most requests name nothing, or partitions of one topic. Columns give their changes at a fraction of the cost of
decoding. If a request names several topics, or removes some, columns do not show which partition belongs to which
topic, so the request is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints, find_runs
from analyzer.decode.content import Undecoded, read_undecoded
from analyzer.decode.request_fields import read_fields
from analyzer.decode.rows import RowReader, split_rows
from analyzer.messages import defects
from analyzer.query.fields.bodies import BodyFieldReader
from analyzer.query.fields.catalog import find_field
from analyzer.query.fields.gathered import FieldValues, join_values, make_list
from analyzer.query.fields.path import FieldPath
from analyzer.query.fields.session_values import Key
from analyzer.session import Analysis
from dissectors.api import Dissector
from dissectors.message import Path
from dissectors.session_state import SessionChange, SessionKind

MOST_KNOWN = 1 << 16
"""Number of distinct changes that are cached."""


class SessionUse(NamedTuple):
    """Says how a request uses sessions. epoch: 0 if it opens a session, negative if it uses none or closes one.

    named: whether it names partitions. change: that of its session, if it uses one and names something.
    """

    row: int
    stream: int
    key: Key
    epoch: int
    named: bool
    change: SessionChange | None


class SessionRequestReader:
    """Reads how requests of an operation use sessions, in columns if possible."""

    def __init__(self, session: Analysis, dissector: Dissector, kind: SessionKind) -> None:
        def fields(paths: Iterable[Path]) -> list[FieldPath]:
            return [find_field(f"{dissector.name}.{kind.operation}.request.{'.'.join(path)}") for path in paths]

        self._session, self._kind = session, kind
        self._key, (self._epoch, self._partition) = fields(kind.key), fields((kind.epoch, kind.partitions))
        self._topics, self._forgotten = fields(kind.topics), fields(kind.forgotten)
        every = [*self._key, self._epoch, self._partition, *self._topics, *self._forgotten]
        self._bodies = BodyFieldReader(RowReader(session), every)
        self._known: dict[tuple[Any, ...], SessionChange] = {}

    def read_uses(self, rows: Ints) -> Iterator[SessionUse]:
        """Yields how these requests (ascending rows) use sessions."""
        keys = list(zip(*(self._read_cells(field, rows) for field in self._key), strict=True))
        epochs = [-1 if epoch is None else epoch for epoch in self._read_cells(self._epoch, rows)]
        used = np.array([epoch > 0 and all(key) for epoch, key in zip(epochs, keys, strict=True)], bool)
        named, changes = self._read_changes(rows, used)
        self._bodies.forget()
        streams = self._session.rows.column("stream")[rows].tolist()
        for place, (row, stream, key, epoch) in enumerate(zip(rows.tolist(), streams, keys, epochs, strict=True)):
            is_used = bool(used[place])
            yield SessionUse(
                row, stream, key, epoch if is_used else min(epoch, 0), bool(named[place]), changes.get(place)
            )

    def read_change(self, row: int) -> SessionChange:
        """Returns everything that a request names, as a change of its session."""
        return self._read_decoded(read_undecoded(self._session, np.array([row]))[0])

    def _read_decoded(self, readable: Undecoded) -> SessionChange:
        values = read_fields(readable, self._kind.changed)
        return defects.call_or_default(partial(self._kind.change, values), SessionChange())

    def _read_changes(self, rows: Ints, used: Bools) -> tuple[Bools, dict[int, SessionChange]]:
        """Returns which requests name something, and by index the changes of those that use a session."""
        numbers, forgets = self._bodies.read_field(self._partition, rows), np.zeros(len(rows), bool)
        for field in self._forgotten:
            forgets[self._bodies.read_field(field, rows).rows] = True
        named = forgets.copy()
        named[numbers.rows] = True
        topics = join_values([self._bodies.read_field(field, rows) for field in self._topics])
        plain = used & named & ~forgets & (np.bincount(topics.rows, minlength=len(rows)) == 1)
        changes = dict(self._read_one_topic(topics, numbers, plain))
        rest = np.flatnonzero(used & named & ~plain)
        for part in split_rows(self._session, rows[rest]):
            places = np.searchsorted(rows, part).tolist()
            changes |= zip(places, map(self._read_decoded, read_undecoded(self._session, part)), strict=True)
        return named, changes

    def _read_one_topic(
        self, topics: FieldValues, numbers: FieldValues, plain: Bools
    ) -> Iterator[tuple[int, SessionChange]]:
        """Yields the changes of requests that name one topic and remove nothing. Equal changes are created once."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        topic_of = dict(zip(topics.rows.tolist(), make_list(topics.values), strict=True))
        values = make_list(numbers.values)
        begins, ends = find_runs(numbers.rows)
        mine = plain[numbers.rows[begins]]
        begins, ends = begins[mine], ends[mine]
        for place, begin, end in zip(numbers.rows[begins].tolist(), begins.tolist(), ends.tolist(), strict=True):
            key = topic_of[place], *values[begin:end]
            change = self._known.get(key)
            if change is None:
                topic, *those = key
                change = self._known[key] = SessionChange(tuple((topic, number) for number in dict.fromkeys(those)))
            yield place, change

    def _read_cells(self, field: FieldPath, rows: Ints) -> list[Any]:
        """Returns a value for each row, None where it has none."""
        found = self._bodies.read_field(field, rows)
        cells: list[Any] = [None] * len(rows)
        for place, value in zip(found.rows.tolist(), make_list(found.values), strict=True):
            cells[place] = value
        return cells
