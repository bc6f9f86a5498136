"""The table of records: one row for each record of a log, by its message.

Theory. A message carries hundreds of records, and all that the table says of one stands in a few of its bytes. So where
a protocol's fast path knows how (dissectors.wire.fast_path.Logs), the fields with records are found for many messages
at once (log_fields.py), the fast path reads all records in them as columns, and what their messages have in common is
picked for them. A message that has anything unusual, and each one of other protocols, is decoded by itself
(record_rows.py), if its protocol says that such messages carry records at all. tests/analyzer/pipeline/test_records.py
holds both equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.columns.arrays import Ints
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import Rows, chunks
from analyzer.messages import defects
from analyzer.messages.index import NO_PROTOCOL
from analyzer.pipeline.arrays import array
from analyzer.pipeline.found import Columns, array_of, days
from analyzer.pipeline.hashes import Hashes
from analyzer.pipeline.log_fields import Found, find, read
from analyzer.pipeline.options import Options
from analyzer.pipeline.record_rows import Told, carried
from analyzer.session import Analysis
from dissectors.api import Dissector, Role, State
from dissectors.wire.fast_path import LADEN, NULL, FastPath, Logged, load_fast_path

MOST = 1 << 16
"""Rows in one batch, and messages whose fields are found in one go."""

CHUNK_BYTES = 8 << 20
"""Bytes of messages whose records are read in one go."""

OF_MESSAGE = ("id", "stream_id", "operation", "role", "protocol")
_TYPES = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp_ms": pa.int64(),
    "key_hash": pa.string(),
    "key_length": pa.int64(),
    "value_length": pa.int64(),
}


Topics = Callable[[Ints], pa.Array]
"""For each of some rows the list of topics that its message is about."""


def records(session: Analysis, rows: Ints, options: Options, topics: Topics | None = None) -> Iterator[Columns]:
    """The columns of tables.RECORDS but `capture`, for the messages in `rows`, rising; those of a protocol together.

    Batches of at most MOST rows, in the order of messages and of records within. A record that does not say its topic
    has that of its message, if `topics` tells one.
    """
    maker = _Maker(session, topics)
    protocol = session.rows.column("protocol")[rows]
    for number in np.unique(protocol).tolist():
        dissector = None if number == NO_PROTOCOL else session.engine.dissector(number)
        if dissector is not None:
            fast_path = load_fast_path(dissector)
            yield from maker.of(fast_path, _carriers(session, dissector, fast_path, rows[protocol == number]))


def _carriers(session: Analysis, dissector: Dissector, fast_path: FastPath | None, rows: Ints) -> Ints:
    """Those of these rows that may carry records: by operation and role, and by what their fast path sees."""
    told = defects.find_carriers(dissector)
    if told is not None:
        code, role = (session.rows.column(name)[rows].astype(np.int64) for name in ("code", "role"))
        wanted = [(NULL if number is None else number) * len(Role) + kind for number, kind in told]
        rows = rows[np.isin(code * len(Role) + role, wanted)]
    if fast_path is None or not len(rows):
        return rows
    table, pieces = session.rows, session.engine.pieces
    piece, length = table.column("pieces")[rows], table.column("length")[rows].astype(np.int64)
    whole = (table.column("state")[rows] == State.COMPLETE) & (pieces.column("length")[piece] >= LADEN)
    prefix = session.source.store.gather(pieces.column("at")[piece[whole]], LADEN)
    laden = np.ones(len(rows), bool)
    laden[whole] = fast_path.laden(prefix, length[whole])
    return rows[laden]


class _Maker:
    """Makes the table of one analysis."""

    def __init__(self, session: Analysis, topics: Topics | None) -> None:
        self._session, self._reader, self._naming, self._topics = session, Rows(session), Naming(session), topics
        self._hashes = Hashes()

    def of(self, fast_path: FastPath | None, rows: Ints) -> Iterator[Columns]:
        """The records in rows of one protocol, whose fast path this is."""
        for first in range(0, len(rows), MOST):
            some = rows[first : first + MOST]
            found = None if fast_path is None else find(self._session, fast_path, some, self._naming.topic)
            if fast_path is None or found is None or not len(found.message):
                yield from self._merged(some, _Some.of(()), some)
            else:
                yield from self._together(fast_path, some, found)

    def _together(self, fast_path: FastPath, rows: Ints, found: Found) -> Iterator[Columns]:
        begin = 0
        for part in chunks(self._session, rows, MOST, CHUNK_BYTES):
            fields = read(self._session, rows, found, begin, begin + len(part))
            field = int(np.searchsorted(found.message, begin))
            for logged in fast_path.logged(fields):
                run = slice(logged.first + begin, logged.stop + begin)
                left = found.left[run] | logged.left
                yield from self._merged(rows, self._read(found, logged, field), rows[run][left])
            begin += len(part)

    def _read(self, found: Found, logged: Logged, first: int) -> _Some:
        """What a fast path has read; first: which field was its first."""
        field = logged.field + first
        key = logged.key_length
        return _Some(
            found.message[field],
            {
                "topic": pa.array(found.topics, pa.string()).take(pa.array(found.topic[field])),
                "partition": pa.array(found.partition[field].astype(np.int32)),
                "offset": pa.array(logged.offset),
                "timestamp_ms": pa.array(logged.time),
                "key_hash": self._hashes.of(logged.data, logged.key, key),
                "key_length": pa.array(key, mask=key < 0),
                "value_length": pa.array(logged.value_length, mask=logged.value_length < 0),
            },
        )

    def _merged(self, rows: Ints, read: _Some, left: Ints) -> Iterator[Columns]:
        """Records that were read together, by their message's place in `rows`, and those of the rows that are left."""
        begin = 0
        for part in chunks(self._session, left):
            places = np.searchsorted(rows, part)
            end = int(np.searchsorted(read.message, places[-1], "right"))
            told = _Some.of(tuple(carried(self._session, self._naming, part)), places)
            yield from self._batches(rows, read.between(begin, end).with_those(told))
            begin = end
        yield from self._batches(rows, read.between(begin, len(read.message)))

    def _batches(self, rows: Ints, some: _Some) -> Iterator[Columns]:
        for first in range(0, len(some.message), MOST):
            part = some.between(first, first + MOST)
            used, which = np.unique(part.message, return_inverse=True)
            mine, places = rows[used], pa.array(which)
            time = self._reader.take("time", mine)
            about = {key: array(self._reader.column(key, mine)).take(places) for key in OF_MESSAGE}
            own = {**part.columns, "topic": self._topic(part.columns["topic"], mine, which)}
            yield {**about, **own, "time_ns": time[which], "date": days(time)[which]}

    def _topic(self, said: pa.Array, rows: Ints, which: Ints) -> pa.Array:
        """Topics of records, each of the message `rows[which]`, as they say it themselves, or else the message."""
        if not said.null_count or self._topics is None:
            return said
        about = self._topics(rows).to_pylist()
        told = pa.array([each[0] if len(each) == 1 else None for each in about], pa.string())
        return pc.coalesce(said, told.take(pa.array(which)))


@dataclass(frozen=True, slots=True)
class _Some:
    """Some records in order: the place of the message of each, rising, and what stands in the table of it."""

    message: Ints
    columns: dict[str, pa.Array]

    @classmethod
    def of(cls, told: Sequence[Told], places: Ints | None = None) -> Self:
        """Those that were read one by one; places: of the rows that they are in."""
        columns = {name: array_of([getattr(each, name) for each in told], kind) for name, kind in _TYPES.items()}
        numbers = np.array([each.place for each in told], np.int64)
        return cls(numbers if places is None else places[numbers], columns)

    def between(self, first: int, stop: int) -> _Some:
        """From the record `first` to before `stop`."""
        return _Some(self.message[first:stop], {name: each[first:stop] for name, each in self.columns.items()})

    def with_those(self, others: _Some) -> _Some:
        """Both, in the order of their messages, of which none has records in both."""
        if not len(self.message) or not len(others.message):
            return self if len(self.message) else others
        message = np.concatenate((self.message, others.message))
        order = np.argsort(message, kind="stable")
        places = pa.array(order)
        joined = {name: pa.concat_arrays([each, others.columns[name]]) for name, each in self.columns.items()}
        return _Some(message[order], {name: each.take(places) for name, each in joined.items()})
