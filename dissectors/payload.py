"""Payloads that messages carry for applications: keys and values of records, bodies, data of nodes.

Theory. A protocol is an envelope, and people often want its content as files. Only the protocol knows where payloads
are in a message's values, and how they are called outside of it (topic, partition and offset; a path). A payload's
bytes are those that the application wrote: decompressed, and taken out of their batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from dissectors.message import Role, Values
from dissectors.slotted import make_slotted
from dissectors.symbolic_values import Integer

LoadRequest: TypeAlias = Callable[[], Values | None]
"""The values of the request that a message answers, decoded when asked for; None where that is unknown."""

Carriers: TypeAlias = frozenset[tuple[int | None, Role]]
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


def anything() -> None:
    """Returns None: any message of the protocol may carry records."""


@make_slotted(eq=False)
class Payloads:
    """Declares which messages of a protocol carry data of applications, and extracts it.

    extract: of the values of a message, perhaps with names for ids, what it carries, in its order; never raises, for
    values may lack anything. carriers: the messages in which there may be records of logs; None where any may. A
    message whose code is unknown is of none of the others.
    """

    extract: Callable[[Values, LoadRequest], Iterable[Payload]]
    carriers: Callable[[], Carriers | None] = anything


def number(value: object) -> Any:
    """Returns a value as an integer, which may be symbolic; None if it is not one."""
    return value if type(value) is int or type(value) is Integer else None
