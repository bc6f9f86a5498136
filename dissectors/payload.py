"""What a message carries for others: keys and values of records, bodies, payloads, data of nodes.

Theory. A protocol is an envelope, and people often want what is in it: as files, one for each. Where that stands in the
values of a message, and by what it is called outside of this message (topic, partition and offset; a path), only the
protocol knows. Its bytes are those that the application wrote: unpacked, out of their batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from dissectors.message import Role

Values: TypeAlias = Mapping[str, Any]
Asked: TypeAlias = Callable[[], Values | None]
"""The values of the request that a message answers, decoded when asked for; None where that is unknown."""

Carriers: TypeAlias = "frozenset[tuple[int | None, Role]]"
"""Code and role of messages."""

Place: TypeAlias = tuple[str | int, ...]
"""The way to a value: names of fields, and numbers of items."""


class Record(NamedTuple):
    """Where a log has, or gets, what is carried; `time`: milliseconds since 1970, as whoever wrote it says.

    topic: None where the message does not say it. key: that of what is carried, where it is no payload of its own.
    """

    topic: str | None
    partition: int | None
    offset: int | None
    time: int | None
    key: object = None


class Payload(NamedTuple):
    """One of them: where it stands, what it is (`key`, `value`, `body`, ...), its bytes, and what it is called.

    value: as it stands there, which wire.inner.content makes bytes of. record: that which it is a part of, where it is
    one of a log; its parts follow one another.
    """

    place: Place
    kind: str
    value: object
    name: tuple[str, ...]
    record: Record | None = None


def number(value: object) -> int | None:
    """A value that is to be an integer."""
    return value if type(value) is int else None
