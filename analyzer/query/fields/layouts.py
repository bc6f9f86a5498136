"""Walking what a protocol says its messages have: to one path, or to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from analyzer.query.fields.path import BodyField, FieldPath, Kind, is_time, kind_of, scale_of
from dissectors.api import Role
from dissectors.catalog import Layout, Member
from dissectors.message import Path
from dissectors.wire.times import timestamp

DEEPEST = 24
"""Steps of a path: more than any layout has, few enough for a hostile one."""

_ASKING = frozenset(Role) - {Role.RESPONSE}
"""Roles of messages that have the body of a request: a oneway message has, too."""

_LARGE = frozenset({Kind.BYTES, Kind.ANY, Kind.STRUCT})
_MS = 10**6


class Met(NamedTuple):
    """A member at the end of a path. repeated: an array is on the way. large: its values may be, or what holds it."""

    path: Path
    member: Member
    repeated: bool
    large: bool

    @property
    def kind(self) -> Kind:
        """What its values are."""
        kind = kind_of(self.member.type)
        return Kind.STRUCT if self.member.members is not None and kind is not Kind.BYTES else kind

    def inside(self) -> Sequence[Member]:
        """Its members."""
        return () if self.member.members is None else self.member.members()

    def below(self, member: Member) -> Met:
        """One of its members; `large` also where bytes must be decoded to see it."""
        large = self.large or self.kind is Kind.BYTES or self.member.open
        return Met((*self.path, member.name), member, self.repeated or member.repeated, large)


def walk(layout: Layout, path: Sequence[str]) -> Met | None:
    """What is at a path; None where there is nothing."""
    met: Met | None = None
    for name in path:
        inside = layout.members() if met is None else met.inside()
        found = next((each for each in (*inside, *_implied(met)) if each.name == name), None)
        if found is None and met is not None and met.member.open:
            found = Member(name, "any", repeated=True, open=True)
        if found is None:
            return None
        met = _first(found) if met is None else met.below(found)
    return met


def every(layout: Layout) -> Iterator[Met]:
    """All paths of a layout, each before those inside of it."""
    for member in layout.members():
        yield from _from(_first(member))


def field_of(name: str, protocol: str, layouts: Sequence[Layout], found: Sequence[Met]) -> FieldPath:
    """The field that is at the same path in several layouts of one operation."""
    first = found[0]
    kind = first.kind if all(each.kind is first.kind for each in found) else Kind.ANY
    label, scale = first.member.label, scale_of(first.member.name)
    if is_time(label):
        kind = Kind.TIME if label is timestamp else kind
        label, scale = None, _MS
    return FieldPath(
        name,
        kind,
        BodyField(protocol, layouts[0].operation, roles_of(each.role for each in layouts), first.path),
        any(each.repeated for each in found),
        label,
        first.member.about,
        scale,
        is_large=kind in _LARGE or any(each.large for each in found),
    )


def roles_of(roles: Iterable[Role | None]) -> frozenset[Role] | None:
    """The roles of messages that have one of several layouts; None for all."""
    every_role: frozenset[Role] = frozenset()
    for role in roles:
        every_role |= frozenset(Role) if role is None else {role} if role is Role.RESPONSE else _ASKING
    return None if every_role == frozenset(Role) else every_role


def prefix(protocol: str, layout: Layout) -> str:
    """`kafka.Fetch.request`, `zookeeper.create`: what stands before the paths of a layout."""
    role = "" if layout.role is None else f".{layout.role.name.lower()}"
    return f"{protocol}.{layout.operation}{role}"


def _first(member: Member) -> Met:
    return Met((member.name,), member, member.repeated, False)


def _from(met: Met) -> Iterator[Met]:
    yield met
    if len(met.path) < DEEPEST:
        for member in met.inside():
            yield from _from(met.below(member))


def _implied(met: Met | None) -> Sequence[Member]:
    """What every bytes field may be asked for."""
    if met is None or met.kind not in (Kind.BYTES, Kind.ANY):
        return ()
    return Member("length", "int64"), Member("hex", "string"), Member("as", "string"), Member("value", "any", open=True)
