"""Field aliases of Kafka (field_aliases.json), and tshark's names for its fields (tshark.json).

Theory. The schemas tell what kind of thing a field names (`entity`) and the names of its numbers (`enum`). So most rows
are such a word, not a list of places, and a new API needs no row. Other fields are found by type and the end of their
path, which begins with the name of the schema: `host string`, `acls.host string`, followed by a range of versions where
it differs: `FindCoordinatorRequest.key string 0`. Structures within bytes fields count as members. Contents of records
of internal topics do not, because all records would have to be read. The meaning of some fields depends on a number
beside them; they are under `where`, with that number for a range of versions:
`FindCoordinatorRequest.key string keyType=0`.

Theory. A tshark field is a key of the row, or a place in the body that is found like a field alias. tshark has
different names for batches of magic 2 and for older messages, and numbers where our values have names. So an entry of
records is converted, or gives nothing if it has the other format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any, TypeAlias

from dissectors.api import Context, Role
from dissectors.catalog import Alias, FieldAlias, Place
from dissectors.kafka.catalog.structures import structures_at, with_early
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.labels import labels
from dissectors.kafka.schemas import apis, body_schema
from dissectors.kafka.tables import table
from dissectors.message import Path
from dissectors.wire.schema import FieldSchema, Schema, Versions


@cache
def field_aliases() -> tuple[FieldAlias, ...]:
    """Returns all field aliases of Kafka, in the order of field_aliases.json."""
    return tuple(
        FieldAlias(
            row["name"],
            row["type"],
            partial(paths, "field_aliases", number),
            row.get("kind"),
            row["inherited"],
            labels(row["label"]) if "label" in row else None,
            row["about"],
            partial(places, "field_aliases", number) if "where" in row else None,
            frozenset(row.get("nothing", ())),
            row.get("session"),
        )
        for number, row in enumerate(table("field_aliases")["rows"])
    )


Row: TypeAlias = Mapping[str, Any]


def paths(name: str, number: int, context: Context) -> tuple[Path, ...]:
    """Returns the places of a row of a table in messages of such a context."""
    if context.code is None or context.version is None or context.role is Role.RAW:
        return ()
    return _paths(name, number, context.code, context.version, context.role is Role.RESPONSE)


@lru_cache(maxsize=8192)
def _paths(name: str, number: int, key: int, version: int, response: bool) -> tuple[Path, ...]:
    found = table(name)
    row, embedded = found["rows"][number], found.get("embedded", True)
    layouts = _list_known_layouts(key, version, response)
    return tuple(dict.fromkeys(path for layout, known in layouts for path in _in_schema(row, layout, known, embedded)))


def _list_known_layouts(key: int, version: int, response: bool) -> Iterator[tuple[Schema, int]]:
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
        Place(path, discriminator, int(wanted))
        for each in table(name)["rows"][number]["where"]
        for tail, kind, discriminator, wanted in [each.replace("=", " ").split()]
        for layout, known in _list_known_layouts(key, version, response)
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


_BATCH = 2


@cache
def aliases() -> Mapping[str, Alias]:
    """Returns tshark's names for Kafka fields, by name (`kafka.api_key`)."""
    return {f"kafka.{row['name']}": _alias(number, row) for number, row in enumerate(table("tshark")["rows"])}


def _alias(number: int, row: Row) -> Alias:
    return Alias(
        f"kafka.{row['name']}",
        row["type"],
        row.get("key"),
        frozenset(Role[name] for name in row["roles"]) if "roles" in row else None,
        None if "key" in row else partial(paths, "tshark", number),
        labels(row["enum"]) if "enum" in row else None,
        "tshark's name",
        row.get("add", 0),
        _MADE[row["of"]] if "of" in row else _drop_empty_list,
    )


def _drop_empty_list(value: Any) -> Any:
    """A list without elements is no field of tshark's."""
    return None if value == [] else value


def _read_message_value(value: Any) -> Any:
    """What a message holds, but for one that holds others."""
    if isinstance(value, Mapping):
        value = None if value.get("magic") == _BATCH or "messages" in value else value.get("value")
    return _drop_empty_list(value)


def _make_entry_reader(name: str, batch: bool, number: Callable[[Any], int | None]) -> Callable[[Any], int | None]:
    """What is made of an entry: the number of a value that it has, if it is a batch, or if it is none."""

    def read_entry(entry: Any) -> int | None:
        if not isinstance(entry, Mapping) or (entry.get("magic") == _BATCH) is not batch:
            return None  # no records, or of the other format
        value = entry.get(name)
        return None if value is None else number(value)

    return read_entry


def _timestamp_type(name: str) -> int:
    from dissectors.kafka.records.layout import TIMESTAMP_TYPES  # brings checksums

    return TIMESTAMP_TYPES.index(name)


_NUMBERS: tuple[tuple[str, str, Callable[[Any], int | None]], ...] = (
    ("crc", "crc", int),
    ("codec", "compression", (lambda name: CODECS.index(name) if name in CODECS else None)),
    ("timestamp_type", "timestampType", _timestamp_type),
)
_MADE: Mapping[str, Callable[[Any], Any]] = {
    "message_value": _read_message_value,
    **{
        f"{kind}_{what}": _make_entry_reader(name, kind == "batch", number)
        for kind in ("batch", "message")
        for what, name, number in _NUMBERS
    },
}
