"""Arrow types of decoded bodies, from what a protocol says its messages have.

Theory. A layout names the members of all versions together, so it gives a type that does not depend on the capture: a
structure is a struct, what is repeated is a list. Only what no table knows (maps with any key, JSON that a message
holds) stays a text. Tables of the Python package and of exports take their types from here and from table_schemas.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from analyzer.query.fields.layouts import find_member, format_prefix
from analyzer.query.fields.path import BodyField, FieldKind, find_kind, is_time
from analyzer.tables.table_schemas import TIME
from dissectors import registry
from dissectors.api import Role
from dissectors.catalog import Layout, Member
from dissectors.wire.times import timestamp

DEEPEST = 12
"""Structures within structures that have a type of their own; what is deeper is JSON."""

TEXT, NUMBER, BYTES = pa.string(), pa.int64(), pa.binary()

_KINDS = {FieldKind.FLAG: pa.bool_(), FieldKind.BYTES: BYTES, FieldKind.NUMBER: NUMBER}
_NUMBERS = {
    **dict.fromkeys(("float", "float32", "float64", "double"), pa.float64()),
    **dict.fromkeys(("uint64", "fixed64"), pa.uint64()),
}


def find_body_type(protocol: str, operation: str | None, role: Role) -> tuple[str, pa.DataType] | None:
    """Returns the name and the type of the bodies of an operation in a role; None if no layout has them."""
    layouts = [each for each in _find_layouts(protocol, operation) if _fits(each, role)]
    kind = _merge_all(find_struct(each.members()) for each in layouts)
    return None if kind is None else (format_prefix(protocol, layouts[0]), kind)


def find_field_type(field: BodyField) -> pa.DataType | None:
    """Returns the type of one value at a path; None if no layout has it."""
    roles = tuple(Role) if field.roles is None else field.roles
    layouts = _find_layouts(field.protocol, field.operation)
    found = (find_member(each, field.path) for each in layouts if any(_fits(each, role) for role in roles))
    return _merge_all(find_type(each.member, repeated=False) for each in found if each is not None)


def _find_layouts(protocol: str, operation: str | None) -> list[Layout]:
    catalog = registry.by_name(protocol).catalog if protocol in registry.names() else None
    return [] if catalog is None else [each for each in catalog.layouts() if each.operation == operation]


def _fits(layout: Layout, role: Role) -> bool:
    return layout.role is None or (layout.role is Role.RESPONSE) == (role is Role.RESPONSE)


def find_struct(members: Iterable[Member], depth: int = 0) -> pa.DataType:
    """Returns the type of a structure; JSON text if it has no members."""
    fields: dict[str, pa.DataType] = {}
    for member in members:
        kind = find_type(member, depth, repeated=member.repeated)
        fields[member.name] = _merge(fields.get(member.name, kind), kind)
    return pa.struct(list(fields.items())) if fields else TEXT


def find_type(member: Member, depth: int = 0, *, repeated: bool) -> pa.DataType:
    """Returns the type of a member; without `repeated`, of one element of it."""
    kind = find_kind(member.type)
    found = TEXT
    if is_time(member.label) and kind is FieldKind.NUMBER:
        found = TIME if member.label is timestamp else NUMBER
    elif member.members is not None and kind is not FieldKind.BYTES:
        if not member.open and depth < DEEPEST:
            found = find_struct(member.members(), depth + 1)
    else:
        found = _NUMBERS.get(member.type) or _KINDS.get(kind, TEXT)
    return pa.list_(found) if repeated else found


def _merge_all(kinds: Iterable[pa.DataType]) -> pa.DataType | None:
    found = None
    for kind in kinds:
        found = kind if found is None else _merge(found, kind)
    return found


def _merge(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type for values of two layouts; JSON text if they have nothing in common."""
    if one == other:
        return one
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {each.name: each.type for each in one}
        for each in other:
            fields[each.name] = _merge(fields.get(each.name, each.type), each.type)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_merge(one.value_type, other.value_type))
    return TEXT
