"""The columns of `messages`: what the index tells, and what bodies say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.response_errors import find_errors
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import ColumnValues, build_array, convert_sequence, count_days, mask_values
from analyzer.tables.bodies import RECORDS, BodyColumns
from analyzer.tables.origins import PacketOrigins
from analyzer.tables.table_schemas import ERROR, FINDING
from dissectors.wire.fast_path import NULL

MESSAGE_COLUMNS = (
    *("id", "stream_id", "partner_id", "source", "destination", "from_client", "role", "operation", "code", "version"),
    *("correlation", "client", "length", "offset", "latency_ns", "state", "protocol"),
)
"""Keys of a row that are columns as they are."""


def build_message_columns(reader: RowReader, body_columns: BodyColumns, origins: PacketOrigins) -> ColumnValues:
    """Builds the columns of the table `messages` from rows and the columns of their bodies."""
    rows = body_columns.rows
    found: ColumnValues = {key: build_array(reader.read_column(key, rows)) for key in MESSAGE_COLUMNS}
    time = reader.take_cells("time", rows)
    file, record = origins.locate(reader.take_cells("last", rows))
    begin_file, begin = origins.locate(reader.take_cells("first", rows))
    used, places = np.unique(file, return_inverse=True)
    names = convert_sequence([origins.files[each] for each in used.tolist()], pa.string())
    found |= {"capture": origins.capture, "file": names.take(pa.array(places)), "last_record": record}
    found["first_record"] = pa.array(begin, mask=begin_file != file)
    found |= {"time_ns": time, "date": count_days(time)}
    found |= {slot: texts for slot, texts in body_columns.texts.items() if slot != RECORDS}
    if body_columns.typed is not None:
        found["fields"] = body_columns.typed
    found["error"] = convert_errors(body_columns.errors.values).take(pa.array(body_columns.numbers["error"]))
    kinds = [
        [dict(zip(("severity", "code", "text"), each, strict=True)) for each in kind]
        for kind in body_columns.findings.values
    ]
    found["findings"] = pa.array(kinds, pa.list_(FINDING)).take(pa.array(body_columns.numbers["findings"]))
    return found


def convert_errors(kinds: list[tuple[int, str] | None]) -> pa.Array:
    """Errors as they stand in a column."""
    return pa.array([None if kind is None else {"code": kind[0], "name": kind[1]} for kind in kinds], ERROR)


REQUEST_COLUMNS = ("stream_id", "client", "operation", "code", "version", "correlation", "protocol")
"""Keys of a row that are columns as they are; they are the request's."""


class ErrorColumn:
    """The errors of messages that report one, by row."""

    def __init__(self) -> None:
        self._rows: list[Ints] = [np.zeros(0, np.int64)]
        self._numbers: list[Ints] = [np.zeros(0, np.int64)]
        self._kinds: dict[tuple[int, str] | None, int] = {None: 0}

    def add_bodies(self, body_columns: BodyColumns) -> None:
        """Fills in the columns that come from decoded bodies."""
        self._add(body_columns.rows, body_columns.numbers["error"], body_columns.errors.values)

    def read_rows(self, session: Analysis, rows: Ints) -> None:
        """Reads the rows itself, those alone that may report one."""
        found = find_errors(session, rows)
        self._add(rows[found.places], found.numbers, list(found.kinds))

    def _add(self, rows: Ints, numbers: Ints, kinds: list[tuple[int, str] | None]) -> None:
        known = np.array([self._kinds.setdefault(kind, len(self._kinds)) for kind in kinds], np.int64)
        mine = known[numbers]
        self._rows.append(rows[mine > 0])
        self._numbers.append(mine[mine > 0])

    def build_lookup(self) -> Callable[[Ints], pa.Array]:
        """Returns a function that builds the column `error` of any of the added rows."""
        rows, numbers, kinds = (
            np.concatenate(self._rows),
            np.concatenate(self._numbers),
            convert_errors(list(self._kinds)),
        )
        order = np.argsort(rows, kind="stable")
        rows, numbers = np.append(rows[order], -1), np.append(numbers[order], 0)

        def column(wanted: Ints) -> pa.Array:
            places = np.searchsorted(rows[:-1], wanted)
            return kinds.take(pa.array(np.where(rows[places] == wanted, numbers[places], 0)))

        return column


def build_exchange_columns(reader: RowReader, requests: Ints, error: Callable[[Ints], pa.Array]) -> ColumnValues:
    """Of exchanges by the rows of their requests; `error` gives those of answers, of rows that may be -1."""
    found: ColumnValues = {key: build_array(reader.read_column(key, requests)) for key in REQUEST_COLUMNS}
    partner = reader.take_cells("partner", requests).astype(np.int64)
    missing = partner == NULL
    answers = np.where(missing, 0, partner)
    request_time, answered = reader.take_cells("time", requests), reader.take_cells("time", answers)
    found["request_id"] = build_array(reader.read_column("id", requests))
    found["response_id"] = build_array(reader.read_column("partner_id", requests))
    found["answered"] = ~missing
    found["request_time_ns"], found["response_time_ns"] = request_time, pa.array(answered, mask=missing)
    found["latency_ns"] = pa.array(answered - request_time, mask=missing)
    found["error"] = error(np.where(missing, -1, partner))
    found["request_length"] = reader.take_cells("length", requests)
    found["response_length"] = pa.array(reader.take_cells("length", answers), mask=missing)
    found["request_state"] = build_array(reader.read_column("state", requests))
    found["response_state"] = mask_values(build_array(reader.read_column("state", answers)), missing)
    found["date"] = count_days(request_time)
    return found
