"""From a name to what it means, and from a word to the names that have it.

Theory. A name is one of: a key of every row; another program's name for something; `PROTOCOL.short`; or
`PROTOCOL.OPERATION[.ROLE].path`, walked through what the protocol says its messages have. Nothing is listed to look one
name up: each step asks only for what is inside of the last one. What is not there is an error with the nearest names
that are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache

from analyzer.errors import UserError
from analyzer.fields.keys import FIELDS, NAMES, NEEDS_MESSAGE
from analyzer.fields.path import AliasField, BodyField, FieldPath, Key, Kind, ShortField, kind_of, scale_of
from dissectors import registry
from dissectors.api import Role
from dissectors.catalog import Alias, Catalog, Layout, Member

_ROLES = {"request": Role.REQUEST, "response": Role.RESPONSE}
_ASKING = frozenset(Role) - {Role.RESPONSE}
"""Roles of messages that have the body of a request: a oneway message has, too."""

_NEAR = 3
_LONGEST = 80
"""Characters that are repeated of a name that is far too long."""

_DEEPEST = 24
"""Steps of a path: more than any layout has, few enough for a hostile one."""


class UnknownField(UserError):
    """There is no such field; `near` are names that are nearly this one."""

    def __init__(self, name: str, near: Sequence[str], hint: str = "") -> None:
        self.name, self.near = name, near
        meant = f"; did you mean {' or '.join(near)}?" if near else hint
        super().__init__(f"there is no field {name}{meant}")


def resolve(names: Iterable[str]) -> list[FieldPath]:
    """What these names mean. Raises UnknownField."""
    return [find(name) for name in names]


@lru_cache(maxsize=1024)
def find(name: str) -> FieldPath:
    """What a name means. Raises UnknownField."""
    if name in NAMES:
        return _of_row(name)
    protocol, _, rest = name.partition(".")
    if protocol not in registry.names():
        meant = [each + name[len(protocol) :] for each in near(protocol, registry.names())] if rest else []
        raise UnknownField(name, meant or near(name, [*NAMES, *registry.names()]), "; wireanalyze fields lists them")
    if not rest:
        return _whole(name, BodyField(protocol, None, None, ()), f"messages of {protocol}")
    catalog = registry.by_name(protocol).catalog()
    if catalog is None:
        raise UnknownField(name, (), f"; nobody wrote down what messages of {protocol} have")
    alias = catalog.aliases().get(name)
    if alias is not None:
        return _of_alias(name, protocol, alias)
    for short in catalog.shorts():
        if short.name == rest:
            origin = ShortField(protocol, short)
            return FieldPath(name, kind_of(short.type), origin, True, short.label, short.about)
    return _of_body(name, protocol, catalog, rest.split("."))


def _of_row(name: str) -> FieldPath:
    key = NAMES[name]
    field = FIELDS[key]
    cheap = key not in NEEDS_MESSAGE
    return FieldPath(name, field.kind, Key(key), field.repeated, None, field.about, is_cheap=cheap)


def _whole(name: str, origin: BodyField, about: str) -> FieldPath:
    return FieldPath(name, Kind.PRESENCE, origin, about=about, is_cheap=True)


def _of_alias(name: str, protocol: str, alias: Alias) -> FieldPath:
    kind = FIELDS[alias.key].kind if alias.key is not None else kind_of(alias.type)
    many, cheap = alias.paths is not None, alias.paths is None
    return FieldPath(
        name, kind, AliasField(protocol, alias), many, alias.label, alias.about, scale_of(name), is_cheap=cheap
    )


def _of_body(name: str, protocol: str, catalog: Catalog, parts: list[str]) -> FieldPath:
    operation, *path = parts
    if len(path) > _DEEPEST:
        raise UnknownField(name[:_LONGEST], (), f"; no path has more than {_DEEPEST} steps")
    layouts = [each for each in catalog.layouts() if each.operation == operation]
    if not layouts:
        shorts = [each.name for each in catalog.shorts()]
        known = [*dict.fromkeys(each.operation for each in catalog.layouts()), *shorts]
        whole = [f"{protocol}.{each}" for each in near(operation, known)]
        aliases = [each for each in near(name, catalog.aliases()) if each not in whole]
        raise UnknownField(name, [*whole, *aliases][:_NEAR])
    role = _ROLES.get(path[0]) if path else None
    fitting = [each for each in layouts if each.role in (role, None)]
    if (
        role is not None
        and fitting
        and (any(each.role is role for each in fitting) or not _has_field(layouts, path[0]))
    ):
        layouts, path = fitting, path[1:]
        roles: frozenset[Role] | None = _with_body_of(role)
    else:
        roles = _all_of(each.role for each in layouts)
    if not path:
        return _whole(name, BodyField(protocol, operation, roles, ()), f"messages of {operation}")
    found = [(each.role, member) for each in layouts for member in [_walk(each, path)] if member is not None]
    if not found:
        raise _no_member(name, layouts, path)
    if roles is not None and len(found) < len(layouts):
        roles = _all_of(of for of, _ in found)
    (kind, label), *others = [(_kind(member), member.label) for _, (member, _) in found]
    kind = kind if all(other[0] is kind for other in others) else Kind.ANY
    many = any(repeated for _, (_, repeated) in found)
    origin = BodyField(protocol, operation, roles, tuple(path))
    return FieldPath(name, kind, origin, many, label, found[0][1][0].about, scale_of(path[-1]))


def _with_body_of(role: Role | None) -> frozenset[Role] | None:
    """The roles of messages that have a layout; None for all."""
    return None if role is None else frozenset({role}) if role is Role.RESPONSE else _ASKING


def _all_of(roles: Iterable[Role | None]) -> frozenset[Role] | None:
    """The roles of messages that have one of several layouts."""
    found = [_with_body_of(role) for role in roles]
    every: frozenset[Role] = frozenset().union(*(each for each in found if each is not None))
    return None if None in found or every == frozenset(Role) else every


def _has_field(layouts: Iterable[Layout], name: str) -> bool:
    return any(each.name == name for layout in layouts for each in layout.members())


def _kind(member: Member) -> Kind:
    return (
        Kind.STRUCT if member.members is not None and kind_of(member.type) is not Kind.BYTES else kind_of(member.type)
    )


def _walk(layout: Layout, path: Sequence[str]) -> tuple[Member, bool] | None:
    """The member at a path, and whether it repeats; None where there is none."""
    members, repeated = layout.members(), False
    found: Member | None = None
    for name in path[:_DEEPEST]:
        if found is not None and found.open and all(each.name != name for each in members):
            return Member(name, "any", open=True), True
        found = next((each for each in (*members, *_implied(found)) if each.name == name), None)
        if found is None:
            return None
        repeated |= found.repeated
        members = () if found.members is None else found.members()
    return (found, repeated) if found is not None and len(path) <= _DEEPEST else None


def _implied(member: Member | None) -> Sequence[Member]:
    """What every bytes field may be asked for."""
    if member is None or kind_of(member.type) not in (Kind.BYTES, Kind.ANY):
        return ()
    return Member("length", "int64"), Member("hex", "string"), Member("as", "string"), Member("value", "any", open=True)


def _no_member(name: str, layouts: Sequence[Layout], path: Sequence[str]) -> UnknownField:
    """Says how far the path goes, and what is there."""
    depth = next(
        (n for n in range(len(path) - 1, 0, -1) if any(_walk(each, path[:n]) is not None for each in layouts)), 0
    )
    before = name.split(".")[: -(len(path) - depth)]
    inside: dict[str, None] = {}
    for layout in layouts:
        if depth == 0:
            inside.update(dict.fromkeys(each.name for each in layout.members()))
        elif (walked := _walk(layout, path[:depth])) is not None and walked[0].members is not None:
            inside.update(dict.fromkeys(each.name for each in walked[0].members()))
    meant = [".".join([*before, each, *path[depth + 1 :]]) for each in near(path[depth], inside)]
    if not meant and inside:
        # The name may be right and its place be wrong.
        meant = [each for layout in layouts for each in _elsewhere(name.partition(".")[0], layout, path[-1])][:_NEAR]
    shown = ", ".join(list(inside)[:12])
    there = f"; {'.'.join(before)} has {shown}{', ...' if len(inside) > 12 else ''}" if inside else ""
    return UnknownField(name, meant, there)


def _elsewhere(protocol: str, layout: Layout, wanted: str) -> Iterator[str]:
    """Paths in a layout that end so."""
    for path, _, _ in _every(layout.members(), (), False):
        if path[-1] == wanted:
            yield f"{_prefix(protocol, layout)}.{'.'.join(path)}"


def near(name: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known names that are nearly this one, or have it in them."""
    lower = {each.lower(): each for each in known}
    close = [lower[each] for each in get_close_matches(name.lower(), lower, _NEAR, 0.6)]
    if len(name) > 3:
        close += [each for text, each in lower.items() if name.lower() in text and each not in close]
    return close[:_NEAR]


def every(word: str | None = None) -> Iterator[FieldPath]:
    """All fields whose name has the word in it, upper or lower case; all of them without one."""
    for name in NAMES:
        if _has(name, word):
            yield _of_row(name)
    for protocol in registry.names():
        catalog = registry.by_name(protocol).catalog()
        if catalog is None:
            continue
        for name in [*(f"{protocol}.{each.name}" for each in catalog.shorts()), *catalog.aliases()]:
            if _has(name, word):
                yield find(name)
        for layout in catalog.layouts():
            yield from _of_layout(protocol, layout, word)


def _prefix(protocol: str, layout: Layout) -> str:
    role = "" if layout.role is None else f".{layout.role.name.lower()}"
    return f"{protocol}.{layout.operation}{role}"


def _of_layout(protocol: str, layout: Layout, word: str | None) -> Iterator[FieldPath]:
    roles = _with_body_of(layout.role)
    whole = FieldPath("", Kind.PRESENCE, BodyField(protocol, layout.operation, roles, ()))
    for path, member, repeated in _every(layout.members(), (), False):
        name = f"{_prefix(protocol, layout)}.{'.'.join(path)}"
        if _has(name, word):
            origin = BodyField(protocol, layout.operation, roles, path)
            scale = scale_of(member.name)
            yield replace(whole, name=name, kind=_kind(member), origin=origin, repeated=repeated, scale=scale)


def _every(
    members: Sequence[Member], around: tuple[str, ...], repeated: bool
) -> Iterator[tuple[tuple[str, ...], Member, bool]]:
    if len(around) >= _DEEPEST:
        return
    for member in members:
        path, many = (*around, member.name), repeated or member.repeated
        yield path, member, many
        if member.members is not None:
            yield from _every(member.members(), path, many)


def _has(name: str, word: str | None) -> bool:
    return word is None or word.lower() in name.lower()
