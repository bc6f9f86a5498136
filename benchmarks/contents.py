"""How many bytes of keys, values and headers the records of a capture have: what a rate by the byte is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from analyzer.decode.bodies import decode_body
from analyzer.decode.content import read_header
from analyzer.session import Session
from dissectors.wire.embedded import EmbeddedValue

_TOPICS, _PARTITIONS = ("topicData", "responses"), ("partitionData", "partitions")
CARRIERS = frozenset({"Produce", "Fetch"})


def record_bytes(capture: Path) -> int:
    """The sum over all records of all batches, decompressed."""
    with Session([capture]).load() as session:
        rows = (row for row in range(len(session.rows)) if read_header(session, row).operation in CARRIERS)
        return sum(map(_bytes_of, (batch for row in rows for batch in _batches(decode_body(session, row).values))))


def _batches(values: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for topic in _listed(values, _TOPICS):
        for partition in _listed(topic, _PARTITIONS):
            yield from partition.get("records") or ()


def _listed(values: Mapping[str, Any], names: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    return next((values[name] for name in names if name in values), ())


def _bytes_of(batch: Mapping[str, Any]) -> int:
    return sum(
        _size(record["key"])
        + _size(record["value"])
        + sum(len(header["key"]) + _size(header["value"]) for header in record["headers"])
        for record in batch["records"]
    )


def _size(value: bytes | EmbeddedValue | None) -> int:
    return 0 if value is None else len(value.data if isinstance(value, EmbeddedValue) else value)
