"""The columns of `streams`: connections, with what was written of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from analyzer.capture.packets import PacketReader
from analyzer.columns.arrays import Ints, make_group_keys, rank_in_runs
from analyzer.decode.bodies import flag_row_findings
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.decode.rows import RowReader
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.messages.row_findings import decode_findings
from analyzer.session import Analysis, Session
from analyzer.tables.arrow_columns import (
    BATCH_ROWS,
    ColumnValues,
    build_array,
    convert_sequence,
    count_days,
    take_texts,
)
from analyzer.tables.bodies import BodyColumns
from analyzer.tables.origins import RowSelection
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.finding import Finding
from dissectors.wire.fast_path import distinct

_ENDS = ("client", "server", None)
_SIDES = (("client", FROM_CLIENT), ("server", FROM_SERVER))


def build_stream_columns(session: Analysis, chosen: RowSelection) -> Iterator[ColumnValues]:
    """Builds the columns of the chosen streams, with the counts of the chosen messages."""
    if not len(chosen.streams):
        return
    counts = _count_stream_messages(session, chosen)
    streams = session.engine.streams
    for first in range(0, len(chosen.streams), BATCH_ROWS):
        used = chosen.streams[first : first + BATCH_ROWS]
        found: ColumnValues = {name: each[used] for name, each in counts.items()}
        found |= {"stream_id": name_streams(session, used), "protocol": name_protocols(session, used)}
        for name, side in _SIDES:
            found[name] = [name_endpoint(session, each, side) for each in used.tolist()]
        closer, client = (streams.column(name)[used].astype(np.int64) for name in ("closer", "client"))
        ends = np.where(closer == UNKNOWN_SIDE, 2, np.where(closer == np.maximum(client, 0), 0, 1))
        found["closed_by"] = take_texts(_ENDS, ends)
        begin = streams.column("begin")[used]
        found |= {"first_time_ns": begin, "last_time_ns": streams.column("end")[used]}
        found |= {"packets": streams.column("packets")[used], "date": count_days(begin)}
        yield found


def name_streams(session: Analysis, streams: Ints) -> pa.Array:
    """Returns the ids of streams by their numbers."""
    used, places = distinct(streams)
    return pa.array([name_stream(session, each) for each in used.tolist()], pa.string()).take(pa.array(places))


def name_protocols(session: Analysis, streams: Ints) -> pa.Array:
    """Returns the protocols of streams; `unknown` for those that are not recognised."""
    known = [*(each.name for each in session.engine.known.dissectors), "unknown"]
    numbers = session.engine.streams.column("protocol")[streams].astype(np.int64)
    return take_texts(known, np.where(numbers < 0, len(known) - 1, numbers))


def _count_stream_messages(session: Analysis, chosen: RowSelection) -> ColumnValues:
    """Messages and bytes of each stream of the analysis."""
    index, rows, size = session.rows, chosen.messages, len(session.engine.streams)
    stream, side = index.column("stream")[rows], index.column("side")[rows]
    found: ColumnValues = {}
    for name, number in _SIDES:
        mine = side == number
        of_mine = stream[mine].astype(np.int64)
        # Not by weights, which would be floats.
        total = np.zeros(size, np.int64)
        np.add.at(total, of_mine, index.column("length")[rows][mine])
        found |= {f"{name}_messages": np.bincount(of_mine, minlength=size), f"{name}_bytes": total}
    before = chosen.before or {}
    return {name: each + before[name] if name in before else each for name, each in found.items()}


FindingTexts = tuple[str, str, str]
"""Severity, code and text."""

_NAMES = ("severity", "code", "text")
_OF_ROW = ("id", "stream_id", "operation", "protocol")


def build_row_findings(reader: RowReader, body_columns: BodyColumns) -> ColumnValues | None:
    """The findings of rows, whose bodies have told theirs and those of the index at sight; None if there are none."""
    session, rows = reader.session, body_columns.rows
    early, late = (flag_row_findings(session, rows, late=hindsight) for hindsight in (False, True))
    (body, before, after), keys = make_group_keys([body_columns.numbers["findings"], early, late])
    kinds = body_columns.findings.values
    lists = [
        _add_late_findings(kinds[kind], *bits)
        for kind, *bits in zip(body.tolist(), before.tolist(), after.tolist(), strict=True)
    ]
    length = np.array([len(each) for each in lists], np.int64)
    counts = length[keys]
    mine = np.repeat(rows, counts)
    if not len(mine):
        return None
    places = np.repeat((np.cumsum(length) - length)[keys], counts) + rank_in_runs(counts)
    found: ColumnValues = {key: build_array(reader.read_column(key, mine)) for key in _OF_ROW}
    flat = list(chain.from_iterable(lists))
    for index, name in enumerate(_NAMES):
        found[name] = take_texts([each[index] for each in flat], places)
    time = reader.take_cells("time", mine)
    return {**found, "number": _number_rows(session, mine), "time_ns": time, "date": count_days(time)}


def _number_rows(session: Analysis, rows: Ints) -> pa.Array | None:
    """Numbers that people know rows by: those of a whole input."""
    return pa.array(rows + 1) if isinstance(session, Session) else None


def _add_late_findings(texts: Sequence[FindingTexts], early: int, late: int) -> list[FindingTexts]:
    """What `early` stands for is the beginning of `texts`."""
    known = len(decode_findings(early))
    return [*map(_convert_finding, decode_findings(late)), *texts[known:]]


def _convert_finding(finding: Finding) -> FindingTexts:
    return finding.severity.name.lower(), finding.code, finding.text


def build_stream_findings(session: Analysis) -> Iterator[ColumnValues]:
    """Yields the rows of findings that belong to connections."""
    findings, streams = session.engine.stream_findings, session.engine.streams
    for first in range(0, len(findings), BATCH_ROWS):
        stream, texts = findings.describe(np.arange(first, min(first + BATCH_ROWS, len(findings))))
        found: ColumnValues = dict.fromkeys(("number", "id", "operation", "time_ns"))
        found |= _build_finding_columns(list(map(_convert_finding, texts)))
        found |= {"stream_id": name_streams(session, stream), "protocol": name_protocols(session, stream)}
        yield {**found, "date": count_days(streams.column("begin")[stream])}


def build_file_findings(session: Analysis) -> Iterator[ColumnValues]:
    """Yields the rows of findings about captures, on the day of the file's first packet.

    A run on Spark gets these findings from the tasks that read the files.
    """
    if not (found := session.source.findings):
        return
    files = session.source.files if isinstance(session.source, PacketReader) else []
    begins = {info.path: info.first for info in files if info.first is not None}
    first = min(begins.values(), default=0)
    named = [max((path for path in begins if one.text.startswith(path)), key=len, default="") for one in found]
    empty: ColumnValues = dict.fromkeys(("number", "id", "stream_id", "operation", "time_ns"))
    date = count_days(np.array([begins.get(path, first) for path in named], np.int64))
    yield {**empty, **_build_finding_columns(list(map(_convert_finding, found))), "protocol": "unknown", "date": date}


def _build_finding_columns(texts: Sequence[FindingTexts]) -> ColumnValues:
    columns = zip(*texts, strict=True)
    return {name: convert_sequence(list(column), pa.string()) for name, column in zip(_NAMES, columns, strict=True)}
