"""The columns of `findings`: one row for each thing that is to be said, of a message, a connection or a file.

Theory. What bodies say was found when they were read for `messages`. What only later packets tell (a request that has
no answer) stands in no row that is also printed while it comes, but here it does: between what the index tells and what
the body says, as for people. Combinations of the three are few, so lists are made for them and not for rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from analyzer.capture.packets import PacketReader
from analyzer.columns.arrays import Ints, make_group_keys, rank_in_runs
from analyzer.decode.bodies import flag_row_findings
from analyzer.decode.rows import Rows
from analyzer.messages.row_findings import decode_findings
from analyzer.pipeline.arrays import array, picked
from analyzer.pipeline.bodies import Told
from analyzer.pipeline.found import MOST, Columns, array_of, days
from analyzer.pipeline.streams import ids, protocols
from analyzer.session import Analysis, Session
from dissectors.finding import Finding

Said = tuple[str, str, str]
"""Severity, code and text."""

_NAMES = ("severity", "code", "text")
_OF_ROW = ("id", "stream_id", "operation", "protocol")


def of_rows(reader: Rows, told: Told) -> Columns | None:
    """The findings of rows, whose bodies have told theirs and those of the index at sight; None if there are none."""
    session, rows = reader.session, told.rows
    early, late = (flag_row_findings(session, rows, late=hindsight) for hindsight in (False, True))
    (body, before, after), keys = make_group_keys([told.numbers["findings"], early, late])
    kinds = told.findings.values
    lists = [
        _with_hindsight(kinds[kind], *bits)
        for kind, *bits in zip(body.tolist(), before.tolist(), after.tolist(), strict=True)
    ]
    length = np.array([len(each) for each in lists], np.int64)
    counts = length[keys]
    mine = np.repeat(rows, counts)
    if not len(mine):
        return None
    places = np.repeat((np.cumsum(length) - length)[keys], counts) + rank_in_runs(counts)
    found: Columns = {key: array(reader.column(key, mine)) for key in _OF_ROW}
    flat = list(chain.from_iterable(lists))
    for index, name in enumerate(_NAMES):
        found[name] = picked([each[index] for each in flat], places)
    time = reader.take("time", mine)
    return {**found, "number": _numbers(session, mine), "time_ns": time, "date": days(time)}


def _numbers(session: Analysis, rows: Ints) -> pa.Array | None:
    """Numbers that people know rows by: those of a whole input."""
    return pa.array(rows + 1) if isinstance(session, Session) else None


def _with_hindsight(said: Sequence[Said], early: int, late: int) -> list[Said]:
    """What `early` stands for is the beginning of `said`."""
    known = len(decode_findings(early))
    return [*map(_said, decode_findings(late)), *said[known:]]


def _said(finding: Finding) -> Said:
    return finding.severity.name.lower(), finding.code, finding.text


def of_streams(session: Analysis) -> Iterator[Columns]:
    """Those of connections."""
    remarks, streams = session.engine.stream_findings, session.engine.streams
    for first in range(0, len(remarks), MOST):
        stream, said = remarks.describe(np.arange(first, min(first + MOST, len(remarks))))
        found: Columns = dict.fromkeys(("number", "id", "operation", "time_ns"))
        found |= _columns(list(map(_said, said)))
        found |= {"stream_id": ids(session, stream), "protocol": protocols(session, stream)}
        yield {**found, "date": days(streams.column("begin")[stream])}


def of_files(session: Analysis) -> Iterator[Columns]:
    """Those of captures, on the day of a file's first packet; a run on Spark has them from those who read the files."""
    if not (found := session.source.findings):
        return
    files = session.source.files if isinstance(session.source, PacketReader) else []
    begins = {info.path: info.first for info in files if info.first is not None}
    first = min(begins.values(), default=0)
    named = [max((path for path in begins if one.text.startswith(path)), key=len, default="") for one in found]
    empty: Columns = dict.fromkeys(("number", "id", "stream_id", "operation", "time_ns"))
    date = days(np.array([begins.get(path, first) for path in named], np.int64))
    yield {**empty, **_columns(list(map(_said, found))), "protocol": "unknown", "date": date}


def _columns(said: Sequence[Said]) -> Columns:
    columns = zip(*said, strict=True)
    return {name: array_of(list(column), pa.string()) for name, column in zip(_NAMES, columns, strict=True)}
