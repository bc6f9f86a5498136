"""Rows of an analysis to Arrow batches of the tables: the one way, with Spark and without.

Theory. Messages are decoded once, in chunks, and forgotten; of each only its error is kept until the exchanges are
made. What the index holds is taken a column at a time, by the same functions as `list` prints it (analyzer.rows).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from analyzer.columns import Ints
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import Origins
from analyzer.pipeline.tables import TABLES, schema
from analyzer.render.jsonable import JsonWriter
from analyzer.rows import STATES, Rows, chunks, picked
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.budget import allow
from dissectors.wire.bulk import NULL

NOTES = "notes"
"""The table of what is said about files (`note`: JSON); it is not written."""

DAY = 86_400 * 10**9
MOST = 1 << 14
"""Exchanges in one batch."""

COPIED = (
    *("id", "stream_id", "partner_id", "source", "destination", "from_client", "role", "operation", "code", "version"),
    *("client", "length", "offset", "latency_ns", "state", "protocol"),
)
"""Keys of a row that are columns of `messages` as they are."""

ASKED = ("stream_id", "client", "operation", "code", "version", "correlation", "protocol")
"""The same of `exchanges`; there they are the request's."""

Columns = dict[str, Any]


class Found(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


def tables(
    session: Analysis, origins: Origins, options: Options, chosen: Ints | None = None, named: Collection[str] = TABLES
) -> Iterator[Found]:
    """The rows of an analysis that was read to its end, as those of the tables that are named.

    chosen: of messages only these rows, rising, and the exchanges of which one half is among them; None: all.
    """
    allow(options.decompressed)
    reader, errors = Rows(session), dict[int, Mapping[str, Any]]()
    rows = np.arange(len(session.rows)) if chosen is None else chosen
    if "messages" in named:
        writer = JsonWriter(options.limits) if options.fields else None
        for part in chunks(session, rows):
            columns = _messages(reader, part, writer, origins)
            errors.update((row, error) for row, error in zip(part.tolist(), columns["error"], strict=True) if error)
            yield Found("messages", batch_of("messages", columns, options))
    if "exchanges" in named:
        requests = _requests(session, rows)
        if chosen is not None or "messages" not in named:
            _add_errors(reader, requests, rows if "messages" in named else rows[:0], errors)
        for first in range(0, len(requests), MOST):
            columns = _exchanges(reader, requests[first : first + MOST], errors)
            yield Found("exchanges", batch_of("exchanges", {"capture": origins.capture, **columns}, options))


def _requests(session: Analysis, rows: Ints) -> Ints:
    """The requests among rows, and those that rows answer."""
    role, partner = session.rows.column("role"), session.rows.column("partner")
    answered = partner[rows[role[rows] == Role.RESPONSE]].astype(np.int64)
    asked = np.concatenate((rows, answered[answered != NULL]))
    return np.unique(asked[role[asked] == Role.REQUEST])


def _add_errors(reader: Rows, requests: Ints, known: Ints, errors: dict[int, Mapping[str, Any]]) -> None:
    """Decodes the answers of requests that are not among the rows whose errors are known."""
    answers = reader.take("partner", requests).astype(np.int64)
    missing = np.setdiff1d(answers[answers != NULL], known)
    for part in chunks(reader.session, missing):
        found = zip(part.tolist(), reader.columns(["error"], part)[0], strict=True)
        errors.update((row, error) for row, error in found if error)


def _messages(reader: Rows, rows: Ints, writer: JsonWriter | None, origins: Origins) -> Columns:
    columns: Columns = dict(zip(COPIED, reader.columns(COPIED, rows), strict=True))
    time = reader.take("time", rows)
    file, record = origins.of(reader.take("last", rows))
    begin_file, begin = origins.of(reader.take("first", rows))
    columns["capture"] = origins.capture
    columns["file"] = picked(origins.files, file)
    columns["first_record"] = pa.array(begin, mask=begin_file != file)
    columns["last_record"] = record
    columns["time_ns"], columns["date"] = time, days(time)
    columns["correlation"] = _texts(reader.columns(["correlation"], rows)[0])
    keys = ("error", "info", "findings") if writer is None else ("error", "info", "findings", "fields")
    for key in keys:
        columns[key] = []
    for found in reader.objects(keys, rows):
        if writer is not None:
            found["fields"] = writer.dumps(found["fields"])
        for key, value in found.items():
            columns[key].append(value)
    return columns


def _exchanges(reader: Rows, requests: Ints, errors: Mapping[int, Mapping[str, Any]]) -> Columns:
    columns: Columns = dict(zip(ASKED, reader.columns(ASKED, requests), strict=True))
    partner = reader.take("partner", requests).astype(np.int64)
    missing = partner == NULL
    answers = np.where(missing, 0, partner)
    asked, answered = reader.take("time", requests), reader.take("time", answers)
    columns["request_id"], columns["response_id"] = reader.columns(["id", "partner_id"], requests)
    columns["correlation"] = _texts(columns["correlation"])
    columns["answered"] = ~missing
    columns["request_time_ns"], columns["response_time_ns"] = asked, pa.array(answered, mask=missing)
    columns["latency_ns"] = pa.array(answered - asked, mask=missing)
    columns["error"] = [errors.get(row) for row in partner.tolist()]
    columns["request_length"] = reader.take("length", requests)
    columns["response_length"] = pa.array(reader.take("length", answers), mask=missing)
    columns["request_state"] = picked(STATES, reader.take("state", requests))
    columns["response_state"] = pa.array(picked(STATES, reader.take("state", answers)), mask=missing)
    columns["date"] = days(asked)
    return columns


def _texts(values: Sequence[int | str | None]) -> list[str | None]:
    return [None if value is None else str(value) for value in values]


def days(time: Ints) -> Ints:
    """Days since 1970."""
    return (time // DAY).astype(np.int32)


def batch_of(table: str, columns: Columns, options: Options) -> pa.RecordBatch:
    """Columns in their order and types; a text stands for as many of it as there are rows."""
    wanted = schema(table, fields=options.fields)
    count = len(columns["date"])
    arrays = [
        pa.repeat(pa.scalar(unicode(column)), count) if isinstance(column, str) else _array(column, field.type)
        for field, column in ((field, columns[field.name]) for field in wanted)
    ]
    return pa.record_batch(arrays, schema=wanted)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(unicode(values), kind)


def unicode(value: Any) -> Any:
    """Text that is no Unicode (lone surrogates, file names in another encoding) as escapes, as JSON has it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: unicode(item) for key, item in value.items()}
    return [unicode(item) for item in value] if isinstance(value, list) else value
