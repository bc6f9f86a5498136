"""The fields of layouts as members of a catalog: schemas in all their versions, messages of Protocol Buffers.

Theory. The names of fields come from the layouts that decode them, so they are always current. Members are made on
demand, because a protocol has thousands and a path names a few. Where a message contains one of its own kind, the
catalog stops with `open`: it is finite, and the bytes need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from dissectors.catalog import Member, merge_members
from dissectors.message import Path
from dissectors.wire.plan import RestChecksum, Step, bits_type, leaves_of
from dissectors.wire.protobuf import MessageType, ProtoField
from dissectors.wire.schema import NONE, FieldSchema, Schema
from dissectors.wire.specs import LayoutSpec

Refine: TypeAlias = Callable[[Member, Path], Member]
"""Adds what a schema does not say to a member: what its bytes may hold. It gets the member's path in the schema."""

UNKNOWN_TAGS = Member(
    "_unknownTaggedFields",
    "struct",
    repeated=True,
    members=lambda: (Member("tag", "uvarint"), Member("data", "bytes")),
    about="tagged fields that no table knows",
)


def _as_it_is(member: Member, path: Path) -> Member:
    return member


def of_schema(schema: Schema, refine: Refine = _as_it_is) -> list[Member]:
    """Returns the members of a schema, of all versions together."""
    return _of_fields(schema, schema.fields, (), refine)


def _of_fields(schema: Schema, fields: Sequence[FieldSchema], around: Path, refine: Refine) -> list[Member]:
    found = merge_members(_of_field(schema, field, around, refine) for field in fields)
    bits = (each for field in fields for each in field.bits)
    found += [Member(name, bits_type(mask), label=schema.dialect.labels(name)) for name, mask in bits]
    return found if schema.flexible == NONE else [*found, UNKNOWN_TAGS]


def _of_field(schema: Schema, field: FieldSchema, around: Path, refine: Refine) -> Member:
    path = (*around, field.name)
    if field.fields is not None:
        inside = partial(_of_fields, schema, field.fields, path, refine)
        return refine(Member(field.name, "struct", field.array, members=inside), path)
    label = None if field.enum is None else schema.dialect.labels(field.enum)
    return refine(Member(field.name, field.type, field.array, label), path)


def of_steps(steps: Iterable[Step]) -> Iterator[Member]:
    """Yields the members of a layout that has no schema: its values, and what stands beside them."""
    for leaf in leaves_of(steps):
        others = [each.valid for each in leaf.derived if isinstance(each, RestChecksum)]
        others += [bits.spec for bits in leaf.bits]
        for spec in others if isinstance(leaf.spec, LayoutSpec) else [leaf.spec, *others]:
            yield Member(spec.name, spec.type, label=spec.label)


UNKNOWN_FIELDS = Member(
    "_unknownFields",
    "struct",
    repeated=True,
    members=lambda: (Member("number", "uvarint"), Member("wireType", "int8"), Member("data", "bytes")),
    about="fields that no table knows",
)


def of_message(message: MessageType, around: tuple[MessageType, ...] = ()) -> list[Member]:
    """Returns the members of a message of Protocol Buffers."""
    return [*_of_message(message, (*around, message)), UNKNOWN_FIELDS]


def _of_message(message: MessageType, around: tuple[MessageType, ...]) -> Iterator[Member]:
    for row in (*message.fields.values(), *message.former.values()):
        if row.message in around:
            yield Member(row.name, "struct", row.many is not None, open=True)
        elif row.message is not None:
            inside = partial(of_message, row.message, around)
            yield Member(row.name, "struct", row.many is not None, members=inside)
        else:
            yield Member(row.name, _type_of(row), row.many is not None, None if _is_enum(row) else row.spec.label)


def _is_enum(row: ProtoField) -> bool:
    return row.spec.type == "enum"


def _type_of(row: ProtoField) -> str:
    """Of an enum the values are names."""
    return "string" if _is_enum(row) else row.spec.type
