"""Fields of record data: batches, older message sets, and keys and values of internal topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from dissectors.catalog import Member, holding, merge_members
from dissectors.field import FieldSpec
from dissectors.kafka.catalog.structures import members
from dissectors.kafka.records import layout
from dissectors.kafka.schemas import load_named_schema
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.wire.members import of_steps
from dissectors.wire.schema import Schema

_TYPE, _VERSION = Member("_type", "int16"), Member("_version", "int16")
_PARTIAL = Member("partial", "bool", about="the last entry of a Fetch, cut")


@cache
def record_data() -> tuple[Member, ...]:
    """Returns the members of an entry of a records field, of all formats."""
    batch = [*map(_open, of_steps(layout.BATCH.steps)), _structs(layout.RECORDS, lambda: list(map(_open, _record())))]
    return (
        *merge_members(batch, [*_message(), _structs(layout.MESSAGE_SET, lambda: [*_message(), _PARTIAL])]),
        _PARTIAL,
    )


def _message() -> list[Member]:
    """Those of an older message, in the order of its values."""
    offset, crc, valid, magic, *rest = map(_open, of_steps(layout.MESSAGES[1].steps))
    return [offset, magic, crc, valid, *rest]


def _record() -> Iterator[Member]:
    yield from (Member(spec.name, spec.type, label=spec.label) for spec in layout.RECORD_SPECS)
    yield _structs(layout.HEADERS, lambda: [Member(spec.name, spec.type) for spec in (layout.HEADER_KEY, layout.VALUE)])


def _structs(spec: FieldSpec, members: Callable[[], Sequence[Member]]) -> Member:
    return Member(spec.name, "struct", True, members=members)


_STRUCTURES = {"key": ("coordinatorKey", "controlKey"), "value": ("coordinatorValue", "metadata", "controlValue")}
"""The kinds of structures that a record's key and value may hold."""


def _open(member: Member) -> Member:
    kinds = _STRUCTURES.get(member.name)
    return member if kinds is None else holding(member, partial(_merge_structures, *kinds))


def _merge_structures(*kinds: str) -> list[Member]:
    """What all structures of these kinds have."""
    return merge_members(*(found for kind in kinds for found in _structures(kind)))


def _structures(kind: str) -> Iterator[list[Member]]:
    if kind == "controlKey":
        yield [_VERSION, *members(load_named_schema("ControlRecordTypeSchema"))]
    elif kind == "controlValue":
        names = dict.fromkeys(table("quirks")["controlValue"].values())
        yield from ([_VERSION, *members(load_named_schema(name))] for name in names if name is not None)
    elif kind == "metadata":
        yield [_TYPE, _VERSION, *_merge_table_rows(kind)]
    else:
        yield [_TYPE if kind == "coordinatorKey" else _VERSION, *_merge_table_rows(kind)]


def _merge_table_rows(kind: str) -> list[Member]:
    rows = (row for row in table("records")["records"] if row["kind"] == kind)
    return merge_members(*(members(Schema.parse(row["name"], row, KAFKA)) for row in rows))
