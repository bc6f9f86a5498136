"""The table of records: one row for each record of a log, by its message.

Theory. A message carries hundreds of records, and a row needs only a few bytes of each. Where a protocol has a fast
path for them (dissectors.wire.fast_path.Logs), record_fields.py finds the records fields of many messages at once, and
the fast path reads their records as columns; decode_records reads the messages that are left one by one. The records of
other protocols come with the bodies of their messages (record_values.py). decode_records is the reference
implementation of both; tests/analyzer/tables/test_records.py compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.columns.arrays import Ints
from analyzer.decode.content import read_undecoded
from analyzer.decode.jsonable import Limits
from analyzer.decode.payloads import read_payloads
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES
from analyzer.messages import defects
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import ColumnValues, build_array, count_days, measure_texts
from analyzer.tables.bodies import RECORDS, BodyColumns, BodyReader, DecoderMemory
from analyzer.tables.record_fields import RecordFields, find_record_fields, hash_keys, read_record_fields
from analyzer.tables.record_values import Cells, build_record_columns, has_log_columns, list_cells, parse_records
from dissectors.api import Dissector, Role, State
from dissectors.wire.fast_path import LADEN, NULL, FastPath, LogRecords, load_fast_path

BATCH_RECORDS = 1 << 16
"""Rows in one batch, and messages whose fields are found in one go."""

CHUNK_BYTES = 8 << 20
"""Bytes of messages whose records are read in one go."""

MESSAGE_COLUMNS = ("id", "stream_id", "operation", "role", "protocol")
TopicLookup = Callable[[Ints], pa.Array]
"""For each of some rows the list of topics that its message is about."""


def _select_carriers(session: Analysis, dissector: Dissector, fast_path: FastPath | None, rows: Ints) -> Ints:
    """Those of these rows that may carry records: by operation and role, and by what their fast_path sees."""
    carriers = defects.find_carriers(dissector)
    if carriers is not None:
        code, role = (session.rows.column(name)[rows].astype(np.int64) for name in ("code", "role"))
        wanted = [(NULL if number is None else number) * len(Role) + kind for number, kind in carriers]
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


class RecordTableBuilder:
    """Makes the table of one analysis."""

    def __init__(self, session: Analysis, topics: TopicLookup | None) -> None:
        self._session, self._topics = session, topics
        self._reader, self._naming = RowReader(session), TopicNamer(session)
        self._learned = DecoderMemory((RECORDS,), Limits())

    def build_rows(self, rows: Ints, *, from_bodies: bool = True) -> Iterator[ColumnValues]:
        """The records in rows; without `from_bodies` only those that a protocol's fast path reads as columns."""
        protocol = self._session.rows.column("protocol")[rows]
        for number in np.unique(protocol).tolist():
            dissector = None if number == NO_PROTOCOL else self._session.engine.dissector(number)
            fast_path = None if dissector is None else load_fast_path(dissector)
            if dissector is None or not (from_bodies or has_log_columns(fast_path)):
                continue
            carriers = _select_carriers(self._session, dissector, fast_path, rows[protocol == number])
            for first in range(0, len(carriers), BATCH_RECORDS):
                some = carriers[first : first + BATCH_RECORDS]
                if fast_path is None or not has_log_columns(fast_path):
                    yield from self._read_bodies(some)
                else:
                    found = find_record_fields(self._session, fast_path, some, self._naming.find_topic)
                    if len(found.message):
                        yield from self._build_fast(fast_path, some, found)
                    else:
                        yield from self._merge_records(some, _RecordColumns.from_cells([]), some)

    def _read_bodies(self, rows: Ints) -> Iterator[ColumnValues]:
        """The records of messages of a protocol whose fast path reads none."""
        for part in split_rows(self._session, rows, TOGETHER, TOGETHER_BYTES):
            yield from self.build_from_bodies(BodyReader(self._reader, self._learned).read_bodies(part))

    def build_from_bodies(self, body_columns: BodyColumns) -> Iterator[ColumnValues]:
        """The records in bodies that were read, in the order of their messages."""
        carriers = np.flatnonzero(measure_texts(body_columns.texts[RECORDS]))
        carriers = carriers[np.argsort(body_columns.rows[carriers], kind="stable")]
        records = _RecordColumns(*parse_records(body_columns.texts[RECORDS].take(pa.array(carriers))))
        yield from self._split_batches(body_columns.rows[carriers], records)

    def _build_fast(self, fast_path: FastPath, rows: Ints, found: RecordFields) -> Iterator[ColumnValues]:
        begin = 0
        for part in split_rows(self._session, rows, BATCH_RECORDS, CHUNK_BYTES):
            fields = read_record_fields(self._session, rows, found, begin, begin + len(part))
            field = int(np.searchsorted(found.message, begin))
            for logged in fast_path.read_log_records(fields):
                run = slice(logged.first + begin, logged.stop + begin)
                left = found.left[run] | logged.left
                yield from self._merge_records(rows, self._convert_records(found, logged, field), rows[run][left])
            begin += len(part)

    def _convert_records(self, found: RecordFields, logged: LogRecords, first: int) -> _RecordColumns:
        """What a fast_path has read; first: which field was its first."""
        field = logged.field + first
        key = logged.key_length
        return _RecordColumns(
            found.message[field],
            {
                "topic": pa.array(found.topics, pa.string()).take(pa.array(found.topic[field])),
                "partition": pa.array(found.partition[field].astype(np.int32)),
                "offset": pa.array(logged.offset),
                "timestamp_ms": pa.array(logged.time),
                "key_hash": hash_keys(logged.data, logged.key, key),
                "key_length": pa.array(key, mask=key < 0),
                "value_length": pa.array(logged.value_length, mask=logged.value_length < 0),
            },
        )

    def _merge_records(self, rows: Ints, read: _RecordColumns, left: Ints) -> Iterator[ColumnValues]:
        """Records that were read together, by their message's place in `rows`, and those of the rows that are left."""
        begin = 0
        for part in split_rows(self._session, left):
            places = np.searchsorted(rows, part)
            end = int(np.searchsorted(read.message, places[-1], "right"))
            numbers, cells = list(zip(*decode_records(self._session, self._naming, part), strict=True)) or ((), ())
            carriers = _RecordColumns.from_cells(cells, places[np.array(numbers, np.int64)])
            yield from self._split_batches(rows, read.slice(begin, end).merge(carriers))
            begin = end
        yield from self._split_batches(rows, read.slice(begin, len(read.message)))

    def _split_batches(self, rows: Ints, some: _RecordColumns) -> Iterator[ColumnValues]:
        for first in range(0, len(some.message), BATCH_RECORDS):
            part = some.slice(first, first + BATCH_RECORDS)
            used, which = np.unique(part.message, return_inverse=True)
            mine, places = rows[used], pa.array(which)
            time = self._reader.take_cells("time", mine)
            about = {key: build_array(self._reader.read_column(key, mine)).take(places) for key in MESSAGE_COLUMNS}
            own = {**part.columns, "topic": self._fill_topics(part.columns["topic"], mine, which)}
            yield {**about, **own, "time_ns": time[which], "date": count_days(time)[which]}

    def _fill_topics(self, record_topics: pa.Array, rows: Ints, which: Ints) -> pa.Array:
        """Topics of records, each of the message `rows[which]`, as they say it themselves, or else the message."""
        if not record_topics.null_count or self._topics is None:
            return record_topics
        about = self._topics(rows).to_pylist()
        carriers = pa.array([each[0] if len(each) == 1 else None for each in about], pa.string())
        return pc.coalesce(record_topics, carriers.take(pa.array(which)))


_NOTHING: Ints = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class _RecordColumns:
    """Some records in order: the place of the message of each, rising, and what stands in the table of it."""

    message: Ints
    columns: dict[str, pa.Array]

    @classmethod
    def from_cells(cls, cells: Sequence[Cells], message: Ints = _NOTHING) -> Self:
        return cls(message, build_record_columns(cells))

    def slice(self, first: int, stop: int) -> _RecordColumns:
        """From the record `first` to before `stop`."""
        return _RecordColumns(self.message[first:stop], {name: each[first:stop] for name, each in self.columns.items()})

    def merge(self, others: _RecordColumns) -> _RecordColumns:
        """Both, in the order of their messages, of which none has records in both."""
        if not len(self.message) or not len(others.message):
            return self if len(self.message) else others
        message = np.concatenate((self.message, others.message))
        order = np.argsort(message, kind="stable")
        places = pa.array(order)
        joined = {name: pa.concat_arrays([each, others.columns[name]]) for name, each in self.columns.items()}
        return _RecordColumns(message[order], {name: each.take(places) for name, each in joined.items()})


def decode_records(session: Analysis, naming: TopicNamer, rows: Ints) -> Iterator[tuple[int, Cells]]:
    """Yields the records in these rows, in their order: the place of the row, and the cells of the record."""
    first = 0
    for part in split_rows(session, rows):
        readable = read_undecoded(session, part)
        for place, (row, (dissector, message, context)) in enumerate(zip(part.tolist(), readable, strict=True), first):
            if dissector is None:
                continue
            body = defects.decode_values(dissector, message, context)
            for cells in list_cells(read_payloads(session, naming, row, dissector, body, context)):
                yield place, cells
        first += len(part)
