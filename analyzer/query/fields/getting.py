"""Getters of a field's values in a decoded body, made once for all messages of a context.

Theory. Most fields are at paths, and the values there are theirs. An alias may also be at a path that counts only if
another field of the same struct says so: a coordinator's key is the name of a group if its type says so. Instead of a
name there may be a number that another message of the connection explains. Such a number is returned with its scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from analyzer.messages import defects
from analyzer.query.fields.leaves import find_leaves
from analyzer.query.fields.path import AliasedField, BodyField, FieldPath, RowKey, SharedField
from dissectors.api import Context, Dissector
from dissectors.catalog import Place
from dissectors.message import Path
from dissectors.name_binding import Reference

_Get = Callable[[Mapping[str, Any]], Sequence[Any]]


class ScopedNumber(NamedTuple):
    """Holds a number in place of a name; it is unique within a scope (dissectors.name_binding)."""

    scope: str
    number: Any


class Getter(NamedTuple):
    """Reads a field. paths: all that it reads. is_plain: its values are just those at the paths, in their order."""

    get: _Get
    paths: Sequence[Path]
    is_plain: bool = True


def make_getter(
    field: FieldPath, dissector: Dissector | None, context: Context, operation: str | None
) -> Getter | None:
    """Returns a Getter that reads a field from messages of a context; None if they do not have the field."""
    origin = field.origin
    if dissector is None or isinstance(origin, RowKey | SharedField) or origin.protocol != dissector.name:
        return None
    if isinstance(origin, BodyField):
        fits = origin.operation == operation and (origin.roles is None or context.role in origin.roles)
        return _get_plain((origin.path,) if fits and origin.path else ())
    if isinstance(origin, AliasedField):
        short = origin.short
        alias_paths = defects.collect_or_nothing(partial(short.paths, context))
        places = () if short.places is None else defects.collect_or_nothing(partial(short.places, context))
        return _resolve_alias(tuple(alias_paths), tuple(places), _find_references(dissector, context, short.kind))
    ask = origin.alias.paths
    return None if ask is None else _get_plain(tuple(defects.collect_or_nothing(partial(ask, context))))


def _find_references(dissector: Dissector, context: Context, kind: str | None) -> list[Reference]:
    """Returns the paths with ids of a kind."""
    if kind is None:
        return []
    return [each for each in defects.list_references(dissector, context) if each.kind == kind]


def _resolve_alias(alias_paths: Sequence[Path], places: Sequence[Place], ids: Iterable[Reference]) -> Getter | None:
    counted = [(each.scope, each.path) for each in ids if each.scope is not None]
    plain = _get_plain((*alias_paths, *(each.path for each in ids if each.scope is None)))
    if not places and not counted:
        return plain
    gets = [] if plain is None else [plain.get]
    gets += [partial(_get_at_place, place=place) for place in places]
    gets += [partial(_get_scoped, scope=scope, path=path) for scope, path in counted]
    discriminator = [path for place in places for path in (place.path, place.discriminator_path)]
    paths = (*(() if plain is None else plain.paths), *discriminator, *(path for _, path in counted))
    return Getter(partial(_get_all, gets=gets), paths, is_plain=False)


def _get_plain(paths: Sequence[Path]) -> Getter | None:
    if not paths:
        return None
    get = partial(find_leaves, path=paths[0]) if len(paths) == 1 else partial(_get_leaves, paths=paths)
    return Getter(get, paths)


def _get_leaves(values: Mapping[str, Any], paths: Sequence[Path]) -> Sequence[Any]:
    return [leaf for path in paths for leaf in find_leaves(values, path)]


def _get_all(values: Mapping[str, Any], gets: Sequence[_Get]) -> Sequence[Any]:
    return [value for get in gets for value in get(values)]


def _get_scoped(values: Mapping[str, Any], scope: str, path: Path) -> Sequence[Any]:
    return [ScopedNumber(scope, leaf) for leaf in find_leaves(values, path)]


def _get_at_place(values: Mapping[str, Any], place: Place) -> Sequence[Any]:
    *around, name = place.path
    structs = find_leaves(values, tuple(around)) if around else [values]
    return [
        leaf
        for struct in structs
        if isinstance(struct, Mapping) and struct.get(place.discriminator) == place.number
        for leaf in find_leaves(struct, (name,))
    ]
