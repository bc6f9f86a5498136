"""Rows of an analysis to Arrow batches of the tables: the one way, with Spark and without.

Theory. Bodies are decoded once, some rows at a time, and forgotten; of each only its error is kept, if there is one,
until the exchanges are made (bodies.py). A table's columns are made by a module of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import Rows
from analyzer.pipeline import exchanges, findings, messages, names, streams
from analyzer.pipeline.arrays import array, sizes_of
from analyzer.pipeline.bodies import Bodies, Learned
from analyzer.pipeline.chosen import Chosen
from analyzer.pipeline.exchanges import Reported
from analyzer.pipeline.found import MOST, NOTES, Columns, Found, batch_of, days, unicode
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import Origins
from analyzer.pipeline.portions import Portions
from analyzer.pipeline.records import records
from analyzer.pipeline.subjects import Subjects
from analyzer.pipeline.summaries import ALONE, PARTS, Summing
from analyzer.pipeline.tables import TABLES
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.budget import allow
from dissectors.wire.bulk import NULL

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
