"""Keys and values of records, by topic, partition and offset.

Facts. Batches and message sets are in fields of type records, in the requests and answers of several APIs. Their topic
is `topic`, or `name`, or an id; their partition is `partitionIndex`, `index` or `partition`, in the structures around
them. A message of magic 0 or 1 that is a wrapper holds others; its own value is only their container.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from dissectors.api import Role
from dissectors.kafka.header import ENVELOPE
from dissectors.kafka.nested.rules import PARTITION_NAMES, RECORDS, TOPIC_ID, TOPIC_NAMES
from dissectors.message import Values
from dissectors.payload import Carriers, LoadRequest, Payload, Payloads, Place, Record, number
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.inner import content, is_plain

_RECORDS = frozenset(site.field for site in RECORDS.values())
_TOPIC = (*TOPIC_NAMES, TOPIC_ID)
_UNKNOWN = "unknown"

_ROLES = {False: (Role.REQUEST, Role.ONEWAY), True: (Role.RESPONSE,)}
"""By whether it is the answer."""

_Around = tuple[str | None, int | None]


@cache
def list_carriers() -> Carriers:
    """Returns the messages that may carry records: by API, any Envelope, and guessed responses."""
    sites = (*RECORDS, (ENVELOPE, False), (ENVELOPE, True))
    named = {(key, role) for key, response in sites for role in _ROLES[response]}
    return frozenset({*named, (None, Role.RESPONSE)})


def iterate_payloads(values: Values, load_request: LoadRequest) -> Iterator[Payload]:
    """Yields the keys and values of the records in a decoded body, in its order."""
    yield from _walk_structures(values, (), (None, None))


def _walk_structures(value: Any, place: Place, around: _Around) -> Iterator[Payload]:
    """Walks structures; bodies are as deep as their layouts, or as an envelope with one in it."""
    if isinstance(value, EmbeddedValue):
        value = value.value
    if isinstance(value, dict):
        topic = next((value[name] for name in _TOPIC if isinstance(value.get(name), str)), around[0])
        partition = next((value[name] for name in PARTITION_NAMES if type(value.get(name)) is int), around[1])
        around = topic, partition
        for name, each in value.items():
            if name in _RECORDS and isinstance(each, Sequence) and not is_plain(each):
                yield from _batches(each, (*place, name), around)
            elif not is_plain(each):
                yield from _walk_structures(each, (*place, name), around)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            if is_plain(each):
                return
            yield from _walk_structures(each, (*place, number), around)


def _batches(batches: Sequence[Any], place: Place, around: _Around) -> Iterator[Payload]:
    for index, batch in enumerate(batches):
        if isinstance(batch, dict):
            here = (*place, index)
            inner = "records" if "baseOffset" in batch else "messages"
            if inner in batch and not is_plain(batch[inner]):
                for each, record in enumerate(batch[inner]):
                    yield from _record(record, (*here, inner, each), around)
            elif inner == "messages":
                yield from _record(batch, here, around)


def _record(record: Any, place: Place, around: _Around) -> Iterator[Payload]:
    if not isinstance(record, dict):
        return
    coordinates = Record(*around, number(record.get("offset")), number(record.get("timestamp")))
    name = tuple(_UNKNOWN if part is None else str(part) for part in coordinates[:3])
    for kind in ("key", "value"):
        if (data := content(record.get(kind))) is not None:
            yield Payload((*place, kind), kind, data, name, coordinates)


PAYLOADS = Payloads(iterate_payloads, list_carriers)
