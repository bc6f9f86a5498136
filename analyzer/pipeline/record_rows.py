"""Records of logs, message by message: the reference implementation of records.py, which reads many at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from analyzer.columns.arrays import Ints
from analyzer.decode.content import read_undecoded
from analyzer.decode.payloads import read_payloads
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import chunks
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.payload import Payload, Place
from dissectors.wire.inner import content

HASHED = 16
"""Hexadecimal digits of a key's hash."""

INT32, INT64 = 1 << 31, 1 << 63


class Told(NamedTuple):
    """One record, as columns of the table; `place`: of its message among the rows that were asked about."""

    place: int
    topic: str | None
    partition: int | None
    offset: int | None
    timestamp_ms: int | None
    key_hash: str | None
    key_length: int | None
    value_length: int | None


def carried(session: Analysis, naming: Naming, rows: Ints) -> Iterator[Told]:
    """The records in these rows, in their order."""
    first = 0
    for part in chunks(session, rows):
        readable = read_undecoded(session, part)
        for place, (row, (dissector, message, context)) in enumerate(zip(part.tolist(), readable, strict=True), first):
            if dissector is None:
                continue
            body = defects.decode_values(dissector, message, context)
            for _, parts in groupby(read_payloads(session, naming, row, dissector, body, context), _record_of):
                if (told := _told(place, list(parts))) is not None:
                    yield told
        first += len(part)


def key_hash(key: bytes) -> str:
    """What stands for a key in the table."""
    return hashlib.sha256(key).hexdigest()[:HASHED]


def _record_of(payload: Payload) -> Place:
    return payload.place[:-1]


def _told(place: int, parts: list[Payload]) -> Told | None:
    """None for what is none of a log."""
    record = parts[0].record
    if record is None:
        return None
    lengths = [len(data) for part in parts if part.kind != "key" and (data := content(part.value)) is not None]
    key = next((content(part.value) for part in parts if part.kind == "key"), content(record.key))
    return Told(
        place,
        record.topic,
        _within(record.partition, INT32),
        _within(record.offset, INT64),
        _within(record.time, INT64),
        key_hash(key) if isinstance(key, bytes) else None,
        None if key is None else len(key),
        lengths[0] if lengths else None,
    )


def _within(number: int | None, bound: int) -> int | None:
    """JSON has numbers of any size."""
    return number if number is not None and -bound <= number < bound else None
