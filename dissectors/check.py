"""What only several messages together show: the interface of those who watch a whole capture.

Theory. A message is decoded alone, and most that is wrong with one shows in it alone. Some things do not: a sequence
number that comes twice, a session that is used out of step. For these a protocol has Checks. One is made for each
reading of a capture, is shown the messages that it asks for in the order of rows, remembers what it needs, bounded, and
says at each what is wrong with that one in the light of those before it. Nobody pays for it but who asks for a checkup
(analyzer.insight).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dissectors.finding import Finding
from dissectors.lesson import Path
from dissectors.message import Context, Role


def unnamed(kind: str, key: str) -> str | None:
    """The name of an id that nobody explained."""
    return None


class Seen(NamedTuple):
    """A message in its place. stream: the number of its connection. time: of its completion, ns since 1970.

    request: what Check.kept of the request that it answers; None for a request.
    server, client: addresses and ports of the connection's ends. losses: how often bytes of the connection were missing
    from the capture up to this message. name: what people call an id of a kind, as other messages told it
    (dissectors.lesson). error: what the message itself reports, as Body.error.
    """

    context: Context
    values: Mapping[str, Any]
    stream: int
    time: int
    request: object = None
    server: str = ""
    losses: int = 0
    name: Callable[[str, str], str | None] = unnamed
    client: str = ""
    error: tuple[int, str] | None = None


class Closed(NamedTuple):
    """A connection that ended: who sent the first FIN or RST; the time of its last packet, ns since 1970.

    losses: as Seen has them, up to its last message.
    """

    stream: int
    time: int
    by_client: bool
    client: str
    server: str
    losses: int = 0


class Open(NamedTuple):
    """A connection that nobody has ended. time: of the capture's last packet, ns since 1970. losses: as Closed has."""

    stream: int
    time: int
    losses: int = 0


class Check(ABC):
    """Looks at some messages of a capture, one after the other.

    wants: codes and roles of the messages that see() is to get; a response only behind a request of which
    something was kept. paths: the fields that are looked at, in any of them; others may be missing from Seen.values.
    """

    wants: frozenset[tuple[int | None, Role]]
    paths: frozenset[Path]

    @abstractmethod
    def see(self, seen: Seen) -> Iterable[Finding]:
        """What is wrong with this message in the light of those before it. Never raises: values may lack anything."""

    def closed(self, closed: Closed) -> Iterable[Finding]:
        """What is wrong with the end of a connection, told when all messages have been seen, in the order of ends."""
        return ()

    def still_open(self, connection: Open) -> Iterable[Finding]:
        """What is wrong with a connection that is open when the capture ends; told behind the ends of the others."""
        return ()

    def kept(self, seen: Seen) -> object:
        """What of a request its response will want to know (Seen.request); asked behind see()."""
        return None
