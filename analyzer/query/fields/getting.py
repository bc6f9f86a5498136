"""Getters of a field's values in a decoded body, made once for all messages of a context.

Theory. Most fields are at paths, and the values there are theirs. An alias may also be at a path that counts only if
another field of the same struct says so: a coordinator's key is the name of a group if its type says so. Instead of a
name there may be a number that another message of the connection explains. Such a number is returned with its scope.

Theory. A path is a list of names from the body inwards. A list on the path, or at its end, stands for each of its
elements. Bytes have the members that JSON shows (`hex`, `length`); bytes that contain a structure also have `as` and
`value`. Null is no value. An empty list at the end of a path is returned as it is, so that a test for presence finds
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from analyzer.messages import defects
from analyzer.query.fields.path import AliasedField, BodyField, FieldPath, RowKey, SharedField
from dissectors.api import Context, Dissector
from dissectors.catalog import Place
from dissectors.message import Path
from dissectors.name_binding import Reference
from dissectors.symbolic_values import NestedValue
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.flat import RowTable
from dissectors.wire.secret import Secret

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


Leaves = Callable[[Any], list[Any]]

_OF_BYTES: dict[str, Callable[[Any], Any]] = {"length": len, "hex": bytes.hex}


class NestedLeaves(NamedTuple):
    """Stands for the values at `path` within a list that each message of a template has for itself."""

    nested: NestedValue
    path: Path


def find_leaves(value: Any, path: Path) -> list[Any]:
    """Returns the values at the end of a path, in the order of the message."""
    found: list[Any] = []
    _collect(value, path, 0, found)
    return found


def _collect(value: Any, path: Path, at: int, found: list[Any]) -> None:
    while at < len(path):
        if type(value) is dict:
            value = value.get(path[at])
        elif type(value) is NestedValue:
            found.append(NestedLeaves(value, path[at:]))
            return
        elif isinstance(value, list | tuple | RowTable):
            for each in value:
                _collect(each, path, at, found)
            return
        else:
            value = _find_member(value, path[at])
        if value is None:
            return
        at += 1
    if type(value) is NestedValue:
        found.append(NestedLeaves(value, ()))
    elif isinstance(value, list | tuple | RowTable):
        if len(value):
            for each in value:
                _collect(each, path, at, found)
        else:
            found.append([])
    elif value is not None:
        found.append(value)


def _find_member(value: Any, name: str) -> Any:
    """Returns the member of bytes, of a structure in bytes, or of a secret."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, EmbeddedValue):
        if name in ("value", "as"):
            return value.value if name == "value" else value.name
        value = value.data
    if isinstance(value, bytes) and name in _OF_BYTES:
        return _OF_BYTES[name](value)
    return len(value) if isinstance(value, Secret) and name == "length" else None


def list_texts(value: Any) -> Iterator[str]:
    """Yields the texts of a decoded value: texts, numbers, and bytes that are text, but no secrets."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from list_texts(each)
    elif isinstance(value, list | tuple | RowTable):
        for each in value:
            yield from list_texts(each)
    elif isinstance(value, EmbeddedValue):
        yield from list_texts(value.value)
        yield from list_texts(value.data)
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
