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
from analyzer.decode.rows import Rows, chunks
from analyzer.pipeline import exchanges, findings, messages, names, streams
from analyzer.pipeline.arrays import array, sizes_of
from analyzer.pipeline.bodies import Bodies, Learned
from analyzer.pipeline.chosen import Chosen
from analyzer.pipeline.exchanges import Reported
from analyzer.pipeline.found import MOST, NOTES, Columns, Found, batch_of, days, unicode
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import Origins
from analyzer.pipeline.records import records
from analyzer.pipeline.subjects import Subjects
from analyzer.pipeline.summaries import ALONE, PARTS, Summing
from analyzer.pipeline.tables import TABLES
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.budget import allow
from dissectors.wire.fast_path import NULL

WINDOW, WINDOW_BYTES = 1 << 18, 128 << 20
"""Rows among which alike ones are brought together, and bytes of their messages: what stays in the page cache."""

ROWS, MADE = 1 << 16, 12 << 20
"""Rows of a portion at most, and bytes that are to be made of it."""

READ = 16 << 20
"""Bytes of a portion's messages at most, but of one that has more."""

ROW = 400
"""Bytes that a row is made to besides its body."""

UNKNOWN = 16
"""How many times longer a body is taken to become before any of its kind was seen."""

_KIND = ("protocol", "role", "code", "version")


class Portions:
    """Row numbers, some at a time, each once; to be told what became of them.

    grows: how many times longer messages of a kind have become; what is told here is kept in it.
    """

    def __init__(self, session: Analysis, rows: Ints, grows: dict[tuple[int, ...], float]) -> None:
        self._session, self._rows, self._grows = session, rows, grows

    def __iter__(self) -> Iterator[Ints]:
        at = 0
        while at < len(self._rows):
            window = next(chunks(self._session, self._rows[at : at + WINDOW], WINDOW, WINDOW_BYTES))
            at += len(window)
            _, keys = self._kinds(window)
            yield from self._of_window(window[np.argsort(keys, kind="stable")])

    def _of_window(self, rows: Ints) -> Iterator[Ints]:
        length = self._session.rows.column("length")
        while len(rows):
            some = rows[:ROWS]
            kinds, keys = self._kinds(some)
            grows = np.array([self._grows.get(kind, UNKNOWN) for kind in kinds])[keys]
            full = np.cumsum(length[some] * grows + ROW) > MADE
            full |= np.cumsum(length[some], dtype=np.int64) > READ
            some = some[: max(int(np.argmax(full)), 1)] if full.any() else some
            yield some
            rows = rows[len(some) :]

    def _kinds(self, rows: Ints) -> tuple[list[tuple[int, ...]], Ints]:
        columns, keys = make_group_keys([self._session.rows.column(name)[rows] for name in _KIND])
        return list(zip(*(column.tolist() for column in columns), strict=True)), keys

    def made(self, rows: Ints, sizes: Array) -> None:
        """The bodies of rows became so many bytes each."""
        kinds, keys = self._kinds(rows)
        read, became = (np.bincount(keys, each) for each in (self._session.rows.column("length")[rows], sizes))
        for kind, grows in zip(kinds, (became / np.maximum(read, 1)).tolist(), strict=True):
            self._grows[kind] = grows


__all__ = ["NOTES", "Columns", "Found", "batch_of", "days", "tables", "unicode"]

LOOKED_AT = 1 << 18
"""Rows of which errors are looked for at one time."""

Learn = Callable[[tuple[str, ...], Limits], Learned]
"""Slots and limits to what was learned of bodies with them."""


def tables(
    session: Analysis,
    origins: Origins,
    options: Options,
    chosen: Chosen | None = None,
    named: Collection[str] = TABLES,
    learn: Learn = Learned,
) -> Iterator[Found]:
    """The rows of an analysis that was read to its end, as those of the tables that are named.

    chosen: what is written of it; None: all. learn: gives what is known already of bodies.
    """
    allow(options.decompressed)
    maker = _Maker(session, origins, options, Chosen.all(session) if chosen is None else chosen, named, learn)
    if "names" in named and (told := names.told(session)) is not None:
        yield from maker.batches("names", iter([told]))
    yield from maker.messages()
    if "findings" in named and maker.chosen.whole:
        yield from maker.batches("findings", findings.of_files(session))
        yield from maker.batches("findings", findings.of_streams(session))
    if "exchanges" in named or "summaries" in named:
        yield from maker.exchanges_and_summaries()
    if "streams" in named:
        yield from maker.batches("streams", streams.columns(session, maker.chosen))
    if "records" in named:
        yield from maker.batches("records", records(session, maker.chosen.messages, options, maker.topics))


class _Maker:
    """Makes the tables of one analysis; has what all of them need."""

    def __init__(
        self,
        session: Analysis,
        origins: Origins,
        options: Options,
        chosen: Chosen,
        named: Collection[str],
        learn: Learn,
    ) -> None:
        self.session, self.chosen, self._learn = session, chosen, learn
        self._origins, self._options, self._named = origins, options, named
        self._reader, self._reported = Rows(session), Reported()
        self._subjects = Subjects(session, np.union1d(chosen.messages, chosen.requests))

    def topics(self, rows: Ints) -> pa.Array:
        """For each of some rows the list of topics that it is about."""
        return self._subjects.columns(rows)["topics"]

    def batches(self, table: str, found: Iterator[Columns]) -> Iterator[Found]:
        """Columns as a table's rows."""
        for columns in found:
            yield self._found(table, columns)

    def _found(self, table: str, columns: dict[str, Any]) -> Found:
        return Found(table, batch_of(table, {"capture": self._origins.capture, **columns}, self._options))

    def messages(self) -> Iterator[Found]:
        """What bodies are read for: the messages, and their findings."""
        if not self._named_slots():
            return
        learned = self._learn(self._named_slots(), self._options.limits)
        bodies = Bodies(self._reader, learned)
        portions = Portions(self.session, self.chosen.messages, learned.grows)
        for rows in portions:
            told = bodies.of(rows)
            portions.made(told.rows, sum(map(sizes_of, told.texts.values()), np.zeros(len(rows), np.int64)))
            if "messages" in self._named:
                self._reported.add(told)
                made = messages.columns(self._reader, told, self._origins)
                yield self._found("messages", {**made, **self._subjects.columns(told.rows)})
            if "findings" in self._named and (said := findings.of_rows(self._reader, told)):
                yield self._found("findings", said)

    def _named_slots(self) -> tuple[str, ...]:
        if "messages" in self._named:
            return ("error", "info", "findings", "fields") if self._options.fields else ("error", "info", "findings")
        return ("findings",) if "findings" in self._named else ()

    def exchanges(self) -> Iterator[Columns]:
        """The exchanges of the chosen requests; answers that were not read for `messages` are looked at now."""
        requests = self.chosen.requests
        partner = self.session.rows.column("partner")[requests].astype(np.int64)
        unread = np.zeros(len(self.session.rows), bool)
        unread[partner[partner != NULL]] = True
        if "messages" in self._named:
            unread[self.chosen.messages] = False
        rows = np.flatnonzero(unread)
        for first in range(0, len(rows), LOOKED_AT):
            self._reported.look(self.session, rows[first : first + LOOKED_AT])
        error = self._reported.of()
        for first in range(0, len(requests), MOST):
            part = requests[first : first + MOST]
            yield {**exchanges.columns(self._reader, part, error), **self._subjects.columns(part)}

    def exchanges_and_summaries(self) -> Iterator[Found]:
        """The exchanges, and of the summaries the parts that they and lone messages make."""
        summing = Summing(self._options.window) if "summaries" in self._named else None
        for found in self.batches("exchanges", self.exchanges()):
            if summing is not None:
                summing.exchanges(found.batch)
            if "exchanges" in self._named:
                yield found
        if summing is not None:
            role = self.session.rows.column("role")[self.chosen.messages]
            alone = self.chosen.messages[(role == Role.ONEWAY) | (role == Role.PUSH)]
            for first in range(0, len(alone), MOST):
                summing.alone(self._alone(alone[first : first + MOST]))
            yield from (Found(PARTS, batch) for batch in summing.parts())

    def _alone(self, rows: Ints) -> pa.RecordBatch:
        """What summaries need of messages that are no half of an exchange."""
        columns = {key: array(self._reader.column(key, rows)) for key in ALONE}
        columns |= {**self._subjects.columns(rows), "time_ns": pa.array(self._reader.take("time", rows))}
        columns["capture"] = pa.repeat(pa.scalar(unicode(self._origins.capture)), len(rows))
        return pa.RecordBatch.from_pydict(columns)
