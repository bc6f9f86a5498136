"""The tables that only one process makes: streams, findings, records of logs. See tables.EVERY."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from analyzer import defects
from analyzer.columns import Ints
from analyzer.export.objects import payloads_of
from analyzer.messages import FROM_CLIENT, FROM_SERVER
from analyzer.naming import Naming
from analyzer.pipeline.batches import Columns, Found, batch_of, days
from analyzer.pipeline.options import Options
from analyzer.rows import Rows, chunks, picked
from analyzer.session import Session
from analyzer.streams import UNKNOWN_SIDE
from dissectors.payload import Payload
from dissectors.wire.inner import content

HASHED = 16
"""Hexadecimal digits of a key's hash."""

OF_MESSAGE = ("id", "stream_id", "operation", "role", "protocol")
INT32, INT64 = 1 << 31, 1 << 63


def tables(session: Session, rows: Ints, capture: str, options: Options, named: Collection[str]) -> Iterator[Found]:
    """The named ones of these tables for rows of a session that was read to its end."""
    makers = {"streams": _streams, "findings": _findings, "records": _records}
    for name, make in makers.items():
        if name in named:
            for columns in make(session, rows):
                yield Found(name, batch_of(name, {"capture": capture, **columns}, options))


def _streams(session: Session, rows: Ints) -> Iterator[Columns]:
    """Those of which a row is chosen; all of them if all rows are."""
    streams, index = session.engine.streams, session.rows
    stream, side, length = (index.column(name)[rows].astype(np.int64) for name in ("stream", "side", "length"))
    whole = len(rows) == len(index)
    used = np.arange(len(streams)) if whole else np.unique(stream)
    size = len(streams)
    columns: Columns = {"stream_id": [session.stream_id(each) for each in used.tolist()]}
    for name, number in (("client", FROM_CLIENT), ("server", FROM_SERVER)):
        mine = side == number
        columns[name] = [session.endpoint(each, number) for each in used.tolist()]
        columns[f"{name}_messages"] = np.bincount(stream[mine], minlength=size)[used]
        # Not by weights, which would be floats.
        total = np.zeros(size, np.int64)
        np.add.at(total, stream[mine], length[mine])
        columns[f"{name}_bytes"] = total[used]
    closer, client = (streams.column(name)[used].astype(np.int64) for name in ("closer", "client"))
    ends = np.where(closer == UNKNOWN_SIDE, 2, np.where(closer == np.maximum(client, 0), 0, 1))
    columns["closed_by"] = [("client", "server", None)[each] for each in ends.tolist()]
    first = streams.column("begin")[used]
    columns |= {"first_time_ns": first, "last_time_ns": streams.column("end")[used]}
    columns |= {"packets": streams.column("packets")[used], "date": days(first)}
    known = [each.name for each in session.engine.known.dissectors]
    protocol = streams.column("protocol")[used].astype(np.int64)
    columns["protocol"] = picked((*known, "unknown"), np.where(protocol < 0, len(known), protocol))
    yield columns


def _findings(session: Session, rows: Ints) -> Iterator[Columns]:
    """Those of the rows; with all rows also those without one."""
    reader = Rows(session, hindsight=True)
    keys = ("number", "id", "stream_id", "operation", "protocol", "findings")
    for part in chunks(session, rows):
        times = session.rows.column("time")[part].tolist()
        found = [
            {**told, "time_ns": time, **{key: row[key] for key in keys[:-1]}}
            for time, row in zip(times, reader.objects(keys, part), strict=True)
            for told in row["findings"]
        ]
        if found:
            yield {**_turned(found), "date": days(np.array([each["time_ns"] for each in found]))}
    if len(rows) == len(session.rows) and (others := session.findings):
        alike: Columns = dict.fromkeys(("number", "id", "stream_id", "operation", "time_ns"), [None] * len(others))
        begins = [info.first for info in session.packets.files if info.first is not None]
        said = [{"severity": one.severity.name.lower(), "code": one.code, "text": one.text} for one in others]
        day = days(np.array([min(begins, default=0)]))
        yield {**alike, **_turned(said), "protocol": "unknown", "date": np.repeat(day, len(others))}


def _records(session: Session, rows: Ints) -> Iterator[Columns]:
    naming, reader = Naming(session), Rows(session)
    for part in chunks(session, rows):
        found: list[dict[str, Any]] = []
        about = reader.objects(OF_MESSAGE, part)
        times = session.rows.column("time")[part].tolist()
        for row, time, told, readable in zip(part.tolist(), times, about, session.readable(part), strict=True):
            dissector, message, context = readable
            if dissector is None:
                continue
            body = defects.values(dissector, message, context)
            for _, parts in groupby(payloads_of(session, naming, row, dissector, body, context), _record_of):
                if (cells := _cells(list(parts))) is not None:
                    found.append({**told, "time_ns": time, **cells})
        if found:
            yield {**_turned(found), "date": days(np.array([each["time_ns"] for each in found]))}


def _record_of(payload: Payload) -> tuple[Any, ...]:
    return payload.place[:-1]


def _cells(parts: list[Payload]) -> dict[str, Any] | None:
    """The columns of one record; None for what is none of a log."""
    record = parts[0].record
    if record is None:
        return None
    lengths = {part.kind: len(data) for part in parts if (data := content(part.value)) is not None}
    key = next((content(part.value) for part in parts if part.kind == "key"), None)
    value = next((length for kind, length in lengths.items() if kind != "key"), None)
    return {
        "topic": record.topic,
        "partition": _within(record.partition, INT32),
        "offset": _within(record.offset, INT64),
        "timestamp_ms": _within(record.time, INT64),
        "key_hash": hashlib.sha256(key).hexdigest()[:HASHED] if isinstance(key, bytes) else None,
        "key_length": lengths.get("key"),
        "value_length": value,
    }


def _within(number: int | None, bound: int) -> int | None:
    """JSON has numbers of any size."""
    return number if number is not None and -bound <= number < bound else None


def _turned(rows: list[dict[str, Any]]) -> Columns:
    """Rows as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}
