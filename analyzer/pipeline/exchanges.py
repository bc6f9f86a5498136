"""The columns of `exchanges`: a request, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import Rows
from analyzer.pipeline.arrays import array, nothing_where
from analyzer.pipeline.bodies import Told
from analyzer.pipeline.found import Columns, days
from analyzer.pipeline.messages import errors_of
from analyzer.query.response_errors import errors
from analyzer.session import Analysis
from dissectors.wire.fast_path import NULL

ASKED = ("stream_id", "client", "operation", "code", "version", "correlation", "protocol")
"""Keys of a row that are columns as they are; they are the request's."""


class Reported:
    """The errors of messages that report one, by row."""

    def __init__(self) -> None:
        self._rows: list[Ints] = [np.zeros(0, np.int64)]
        self._numbers: list[Ints] = [np.zeros(0, np.int64)]
        self._kinds: dict[tuple[int, str] | None, int] = {None: 0}

    def add(self, told: Told) -> None:
        """What bodies said."""
        self._add(told.rows, told.numbers["error"], told.errors.values)

    def look(self, session: Analysis, rows: Ints) -> None:
        """Reads the rows itself, those alone that may report one."""
        found = errors(session, rows)
        self._add(rows[found.places], found.numbers, list(found.kinds))

    def _add(self, rows: Ints, numbers: Ints, kinds: list[tuple[int, str] | None]) -> None:
        known = np.array([self._kinds.setdefault(kind, len(self._kinds)) for kind in kinds], np.int64)
        mine = known[numbers]
        self._rows.append(rows[mine > 0])
        self._numbers.append(mine[mine > 0])

    def of(self) -> Callable[[Ints], pa.Array]:
        """All that were added, as the column `error` of any rows."""
        rows, numbers, kinds = np.concatenate(self._rows), np.concatenate(self._numbers), errors_of(list(self._kinds))
        order = np.argsort(rows, kind="stable")
        rows, numbers = np.append(rows[order], -1), np.append(numbers[order], 0)

        def column(wanted: Ints) -> pa.Array:
            places = np.searchsorted(rows[:-1], wanted)
            return kinds.take(pa.array(np.where(rows[places] == wanted, numbers[places], 0)))

        return column


def columns(reader: Rows, requests: Ints, error: Callable[[Ints], pa.Array]) -> Columns:
    """Of exchanges by the rows of their requests; `error` gives those of answers, of rows that may be -1."""
    found: Columns = {key: array(reader.column(key, requests)) for key in ASKED}
    partner = reader.take("partner", requests).astype(np.int64)
    missing = partner == NULL
    answers = np.where(missing, 0, partner)
    asked, answered = reader.take("time", requests), reader.take("time", answers)
    found["request_id"] = array(reader.column("id", requests))
    found["response_id"] = array(reader.column("partner_id", requests))
    found["answered"] = ~missing
    found["request_time_ns"], found["response_time_ns"] = asked, pa.array(answered, mask=missing)
    found["latency_ns"] = pa.array(answered - asked, mask=missing)
    found["error"] = error(np.where(missing, -1, partner))
    found["request_length"] = reader.take("length", requests)
    found["response_length"] = pa.array(reader.take("length", answers), mask=missing)
    found["request_state"] = array(reader.column("state", requests))
    found["response_state"] = nothing_where(array(reader.column("state", answers)), missing)
    found["date"] = days(asked)
    return found
