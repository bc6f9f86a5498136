"""The fields of Kafka's bodies and schemas, and of the structures that their bytes fields may hold.

Theory. A schema lists nearly all of its members. The table that unfolds a bytes field also tells which structures it
may hold (`embedded` in quirks.json); the members of all possible structures are listed together.

Theory. A message that no layout reads has the member `payload`, and leftover bytes behind a body are `_rest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial

from dissectors.catalog import Member, holding, merge_members
from dissectors.kafka.nested.payload_detection import VERSION
from dissectors.kafka.nested.structures import group_schema
from dissectors.kafka.schemas import body_schema
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.message import Path
from dissectors.wire.members import UNKNOWN_TAGS, of_message, of_schema
from dissectors.wire.schema import Schema

_VERSION = Member("_version", VERSION.spec.type)
_NEWER = (
    _VERSION,
    Member("_readAs", "int16", about="the newest known version, of bytes in a newer one"),
    Member("_rest", "bytes", about="bytes that a newer version adds"),
)
_FIELDS = Member("fields", "struct", open=True, about="the body of the message inside")
_RESPONSE = (
    Member("code", "int16", label=KAFKA.labels("api")),
    Member("version", "int16"),
    Member("correlation", "int32"),
    UNKNOWN_TAGS,
    _FIELDS,
)
_REQUEST = (*_RESPONSE, Member("client", "string"))
_JSON = "JSON object"


def with_early(schema: Schema) -> Iterator[Schema]:
    """Yields a schema, and the layouts that only early releases wrote."""
    yield schema
    for row in table("variants")["variants"]:
        if row["name"] == schema.name:
            yield Schema.parse(schema.name, row, KAFKA)


def members(schema: Schema, map_member: Callable[[Member], Member] = lambda member: member) -> list[Member]:
    """Returns the members of a schema in all its layouts. map_member: makes a member of one that holds no structure."""

    def refine(member: Member, path: Path) -> Member:
        structures = _list_nested_structures().get((schema.name, path))
        if structures is None:
            return map_member(member)
        return holding(member, partial(_merge_nested, structures), any(form == _JSON for form, _ in structures))

    return merge_members(*(of_schema(each, refine) for each in with_early(schema)))


def structures_at(name: str, path: Path) -> Iterator[Schema]:
    """The schemas of what a bytes field may hold, by message or structure and path; JSON and metrics have none."""
    return (
        group_schema(holds)
        for form, holds in _list_nested_structures().get((name, path), ())
        if _FORMS[form] in _BY_SCHEMA
    )


@cache
def _list_nested_structures() -> Mapping[tuple[str, Path], list[tuple[str, str]]]:
    """Form and name of the structures that a bytes field may hold, by message and path."""
    found: dict[tuple[str, Path], list[tuple[str, str]]] = {}
    for row in table("quirks")["embedded"]:
        name, *path = row["at"].split(".")
        found.setdefault((name, tuple(path)), []).append((row["form"], row["holds"]))
    return found


def _merge_nested(structures: Sequence[tuple[str, str]]) -> list[Member]:
    return merge_members(*(_FORMS[form](name) for form, name in structures))


def _make_structure_members(name: str) -> list[Member]:
    return members(group_schema(name))


def _make_versioned_members(name: str) -> list[Member]:
    return [_VERSION, *_make_structure_members(name)]


def _make_newer_members(name: str) -> list[Member]:
    return merge_members(_NEWER, _make_structure_members(name))


def _metrics(name: str) -> list[Member]:
    from dissectors.kafka.nested.telemetry import metrics_message  # brings tables that only telemetry needs

    return of_message(metrics_message())


_BY_SCHEMA = (_make_versioned_members, _make_newer_members, _make_structure_members)
_FORMS: Mapping[str, Callable[[str], Sequence[Member]]] = {
    "int16 version": _make_versioned_members,
    "int16 version, or newer": _make_newer_members,
    "int32 version within": _make_structure_members,
    "no version": _make_structure_members,
    _JSON: lambda name: (),
    "compressed protobuf": _metrics,
    "request": lambda name: _REQUEST,
    "response": lambda name: _RESPONSE,
}
"""Members by the form in which a structure is held; the same forms as in nested/rules.py."""


_AROUND = (
    Member("_rest", "bytes", about="bytes behind the body"),
    Member("payload", "undecoded", about="a body that no layout reads"),
)


@lru_cache(maxsize=256)
def body_members(key: int, response: bool) -> tuple[Member, ...]:
    """Returns the members of a request's or response's body; KeyError for an unknown key."""
    return (*members(body_schema(key, response), _expand_records), *_AROUND)


def _expand_records(member: Member) -> Member:
    if member.type != "records":
        return member
    return member._replace(type="struct", repeated=True, members=_record_data)


def _record_data() -> tuple[Member, ...]:
    from dissectors.kafka.catalog.records import record_data  # most paths do not lead there

    return record_data()
