"""Walks a protocol's layouts: to one path, or to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from analyzer.query.fields.path import BodyField, FieldKind, FieldPath, find_kind, find_scale, is_time
from dissectors.api import Role
from dissectors.catalog import Layout, Member
from dissectors.message import Path
from dissectors.wire.times import timestamp

DEEPEST = 24
"""Largest number of steps of a path: more than any layout has, and few enough for hostile input."""

_REQUEST_ROLES = frozenset(Role) - {Role.RESPONSE}
"""Roles of messages with the body of a request; a oneway message has one, too."""

_LARGE = frozenset({FieldKind.BYTES, FieldKind.ANY, FieldKind.STRUCT})
_MS = 10**6


class LayoutMember(NamedTuple):
    """Describes the member at the end of a path. repeated: the path has an array. large: its value may be large."""

    path: Path
    member: Member
    repeated: bool
    large: bool

    @property
    def kind(self) -> FieldKind:
        """The kind of the values of the field."""
        kind = find_kind(self.member.type)
        return FieldKind.STRUCT if self.member.members is not None and kind is not FieldKind.BYTES else kind

    def inside(self) -> Sequence[Member]:
        """Returns the members of the field, if it is a struct."""
        return () if self.member.members is None else self.member.members()

    def find_member(self, member: Member) -> LayoutMember:
        """Returns a member of this member; its `large` is also true if bytes must be decoded to read it."""
        large = self.large or self.kind is FieldKind.BYTES or self.member.open
        return LayoutMember((*self.path, member.name), member, self.repeated or member.repeated, large)


def find_member(layout: Layout, path: Sequence[str]) -> LayoutMember | None:
    """Returns the member at a path of a layout, or None."""
    parent: LayoutMember | None = None
    for name in path:
        inside = layout.members() if parent is None else parent.inside()
        found = next((each for each in (*inside, *_list_implied(parent)) if each.name == name), None)
        if found is None and parent is not None and parent.member.open:
            found = Member(name, "any", repeated=True, open=True)
        if found is None:
            return None
        parent = _wrap_member(found) if parent is None else parent.find_member(found)
    return parent


def list_members(layout: Layout) -> Iterator[LayoutMember]:
    """Yields all paths of a layout, each before the paths inside it."""
    for member in layout.members():
        yield from _list_below(_wrap_member(member))


def make_field(name: str, protocol: str, layouts: Sequence[Layout], found: Sequence[LayoutMember]) -> FieldPath:
    """Makes the field that is at the same path in several layouts of one operation."""
    first = found[0]
    kind = first.kind if all(each.kind is first.kind for each in found) else FieldKind.ANY
    label, scale = first.member.label, find_scale(first.member.name)
    if is_time(label):
        kind = FieldKind.TIME if label is timestamp else kind
        label, scale = None, _MS
    return FieldPath(
        name,
        kind,
        BodyField(protocol, layouts[0].operation, find_roles(each.role for each in layouts), first.path),
        any(each.repeated for each in found),
        label,
        first.member.about,
        scale,
        is_large=kind in _LARGE or any(each.large for each in found),
    )


def find_roles(roles: Iterable[Role | None]) -> frozenset[Role] | None:
    """Returns the roles of messages that have one of several layouts; None if all roles have one."""
    every_role: frozenset[Role] = frozenset()
    for role in roles:
        every_role |= frozenset(Role) if role is None else {role} if role is Role.RESPONSE else _REQUEST_ROLES
    return None if every_role == frozenset(Role) else every_role


def format_prefix(protocol: str, layout: Layout) -> str:
    """Formats what precedes the paths of a layout: `kafka.Fetch.request`, `zookeeper.create`."""
    role = "" if layout.role is None else f".{layout.role.name.lower()}"
    return f"{protocol}.{layout.operation}{role}"


def _wrap_member(member: Member) -> LayoutMember:
    return LayoutMember((member.name,), member, member.repeated, False)


def _list_below(parent: LayoutMember) -> Iterator[LayoutMember]:
    yield parent
    if len(parent.path) < DEEPEST:
        for member in parent.inside():
            yield from _list_below(parent.find_member(member))


def _list_implied(parent: LayoutMember | None) -> Sequence[Member]:
    """Returns the members that every bytes field has."""
    if parent is None or parent.kind not in (FieldKind.BYTES, FieldKind.ANY):
        return ()
    return Member("length", "int64"), Member("hex", "string"), Member("as", "string"), Member("value", "any", open=True)
