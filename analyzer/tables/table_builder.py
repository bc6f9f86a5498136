"""Rows of an analysis to Arrow batches of the tables: the one way, with Spark and without.

Theory. Bodies are decoded once, some rows at a time, and forgotten; of each only its error is kept, if there is one,
until the exchanges are made (bodies.py). A table's columns are made by a module of its name.

What rows have in common is worked out once for all of a portion, so the more of a kind it has, the less that
costs. Tables have no order to keep: within a window of the capture rows are taken kind by kind, which also lets a
Parquet file compress better and be passed over where another operation is asked for. How much a message becomes nobody
knows before (a kilobyte can be a megabyte of JSON), but those of a kind become about as much each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Array, Ints, make_group_keys
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import RowReader, split_rows
from analyzer.session import Analysis
from analyzer.tables import message_tables, stream_tables, topic_names
from analyzer.tables.arrow_columns import (
    BATCH_ROWS,
    ColumnValues,
    TableBatch,
    build_array,
    build_batch,
    escape_surrogates,
    measure_texts,
)
from analyzer.tables.bodies import RECORDS, TOPICS, TYPED, BodyReader, DecoderMemory
from analyzer.tables.message_tables import ErrorColumn
from analyzer.tables.options import Options
from analyzer.tables.origins import PacketOrigins, RowSelection
from analyzer.tables.records import RecordTableBuilder
from analyzer.tables.summaries import PARTS, UNPAIRED_COLUMNS, SummaryBuilder
from analyzer.tables.table_schemas import TABLES
from analyzer.tables.topic_columns import TopicColumns
from dissectors.api import Role
from dissectors.wire.budget import allow
from dissectors.wire.fast_path import NULL

WINDOW, WINDOW_BYTES = 1 << 18, 128 << 20
"""Rows among which alike ones are brought together, and bytes of their messages: what stays in the page cache."""

PART_ROWS, OUTPUT_BYTES = 1 << 16, 12 << 20
"""Rows of a portion at most, and bytes that are to be made of it."""

PART_BYTES = 16 << 20
"""Bytes of a portion's messages at most, but of one that has more."""

ROW_BYTES = 400
"""Bytes that a row is made to besides its body."""

UNKNOWN_GROWTH = 16
"""How many times longer a body is taken to become before any of its kind was seen."""

_KIND = ("protocol", "role", "code", "version")


class RowPortions:
    """Divides row numbers into runs, and learns from the size of the decoded rows how long the next run may be.

    grows: how many times longer messages of a kind have become; what is told here is kept in it.
    """

    def __init__(self, session: Analysis, rows: Ints, grows: dict[tuple[int, ...], float]) -> None:
        self._session, self._rows, self._grows = session, rows, grows

    def __iter__(self) -> Iterator[Ints]:
        at = 0
        while at < len(self._rows):
            window = next(split_rows(self._session, self._rows[at : at + WINDOW], WINDOW, WINDOW_BYTES))
            at += len(window)
            _, keys = self._number_kinds(window)
            yield from self._split_window(window[np.argsort(keys, kind="stable")])

    def _split_window(self, rows: Ints) -> Iterator[Ints]:
        length = self._session.rows.column("length")
        while len(rows):
            some = rows[:PART_ROWS]
            kinds, keys = self._number_kinds(some)
            grows = np.array([self._grows.get(kind, UNKNOWN_GROWTH) for kind in kinds])[keys]
            full = np.cumsum(length[some] * grows + ROW_BYTES) > OUTPUT_BYTES
            full |= np.cumsum(length[some], dtype=np.int64) > PART_BYTES
            some = some[: max(int(np.argmax(full)), 1)] if full.any() else some
            yield some
            rows = rows[len(some) :]

    def _number_kinds(self, rows: Ints) -> tuple[list[tuple[int, ...]], Ints]:
        columns, keys = make_group_keys([self._session.rows.column(name)[rows] for name in _KIND])
        return list(zip(*(column.tolist() for column in columns), strict=True)), keys

    def record_sizes(self, rows: Ints, sizes: Array) -> None:
        """The bodies of rows became so many bytes each."""
        kinds, keys = self._number_kinds(rows)
        read, became = (np.bincount(keys, each) for each in (self._session.rows.column("length")[rows], sizes))
        for kind, grows in zip(kinds, (became / np.maximum(read, 1)).tolist(), strict=True):
            self._grows[kind] = grows


ERROR_ROWS = 1 << 18
"""Rows of which errors are looked for at one time."""

LearnedFactory = Callable[[tuple[str, ...], Limits], DecoderMemory]
"""Slots and limits to what was learned of bodies with them."""


def build_tables(
    session: Analysis,
    origins: PacketOrigins,
    options: Options,
    chosen: RowSelection | None = None,
    named: Collection[str] = TABLES,
    learn: LearnedFactory = DecoderMemory,
) -> Iterator[TableBatch]:
    """Yields the rows of an analysis that was read to its end, as those of the tables that are named.

    chosen: what is written of it; None: all. learn: gives what is known already of bodies.
    """
    allow(options.decompressed)
    maker = _TableBuilder(
        session, origins, options, RowSelection.select_all(session) if chosen is None else chosen, named, learn
    )
    if "names" in named and (body_columns := topic_names.build_name_columns(session)) is not None:
        yield from maker.build_batches("names", iter([body_columns]))
    yield from maker.build_messages()
    if "findings" in named and maker.chosen.whole:
        yield from maker.build_batches("findings", stream_tables.build_file_findings(session))
        yield from maker.build_batches("findings", stream_tables.build_stream_findings(session))
    if "exchanges" in named or "summaries" in named:
        yield from maker.build_exchanges_and_summaries()
    if "streams" in named:
        yield from maker.build_batches("streams", stream_tables.build_stream_columns(session, maker.chosen))
    if "records" in named:
        yield from maker.build_records()


class _TableBuilder:
    """Makes the tables of one analysis; has what all of them need."""

    def __init__(
        self,
        session: Analysis,
        origins: PacketOrigins,
        options: Options,
        chosen: RowSelection,
        named: Collection[str],
        learn: LearnedFactory,
    ) -> None:
        self.session, self.chosen, self._learn = session, chosen, learn
        self._origins, self._options, self._named = origins, options, named
        self._reader, self._reported = RowReader(session), ErrorColumn()
        self._topics = TopicColumns(session)
        self._records = RecordTableBuilder(session, self._list_topics)

    def _list_topics(self, rows: Ints) -> pa.Array:
        """For each of some rows the list of topics that it is about."""
        return self._topics.columns(rows)["topics"]

    def build_records(self) -> Iterator[TableBatch]:
        """The records that bodies have not told for `messages` already."""
        read = self._records.build_rows(self.chosen.messages, from_bodies=RECORDS not in self._select_slots())
        yield from self.build_batches("records", read)

    def build_batches(self, table: str, found: Iterator[ColumnValues]) -> Iterator[TableBatch]:
        """Columns as a table's rows."""
        for columns in found:
            yield self._build_batch(table, columns)

    def _build_batch(self, table: str, columns: dict[str, Any]) -> TableBatch:
        return TableBatch(table, build_batch(table, {"capture": self._origins.capture, **columns}, self._options))

    def build_messages(self) -> Iterator[TableBatch]:
        """What bodies are read for: the messages, and their findings."""
        if not self._select_slots():
            return
        learned = self._learn(self._select_slots(), self._options.limits)
        bodies = BodyReader(self._reader, learned, self._options.bodies)
        parts = RowPortions(self.session, self.chosen.messages, learned.grows)
        for rows in parts:
            body_columns = bodies.read_bodies(rows)
            parts.record_sizes(
                body_columns.rows, sum(map(measure_texts, body_columns.texts.values()), np.zeros(len(rows), np.int64))
            )
            if "messages" in self._named:
                self._reported.add_bodies(body_columns)
                self._topics.add_bodies(body_columns)
                made = message_tables.build_message_columns(self._reader, body_columns, self._origins)
                yield self._build_batch("messages", {**made, **self._topics.columns(body_columns.rows)})
            if RECORDS in body_columns.texts:
                yield from self.build_batches("records", self._records.build_from_bodies(body_columns))
            if "findings" in self._named and (findings := stream_tables.build_row_findings(self._reader, body_columns)):
                yield self._build_batch("findings", findings)

    def _select_slots(self) -> tuple[str, ...]:
        if "messages" in self._named:
            body = "fields" if self._options.bodies is None else TYPED
            wanted = {body: self._options.fields, RECORDS: "records" in self._named}
            return ("error", "info", "findings", TOPICS, *(slot for slot, is_wanted in wanted.items() if is_wanted))
        return ("findings",) if "findings" in self._named else ()

    def build_exchange_columns(self) -> Iterator[ColumnValues]:
        """The exchanges of the chosen requests; answers that were not read for `messages` are looked at now."""
        requests = self.chosen.requests
        partner = self.session.rows.column("partner")[requests].astype(np.int64)
        unread = np.zeros(len(self.session.rows), bool)
        unread[partner[partner != NULL]] = True
        if "messages" in self._named:
            unread[self.chosen.messages] = False
        rows = np.flatnonzero(unread)
        for first in range(0, len(rows), ERROR_ROWS):
            self._reported.read_rows(self.session, rows[first : first + ERROR_ROWS])
        error = self._reported.build_lookup()
        for first in range(0, len(requests), BATCH_ROWS):
            part = requests[first : first + BATCH_ROWS]
            yield {**message_tables.build_exchange_columns(self._reader, part, error), **self._topics.columns(part)}

    def build_exchanges_and_summaries(self) -> Iterator[TableBatch]:
        """The exchanges, and of the summaries the parts that they and lone messages make."""
        summing = SummaryBuilder(self._options.window) if "summaries" in self._named else None
        for found in self.build_batches("exchanges", self.build_exchange_columns()):
            if summing is not None:
                summing.add_exchanges(found.batch)
            if "exchanges" in self._named:
                yield found
        if summing is not None:
            role = self.session.rows.column("role")[self.chosen.messages]
            alone = self.chosen.messages[(role == Role.ONEWAY) | (role == Role.PUSH)]
            for first in range(0, len(alone), BATCH_ROWS):
                summing.add_unpaired(self._build_unpaired_batch(alone[first : first + BATCH_ROWS]))
            yield from (TableBatch(PARTS, batch) for batch in summing.build_parts())

    def _build_unpaired_batch(self, rows: Ints) -> pa.RecordBatch:
        """What summaries need of messages that are no half of an exchange."""
        columns = {key: build_array(self._reader.read_column(key, rows)) for key in UNPAIRED_COLUMNS}
        columns |= {**self._topics.columns(rows), "time_ns": pa.array(self._reader.take_cells("time", rows))}
        columns["capture"] = pa.repeat(pa.scalar(escape_surrogates(self._origins.capture)), len(rows))
        return pa.RecordBatch.from_pydict(columns)
