"""Names that messages give to ids (tables/name_bindings.json), and the ids in messages that have such names.

Theory. Since 2.8 topics have ids, and requests that move data carry only these. Metadata tells the name of an id, and
so do requests that create, delete or describe topics. Brokers are numbers; Metadata tells their addresses. A
producer's id belongs to a transaction if its InitProducerId names one, which only the request tells. The broker gives
a member its id; the member is known by the connection that uses the id, or by a description of its group.

Brokers in Produce's and Fetch's `nodeEndpoints` are not read, because all fetched records would have to be decoded for
a few rows. The metadata log is read: controllers and brokers fetch it as clients with a name of their own.

Theory. Values may come from a damaged message, or hold bytes in place of a text. Missing values, and values of another
type, teach nothing.

Theory. The tables tell what kind of thing a field names (`entity`), and fields named `topicId` or `memberId` are ids,
so a new version or a new API needs no change. Batches of records name their producer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dissectors.api import Context, Role
from dissectors.kafka.schemas import apis, body_schema
from dissectors.kafka.tables import table
from dissectors.message import Path
from dissectors.name_binding import BindingSource, BoundName, NameBinding, NameBindings, Reference
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.schema import FieldSchema

MOST = 100_000
"""Lessons of one message."""

_BEHIND_CORRELATION = {Role.REQUEST: 12, Role.RESPONSE: 8}

_DESCRIBED = ("clientId", "clientHost")
"""How a description of a group names a member."""

_NOBODY = frozenset(("", "-1", "AAAAAAAAAAAAAAAAAAAAAA"))
"""What stands for no member, producer or broker, and for no topic."""


class BindingRow(NamedTuple):
    """A struct that explains an id: a row of the table, of one API; `client`: see BindingSource."""

    kind: str
    api: str
    role: Role
    path: str
    key: str
    name: tuple[str, ...] = ()
    from_request: bool = False
    holds: str | None = None
    client: str = ""


@cache
def binding_rows() -> tuple[BindingRow, ...]:
    """Returns the rows of the table."""
    return tuple(
        BindingRow(
            row["kind"],
            api,
            Role[row["role"].upper()],
            row.get("path", ""),
            row["key"],
            tuple(row.get("name", ())),
            row.get("fromRequest", False),
            row.get("holds"),
            row.get("client", ""),
        )
        for row in table("name_bindings")["rows"]
        for api in row["apis"]
    )


def constants() -> Iterator[NameBinding]:
    """Yields the name bindings that hold everywhere: topics with a fixed id."""
    for key, name in table("quirks")["topicIds"].items():
        yield NameBinding("topic", key, name)


@cache
def binding_sources() -> tuple[BindingSource, ...]:
    """Returns the kinds of messages that bind names to ids."""
    codes = {api.name: key for key, api in apis().items()}
    sources = (BindingSource(row.kind, codes[row.api], row.role, row.client, _alike(row)) for row in binding_rows())
    return tuple(dict.fromkeys(sources))


def _alike(row: BindingRow) -> int | None:
    """From behind the correlation id on, unless more than the body tells the name."""
    if not row.name or row.from_request:
        return None
    return _BEHIND_CORRELATION[row.role]


@cache
def _rows(code: int | None, role: Role) -> tuple[BindingRow, ...]:
    names = {api.name for key, api in apis().items() if key == code}
    return tuple(row for row in binding_rows() if row.api in names and row.role is role)


def name_bindings(message: BoundName) -> Iterator[NameBinding]:
    """Yields the names that one decoded message gives to ids, at most MOST."""
    left = MOST
    for row in _rows(message.context.code, message.context.role):
        if row.client and not (message.client or "").startswith(row.client):
            continue
        for struct in _structs(message.values, _path(row.path), row.holds):
            key = _text(struct.get(row.key))
            name = None if key is None or key in _NOBODY else _name(row, struct, message)
            if key is not None and name:
                yield NameBinding(row.kind, key, name)
                left -= 1
                if not left:
                    return


@cache
def _path(path: str) -> Path:
    return tuple(path.split(".")) if path else ()


def _structs(value: object, path: Path, holds: str | None) -> Iterator[Mapping[str, Any]]:
    """The structs at the end of a path, those of each element of the arrays on it."""
    if isinstance(value, EmbeddedValue):
        if path or value.name != holds:
            return
        value = value.value
    if isinstance(value, Mapping):
        if path:
            yield from _structs(value.get(path[0]), path[1:], holds)
        else:
            yield value
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for each in value:
            yield from _structs(each, path, holds)


def _name(row: BindingRow, struct: Mapping[str, Any], message: BoundName) -> str | None:
    if not row.name:
        return _client(message.client, message.host)
    source: Mapping[str, Any] | None = message.request() if row.from_request else struct
    parts = [_text(_deeper(source, _path(field))) for field in row.name]
    if not parts[0]:
        return None
    if row.name == _DESCRIBED:
        return _client(parts[0], (parts[1] or "").removeprefix("/"))
    host = f"[{parts[0]}]" if len(parts) > 1 and ":" in parts[0] else parts[0]
    return ":".join([host, *(part for part in parts[1:] if part)])


def _client(name: str | None, host: str) -> str | None:
    """`consumer-1 at 10.0.0.7`."""
    return f"{name} at {host}" if name and host else name or host or None


def _deeper(value: object, path: Path) -> object:
    """The field at the end of a path, that of the first element of an array on it."""
    for name in path:
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _text(value: object) -> str | None:
    """An id or a name; None for what is neither: null, bytes that are no text, secrets."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else None


def _references(context: Context) -> tuple[Reference, ...]:
    """Ids of topics, brokers, producers and members."""
    if context.code is None or context.version is None or context.role is Role.RAW:
        return ()
    return list_references(context.code, context.version, context.role is Role.RESPONSE)


NAMES = NameBindings(_references, binding_sources, name_bindings, constants)


_ENTITIES = {"brokerId": "broker", "producerId": "producer"}
_NAMED = {
    ("topicId", "uuid"): "topic",
    ("memberId", "string"): "member",
    ("leader", "string"): "member",
}
"""By name and type: what a group's leader is, and the one of a partition, has one name."""


@lru_cache(maxsize=1024)
def list_references(code: int, version: int, response: bool) -> tuple[Reference, ...]:
    """Returns the ids in a message that other messages explain; none for an unknown API."""
    api = apis().get(code)
    if api is None:
        return ()
    return tuple(_find_references(body_schema(code, response).fields, min(version, api.versions.high), ()))


def _find_references(fields: Iterable[FieldSchema], version: int, around: Path) -> Iterator[Reference]:
    for field in fields:
        if version not in field.versions:
            continue
        path = (*around, field.name)
        kind = _ENTITIES.get(field.entity or "") or _NAMED.get((field.name, field.type))
        if kind is not None:
            yield Reference(kind, path)
        if field.type == "records":
            yield Reference("producer", (*path, "producerId"))
        yield from _find_references(field.fields or (), version, path)
