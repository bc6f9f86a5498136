"""Fields of record data: batches, older message sets, and keys and values of internal topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from dissectors.catalog import Member, holding, merge_members
from dissectors.field import FieldSpec
from dissectors.kafka.catalog.structures import members
from dissectors.kafka.records.fields import BATCH_SPECS, HEADER_SPECS, MESSAGE_SPECS, RECORD_SPECS
from dissectors.kafka.schemas import load_named_schema
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.wire.schema import Schema

_TYPE, _VERSION = Member("_type", "int16"), Member("_version", "int16")
_PARTIAL = Member("partial", "bool", about="the last entry of a Fetch, cut")


@cache
def record_data() -> tuple[Member, ...]:
    """Returns the members of an entry of a records field, of all formats."""
    return (*merge_members(_make_members(BATCH_SPECS), _make_members(MESSAGE_SPECS)), _PARTIAL)


def _make_members(specs: Iterable[FieldSpec]) -> list[Member]:
    return [_INSIDE.get(spec.name, _member)(spec) for spec in specs]


def _member(spec: FieldSpec) -> Member:
    return Member(spec.name, spec.type, label=spec.label)


def _structs(members: Callable[[], Sequence[Member]]) -> Callable[[FieldSpec], Member]:
    return lambda spec: Member(spec.name, "struct", True, members=members)


_INSIDE: Mapping[str, Callable[[FieldSpec], Member]] = {
    "records": _structs(lambda: _make_members(RECORD_SPECS)),
    "messages": _structs(lambda: [*_make_members(MESSAGE_SPECS[:-1]), _PARTIAL]),
    "headers": _structs(lambda: [_member(spec) for spec in HEADER_SPECS]),
    "key": lambda spec: holding(_member(spec), partial(_merge_structures, "coordinatorKey", "controlKey")),
    "value": lambda spec: holding(
        _member(spec), partial(_merge_structures, "coordinatorValue", "metadata", "controlValue")
    ),
}


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
