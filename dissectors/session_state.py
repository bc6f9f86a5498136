"""Sessions of a connection in which a request names only changes: how a protocol declares their content.

Theory. A first request names all topics and partitions that it asks for and opens a session. Later requests of the
session name only what to add and what to remove, and often nothing at all. They still ask for all that the session
holds. A protocol describes its sessions with a SessionKind, and the analyzer applies the requests of each connection
in the order of rows (analyzer.query.fields.sessions).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeAlias

from dissectors.message import Context, Path, Values
from dissectors.name_binding import Exchange, SessionContents
from dissectors.slotted import make_slotted

Partition: TypeAlias = tuple[str, int]
"""A topic, by its name or id, and the number of a partition."""


class SessionChange(NamedTuple):
    """The change of a session by a request: what it adds, and then removes.

    A request that opens a session adds all that it names.
    """

    added: tuple[Partition, ...] = ()
    removed: tuple[Partition, ...] = ()


class SessionKind(NamedTuple):
    """The sessions that the requests of one operation use.

    key: fields that together identify a session within its connection. A request without one of them, or with 0 or an
    empty text there, uses no session. epoch: the field that counts the requests of a session. From 1 on a request is
    incremental; with 0 it names all and opens a session; below 0 it names all and closes the session. topics,
    partitions, forgotten: where a request names topics (by names or ids), the numbers of their partitions, and the
    topics of which it removes partitions. change: reads a change from the values at the paths `changed`. opens: tells
    which session was opened, from the key in the request and the values at the paths `answered` of the answer (None:
    unknown); None for none. failed: tells from the answer's values whether the broker refused the request, which then
    changed nothing.
    """

    code: int
    operation: str
    key: tuple[Path, ...]
    epoch: Path
    topics: tuple[Path, ...]
    partitions: Path
    forgotten: tuple[Path, ...]
    changed: frozenset[Path]
    change: Callable[[Values], SessionChange]
    answered: frozenset[Path]
    opens: Callable[[tuple[Hashable, ...], Values | None], tuple[Hashable, ...] | None]
    failed: Callable[[Values], bool]


@make_slotted(eq=False)
class SessionTracker:
    """The sessions of a protocol.

    kinds: the operations that use a session. read_contents: returns everything that a message requests, although it
    names only what has changed in its session; None for a message that names everything itself. It gets the exchange of
    the message first, then earlier ones of the same operation, back to the first that is known. It never raises.
    """

    kinds: tuple[SessionKind, ...]
    read_contents: Callable[[Context, Iterable[Exchange]], SessionContents | None]
