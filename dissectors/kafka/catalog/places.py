"""Where something that people ask of any message stands: from a row of a table to paths in the bodies of an API.

Theory. The schemas tell of a field what kind of thing it names (`entity`) and how its numbers are called (`enum`), so
most rows are no list of places but such a word, and a new API is known by itself. What has neither goes by its type and
the end of its path, which begins with the name of the schema: `host string`, `acls.host string`, with a range of
versions behind it where it is not so in all: `FindCoordinatorRequest.key string 0`. Structures within bytes fields
count as if they stood there; what records of internal topics hold does not, for that would mean to read all records.
Some fields are one thing or another by a number beside them; they are under `where`, with that number for a range of
versions: `FindCoordinatorRequest.key string keyType=0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from dissectors.api import Context, Role
from dissectors.catalog import Place
from dissectors.kafka.catalog.structures import structures_at, with_early
from dissectors.kafka.schemas import apis, body_schema
from dissectors.kafka.tables import table
from dissectors.message import Path
from dissectors.wire.schema import FieldSchema, Schema, Versions

Row: TypeAlias = Mapping[str, Any]


def paths(name: str, number: int, context: Context) -> tuple[Path, ...]:
    """The places of a row of a table in messages of such a context."""
    if context.code is None or context.version is None or context.role is Role.RAW:
        return ()
    return _paths(name, number, context.code, context.version, context.role is Role.RESPONSE)


@lru_cache(maxsize=8192)
def _paths(name: str, number: int, key: int, version: int, response: bool) -> tuple[Path, ...]:
    found = table(name)
    row, embedded = found["rows"][number], found.get("embedded", True)
    layouts = _layouts(key, version, response)
    return tuple(dict.fromkeys(path for layout, known in layouts for path in _in_schema(row, layout, known, embedded)))


def _layouts(key: int, version: int, response: bool) -> Iterator[tuple[Schema, int]]:
    """The layouts that a message may have, and the version of which it then is."""
    api = apis().get(key)
    if api is not None:
        known = min(version, api.versions.high)
        yield from ((each, known) for each in with_early(body_schema(key, response)) if known in each.versions)


def places(name: str, number: int, context: Context) -> tuple[Place, ...]:
    """Where a row of a table is meant if a number beside it says so, in messages of such a context."""
    if context.code is None or context.version is None or context.role is Role.RAW:
        return ()
    return _places(name, number, context.code, context.version, context.role is Role.RESPONSE)


@lru_cache(maxsize=1024)
def _places(name: str, number: int, key: int, version: int, response: bool) -> tuple[Place, ...]:
    found = (
        Place(path, beside, int(wanted))
        for each in table(name)["rows"][number]["where"]
        for tail, kind, beside, wanted in [each.replace("=", " ").split()]
        for layout, known in _layouts(key, version, response)
        for path, field in _leaves(layout.fields, known, ())
        if _ends_so(path, field, layout.name, tail, kind)
    )
    return tuple(dict.fromkeys(found))


def _in_schema(row: Row, schema: Schema, version: int | None, embedded: bool = True) -> Iterator[Path]:
    """The places in a schema. version: None where any may be there. embedded: within its bytes fields, too."""
    for path, field in _leaves(schema.fields, version, ()):
        if field.type == "records":
            yield from ((*path, *(place.split(".") if place else ())) for place in row.get("records", ()))
        elif _is_one(row, schema.name, path, field, version):
            yield path
        elif embedded:
            for structure in structures_at(schema.name, path):
                yield from ((*path, "value", *place) for place in _in_schema(row, structure, None))


def _leaves(fields: tuple[FieldSchema, ...], version: int | None, around: Path) -> Iterator[tuple[Path, FieldSchema]]:
    for field in fields:
        if version is not None and version not in field.versions:
            continue
        path = (*around, field.name)
        if field.fields is None:
            yield path, field
        else:
            yield from _leaves(field.fields, version, path)


def _is_one(row: Row, name: str, path: Path, field: FieldSchema, version: int | None) -> bool:
    whole = f".{name}.{'.'.join(path)}"
    if any(whole.endswith(f".{tail}") for tail in row.get("not", ())):
        return False
    if field.entity in row.get("entities", ()) or field.enum in row.get("enums", ()):
        return field.entity is not None or field.enum is not None
    return any(_ends_so(path, field, name, tail, kind) for tail, kind in _ends(row, version))


def _ends_so(path: Path, field: FieldSchema, name: str, tail: str, kind: str) -> bool:
    """Whether the path of a field of a schema has such an end, and the field such a type."""
    type_ = f"[]{field.type}" if field.array else field.type
    return type_ == kind and f".{name}.{'.'.join(path)}".endswith(f".{tail}")


def _ends(row: Row, version: int | None) -> Iterator[tuple[str, str]]:
    """End of a path and type of the fields that a row names; some count in a range of versions alone."""
    for each in row.get("fields", ()):
        tail, kind, *versions = each.split()
        if version is None or not versions or version in Versions.parse(versions[0]):
            yield tail, kind
