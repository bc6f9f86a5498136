"""The catalog of field names: resolves a name, and finds the names that contain a word.

Theory. A name is one of: a key of every row; another program's name for a field; `PROTOCOL.alias`; `alias` alone, which
stands for that of every protocol; or `PROTOCOL.OPERATION[.ROLE].path`, which is followed through the layouts of the
protocol. A lookup lists nothing: each step asks only for the members of the last one. An unknown name is an error that
shows the nearest known names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice

from analyzer.errors import UserError
from analyzer.query.fields import layouts as walking
from analyzer.query.fields.keys import FIELDS, LARGE, NAMES, NEEDS_MESSAGE
from analyzer.query.fields.layouts import DEEPEST, find_member, find_roles, format_prefix, make_field
from analyzer.query.fields.path import (
    AliasedField,
    AliasField,
    BodyField,
    FieldKind,
    FieldPath,
    RowKey,
    SharedField,
    find_kind,
    find_scale,
)
from dissectors import registry
from dissectors.api import Role
from dissectors.catalog import Alias, Catalog, Layout
from dissectors.message import Path

_ROLES = {"request": Role.REQUEST, "response": Role.RESPONSE}
PLURALS = {"topics": ("topic",), "groups": ("group", "subscription"), "paths": ("path",)}
"""Columns of tables that contain lists, and the fields whose values they list."""

DOTTED_ALIASES = {"record.key": "key", "record.value": "value"}
"""Names with a dot that people use for a field alias."""

_NEAR = 3
_TO_OPERATION = 2
"""Number of parts of a name up to its operation."""

_LONGEST = 80
"""Number of characters that an error shows of a name that is far too long."""

_SHOWN = 12
"""Number of members that an error lists."""


class UnknownField(UserError):
    """Reports a name that means no field; `near`: known names that are similar."""

    def __init__(self, name: str, near: Sequence[str], hint: str = "") -> None:
        self.name, self.near = name, near
        meant = f"Did you mean {' or '.join(near)}?" if near else hint
        super().__init__(f"There is no field {name}. {meant}".rstrip())


def resolve_fields(names: Iterable[str]) -> list[FieldPath]:
    """Returns the fields that these names mean. Raises UnknownField."""
    return [find_field(name) for name in names]


def find_field(name: str) -> FieldPath:
    """Returns the field that a name means. Raises UnknownField."""
    found = find_known(name)
    if found is None:
        raise _make_unknown_error(name)
    return found


@lru_cache(maxsize=1024)
def find_known(name: str) -> FieldPath | None:
    """Returns the field that a name means, or None if there is none."""
    if name in NAMES:
        return _find_row_field(name)
    if name in DOTTED_ALIASES:
        return find_known(DOTTED_ALIASES[name])
    protocol, _, rest = name.partition(".")
    if protocol not in registry.names():
        return None if rest else _find_shared(name)
    if not rest:
        return _make_message_field(name, BodyField(protocol, None, None, ()), f"messages of {protocol}")
    catalog = registry.by_name(protocol).catalog
    if catalog is None:
        return None
    return _short(protocol, catalog, rest) or _find_body_field(name, protocol, catalog, rest.split("."))


def _make_unknown_error(name: str) -> UnknownField:
    """Returns the error for an unknown name, with the names that were probably meant."""
    protocol, _, rest = name.partition(".")
    if protocol not in registry.names():
        if rest:
            meant = [each + name[len(protocol) :] for each in find_near(protocol, registry.names())]
        else:
            meant = _find_operations(name)
        known = [*NAMES, *registry.names(), *list_shared_names()]
        return UnknownField(name, meant or find_near(name, known), "wireanalyze fields lists all fields.")
    catalog = registry.by_name(protocol).catalog
    if catalog is None:
        return UnknownField(name, (), f"The fields of {protocol} messages are not listed.")
    operation, *path = parts = rest.split(".")
    if len(path) > DEEPEST:
        return UnknownField(name[:_LONGEST], (), f"A path has at most {DEEPEST} steps.")
    layouts = [each for each in catalog.layouts() if each.operation == operation]
    if not layouts:
        return _refuse_operation(name, protocol, catalog, parts)
    return _refuse_member(name, protocol, catalog, *_split_role(layouts, path))


def _list_catalogs() -> Iterator[tuple[str, Catalog]]:
    """Yields each protocol that has a catalog."""
    for protocol in registry.names():
        catalog = registry.by_name(protocol).catalog
        if catalog is not None:
            yield protocol, catalog


def _find_operations(name: str) -> list[str]:
    """Returns the operations with this name, of all protocols."""
    lower = name.lower()
    found = (
        f"{protocol}.{layout.operation}"
        for protocol, catalog in _list_catalogs()
        for layout in catalog.layouts()
        if layout.operation.lower() == lower
    )
    return list(islice(dict.fromkeys(found), _NEAR))


@registry.cache_by_plugins
def list_shared_names() -> Sequence[str]:
    """Returns the names without protocol that stand for fields of several protocols."""
    names = Counter(short.name for _, catalog in _list_catalogs() for short in catalog.field_aliases())
    return [name for name in [*PLURALS, *names] if name not in NAMES and names[name] != 1]


def _find_shared(name: str) -> FieldPath | None:
    """Returns the field of all protocols with this name; a column of tables has the values of several fields."""
    wanted = PLURALS.get(name, (name,))
    fields = [
        found for each, catalog in _list_catalogs() for short in wanted if (found := _short(each, catalog, short))
    ]
    if not fields:
        return None
    first, *others = fields
    alike = all((each.kind, each.label) == (first.kind, first.label) for each in others)
    return FieldPath(
        name,
        first.kind if alike else FieldKind.ANY,
        SharedField(tuple(fields)),
        any(each.repeated for each in fields),
        first.label if alike else None,
        ", ".join(each.name for each in fields),
        first.scale if alike else None,
        is_cheap=all(each.is_cheap for each in fields),
    )


def _short(protocol: str, catalog: Catalog, name: str) -> FieldPath | None:
    """Returns a field that any message of a protocol may have, or that another program calls so."""
    whole = f"{protocol}.{name}"
    alias = catalog.aliases().get(whole)
    if alias is not None:
        return _make_alias_field(whole, protocol, alias)
    for short in catalog.field_aliases():
        if short.name == name:
            origin = AliasedField(protocol, short)
            return FieldPath(whole, find_kind(short.type), origin, True, short.label, short.about)
    return None


def _find_row_field(name: str) -> FieldPath:
    key = NAMES[name]
    field = FIELDS[key]
    cheap = key not in NEEDS_MESSAGE
    return FieldPath(
        name, field.kind, RowKey(key), field.repeated, None, field.about, is_cheap=cheap, is_large=key in LARGE
    )


def _make_message_field(name: str, origin: BodyField, about: str) -> FieldPath:
    return FieldPath(name, FieldKind.PRESENCE, origin, about=about, is_cheap=True)


def _make_alias_field(name: str, protocol: str, alias: Alias) -> FieldPath:
    kind = FIELDS[alias.key].kind if alias.key is not None else find_kind(alias.type)
    many, cheap = alias.paths is not None, alias.paths is None
    return FieldPath(
        name, kind, AliasField(protocol, alias), many, alias.label, alias.about, find_scale(name), is_cheap=cheap
    )


def _find_body_field(name: str, protocol: str, catalog: Catalog, parts: list[str]) -> FieldPath | None:
    operation, *path = parts
    layouts = [each for each in catalog.layouts() if each.operation == operation]
    if not layouts or len(path) > DEEPEST:
        return None
    layouts, path = _split_role(layouts, path)
    if not path:
        roles = find_roles(each.role for each in layouts)
        return _make_message_field(name, BodyField(protocol, operation, roles, ()), f"messages of {operation}")
    found_members = [find_member(each, path) for each in layouts]
    there = [layout for layout, each in zip(layouts, found_members, strict=True) if each is not None]
    return make_field(name, protocol, there, [each for each in found_members if each is not None]) if there else None


def _split_role(layouts: list[Layout], path: list[str]) -> tuple[list[Layout], list[str]]:
    """Returns the layouts of the role that the path begins with; if none has that role, a field of that name counts."""
    role = _ROLES.get(path[0]) if path else None
    if role is None:
        return layouts, path
    fitting = [each for each in layouts if each.role in (role, None)]
    is_field = any(member.name == path[0] for layout in layouts for member in layout.members())
    if not fitting or (is_field and all(each.role is None for each in fitting)):
        return layouts, path
    return fitting, path[1:]


def _refuse_operation(name: str, protocol: str, catalog: Catalog, parts: Sequence[str]) -> UnknownField:
    operation, *path = parts
    known = [
        *dict.fromkeys(each.operation for each in catalog.layouts()),
        *(each.name for each in catalog.field_aliases()),
    ]
    whole = [_extend_path(protocol, catalog, [each], path) for each in find_near(operation, known)]
    aliases = [each for each in find_near(name, catalog.aliases()) if each not in whole]
    return UnknownField(name, [*whole, *aliases][:_NEAR])


def _extend_path(protocol: str, catalog: Catalog, begin: Sequence[str], rest: Sequence[str]) -> str:
    """Returns a path with its rest if the rest leads to a field, else without it."""
    operation, *path = *begin, *rest
    layouts, path = _split_role([each for each in catalog.layouts() if each.operation == operation], path)
    leads = any(find_member(each, path) is not None for each in layouts)
    return ".".join((protocol, *begin, *(rest if leads else ())))


def _refuse_member(
    name: str, protocol: str, catalog: Catalog, layouts: Sequence[Layout], path: Sequence[str]
) -> UnknownField:
    """Returns the error that says how far the path leads, and which members are there."""
    depth, inside = 0, {member.name: None for layout in layouts for member in layout.members()}
    for length in range(1, len(path)):
        found_members = [each for layout in layouts if (each := find_member(layout, path[:length])) is not None]
        if not found_members:
            break
        depth, inside = length, {member.name: None for each in found_members for member in each.inside()}
    before = name.split(".")[: depth - len(path)]
    # At its beginning the path may need a role instead.
    known = [*inside, *(_ROLES if len(before) == _TO_OPERATION else ())]
    meant = [
        _extend_path(protocol, catalog, [*before[1:], each], path[depth + 1 :])
        for each in find_near(path[depth], known)
    ]
    if not meant and inside:
        # The name may be right, but at a wrong place.
        meant = [
            f"{format_prefix(protocol, layout)}.{'.'.join(each.path)}"
            for layout in layouts
            for each in walking.list_members(layout)
            if each.path[-1] == path[-1]
        ][:_NEAR]
    shown = ", ".join(list(inside)[:_SHOWN]) + (", ..." if len(inside) > _SHOWN else "." if inside else "")
    return UnknownField(name, meant, f"{'.'.join(before)} has {shown or 'no fields.'}")


def find_near(name: str, known: Iterable[str]) -> list[str]:
    """Returns up to three known names that are similar to this one, or contain it."""
    lower = {each.lower(): each for each in known}
    close = [lower[each] for each in get_close_matches(name.lower(), lower, _NEAR, 0.6)]
    if len(name) > 3:
        close += [each for text, each in lower.items() if name.lower() in text and each not in close]
    return close[:_NEAR]


def suggest_names(close: Sequence[str]) -> str:
    """Returns the end of an error about a wrong name; an empty text if no name is close."""
    return f". Did you mean {' or '.join(close)}?" if close else ""


def list_fields(word: str | None = None) -> Iterator[FieldPath]:
    """Returns all fields whose name contains a word, ignoring case; all fields if there is no word.

    Fields of any message come before the fields of bodies. For the latter, a word without a dot must be in the field's
    own name or in the operation's name. Otherwise the name of a struct would list everything inside it.
    """
    yield from list_short_fields(word)
    for protocol, catalog in _list_catalogs():
        for begin, layouts in _group_by_prefix(protocol, catalog).items():
            yield from _list_layout_fields(protocol, begin, layouts, word)


def list_short_fields(word: str | None = None) -> Iterator[FieldPath]:
    """Yields the fields of all messages and those with an alias whose name contains a word; all for None."""
    yield from (find_field(name) for name in [*NAMES, *list_shared_names()] if _has_word(name, word))
    for protocol, catalog in _list_catalogs():
        names = (*(f"{protocol}.{each.name}" for each in catalog.field_aliases()), *catalog.aliases())
        yield from (find_field(name) for name in names if _has_word(name, word))


def _group_by_prefix(protocol: str, catalog: Catalog) -> dict[str, list[Layout]]:
    """Groups the layouts by the prefix of their paths; some operations have two codes, with a layout for each."""
    found: dict[str, list[Layout]] = {}
    for layout in catalog.layouts():
        found.setdefault(format_prefix(protocol, layout), []).append(layout)
    return found


def _list_layout_fields(protocol: str, begin: str, layouts: Sequence[Layout], word: str | None) -> Iterator[FieldPath]:
    listed: set[Path] = set()
    for layout in layouts:
        for found_members in walking.list_members(layout):
            name = f"{begin}.{'.'.join(found_members.path)}"
            if (
                _has_word(name if word is None or "." in word else f"{begin} {found_members.path[-1]}", word)
                and found_members.path not in listed
            ):
                listed.add(found_members.path)
                both = (
                    [found_members]
                    if len(layouts) == 1
                    else [each for one in layouts if (each := find_member(one, found_members.path))]
                )
                yield make_field(name, protocol, layouts, both)


def _has_word(name: str, word: str | None) -> bool:
    return word is None or word.lower() in name.lower()
