"""The columns of `messages`: what the index tells, and what bodies say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analyzer.decode.rows import Rows
from analyzer.pipeline.arrays import array
from analyzer.pipeline.bodies import Told
from analyzer.pipeline.found import Columns, array_of, days
from analyzer.pipeline.origins import Origins
from analyzer.pipeline.tables import ERROR, FINDING

COPIED = (
    *("id", "stream_id", "partner_id", "source", "destination", "from_client", "role", "operation", "code", "version"),
    *("correlation", "client", "length", "offset", "latency_ns", "state", "protocol"),
)
"""Keys of a row that are columns as they are."""


def columns(reader: Rows, told: Told, origins: Origins) -> Columns:
    """Of messages, with what their bodies say."""
    rows = told.rows
    found: Columns = {key: array(reader.column(key, rows)) for key in COPIED}
    time = reader.take("time", rows)
    file, record = origins.of(reader.take("last", rows))
    begin_file, begin = origins.of(reader.take("first", rows))
    used, places = np.unique(file, return_inverse=True)
    names = array_of([origins.files[each] for each in used.tolist()], pa.string())
    found |= {"capture": origins.capture, "file": names.take(pa.array(places)), "last_record": record}
    found["first_record"] = pa.array(begin, mask=begin_file != file)
    found |= {"time_ns": time, "date": days(time), **told.texts}
    found["error"] = errors_of(told.errors.values).take(pa.array(told.numbers["error"]))
    kinds = [
        [dict(zip(("severity", "code", "text"), each, strict=True)) for each in kind] for kind in told.findings.values
    ]
    found["findings"] = pa.array(kinds, pa.list_(FINDING)).take(pa.array(told.numbers["findings"]))
    return found


def errors_of(kinds: list[tuple[int, str] | None]) -> pa.Array:
    """Errors as they stand in a column."""
    return pa.array([None if kind is None else {"code": kind[0], "name": kind[1]} for kind in kinds], ERROR)
