"""Where Kafka's messages have ids that other messages explain, as their schemas say.

Theory. The tables tell of a field what kind of thing it names (`entity`), and whatever is called `topicId` or
`memberId` is one; so a new version, or a new API, is known here by itself. Batches of records name their producer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from dissectors.kafka.schemas import apis, body_schema
from dissectors.message import Path
from dissectors.name_binding import Reference
from dissectors.wire.schema import FieldSchema

_ENTITIES = {"brokerId": "broker", "producerId": "producer"}
_NAMED = {
    ("topicId", "uuid"): "topic",
    ("memberId", "string"): "member",
    ("leader", "string"): "member",
}
"""By name and type: what a group's leader is, and the one of a partition, has one name."""


@lru_cache(maxsize=1024)
def list_references(code: int, version: int, response: bool) -> tuple[Reference, ...]:
    """See Names.references; none for an unknown API."""
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
