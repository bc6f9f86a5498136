"""Producers and consumers on connections: what is alike in both, and where they are kept.

Facts (ServerCnx, ClientCnx). A client numbers its producers, and its consumers, on each connection for itself, so a
number belongs to a connection. It may be used again there when the first was closed or refused: a client comes back
with the number it had. A command that makes one which is there already is answered, and makes nothing. A proxy passes
bytes on as they are behind its own CONNECT, so one that comes through it stands on two connections; the client says in
its CONNECT to which broker the proxy shall lead, and 5.0's clients leave that text empty where they want none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from dissectors.old_report import ConnectionEnd, Ends, MessageEvent
from dissectors.pulsar.reports.asked import text
from dissectors.remembered import Remembered
from dissectors.slotted import field, slotted
from dissectors.wire.times import lasting

MOST = 65_536
"""Members that are remembered."""

MOST_ROWS = 64
"""Messages of a member that are named."""

OPEN, CLOSED, LOST, REFUSED, FENCED, UNSUBSCRIBED = "open", "closed", "lost", "refused", "fenced", "unsubscribed"
CLIENT, BROKER = "client", "broker"


class Brokers:
    """By connection to which broker a proxy leads it, as CONNECT says."""

    def __init__(self) -> None:
        self._urls: Remembered[int, str] = Remembered()

    def connect(self, told: MessageEvent) -> None:
        """A CONNECT."""
        url = text(told.values, "proxy_to_broker_url")
        if url is not None:
            self._urls.keep(told.stream, url)

    def of(self, stream: int) -> str | None:
        """None where there is no proxy, or nobody said so."""
        return self._urls.get(stream)


@slotted(frozen=False, eq=False)
class Member:
    """A producer or a consumer. seen: whether the command that makes it was.

    asked: when that was; made, took: when the answer came, and how long that took, ns. state, by, error, over, to: how
    it stands or ended, who ended it, with which error, when, and at which broker the client shall go on.
    """

    stream: int
    number: int
    client: str
    server: str
    broker: str | None
    version: str | None
    first: int
    last: int
    seen: bool
    topic: str | None = None
    made: int | None = None
    took: int | None = None
    state: str = OPEN
    by: str | None = None
    error: str | None = None
    over: int | None = None
    to: str | None = None
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))

    def ready(self, told: MessageEvent) -> None:
        """The answer came by which it may begin."""
        self.note("made", told)
        if self.made is None:
            self.made, self.took = told.time, max(told.time - self.first, 0)

    def refuse(self, told: MessageEvent, state: str, error: str | None) -> None:
        """It was answered with an error."""
        self.note(state, told)
        self.end(state, told.time, BROKER)
        self.error = error

    def end(self, state: str, time: int, by: str) -> None:
        """It is over; what comes behind the first end changes nothing."""
        if self.state == OPEN:
            self.state, self.over, self.by = state, time, by

    def stays(self) -> None:
        """It was refused to unsubscribe, as where others are on the subscription."""
        if self.state == UNSUBSCRIBED:
            self.state, self.over, self.by = OPEN, None, None

    def close(self, told: MessageEvent, state: str = CLOSED) -> None:
        """A command that closes it, of the client or of the broker, which may say where to go on."""
        self.note(state, told)
        self.end(state, told.time, CLIENT if told.from_client else BROKER)
        self.to = self.to or text(told.values, "assignedBrokerServiceUrl")
        self.to = self.to or text(told.values, "assignedBrokerServiceUrlTls")


_Member = TypeVar("_Member", bound=Member)


class Members(Generic[_Member]):
    """By connection and number. give: takes those that are over, or too many."""

    def __init__(self, make: Callable[..., _Member], ends: Ends, give: Callable[[_Member], None]) -> None:
        self._make, self._ends, self._give = make, ends, give
        self._by: OrderedDict[tuple[int, int], _Member] = OrderedDict()
        self._on: dict[int, set[int]] = {}
        self.brokers = Brokers()
        self.asked: Remembered[int, tuple[_Member, bool]] = Remembered()
        """By row of a request whose it is, and whether it shall make it."""

    def of(self, told: MessageEvent, number: int) -> _Member:
        """The one with that number on the connection of a message; one that was made before the capture is new."""
        found = self._by.get((told.stream, number))
        if found is None:
            found = self._added(told, number, seen=False)
        found.last = max(found.last, told.time)
        return found

    def asks(self, told: MessageEvent, number: int) -> tuple[_Member, bool]:
        """The one that a command shall make, and whether it is new; its answer is waited for."""
        found = self._by.get((told.stream, number))
        fresh = found is None or found.state != OPEN or not found.seen
        if found is None or fresh:
            if found is not None:
                self._drop((told.stream, number))
            found = self._added(told, number, seen=True)
        found.note("asked" if fresh else "again", told)
        found.last = max(found.last, told.time)
        self.awaits(told, found, makes=fresh)
        return found, fresh

    def awaits(self, told: MessageEvent, found: _Member, *, makes: bool) -> None:
        """A request was sent that will have an answer, if it has one."""
        if told.partner is not None:
            self.asked.keep(told.row, (found, makes))

    def ended(self, ending: ConnectionEnd) -> None:
        """A connection ended, and with it all that were on it."""
        for number in sorted(self._on.get(ending.stream, ())):
            found = self._by[ending.stream, number]
            found.last = max(found.last, ending.time)
            found.end(LOST, ending.time, CLIENT if ending.by_client else BROKER)
            self._drop((ending.stream, number))

    def finish(self) -> None:
        """The capture ended."""
        for key in list(self._by):
            self._drop(key)

    def all(self) -> Iterator[_Member]:
        """Those that were not given yet."""
        return iter(self._by.values())

    def _added(self, told: MessageEvent, number: int, *, seen: bool) -> _Member:
        client, server = self._ends(told.stream)
        broker = self.brokers.of(told.stream)
        found = self._make(told.stream, number, client, server, broker, told.client_name, told.time, told.time, seen)
        self._by[told.stream, number] = found
        self._on.setdefault(told.stream, set()).add(number)
        if len(self._by) > MOST:
            self._drop(next(iter(self._by)))
        return found

    def _drop(self, key: tuple[int, int]) -> None:
        found = self._by.pop(key)
        numbers = self._on[key[0]]
        numbers.discard(key[1])
        if not numbers:
            del self._on[key[0]]
        self._give(found)


def says(word: str, noun: str, said: dict[str, object], first: int) -> str:
    """What a line says of one of its messages, for people."""
    verb = _VERBS.get(word, word)
    about = f" of {said['topic']}" if said["topic"] else ""
    by = f" by the {said['by']}" if said["by"] else ""
    error = f" ({said['error']})" if said["error"] else ""
    to = f", sent on to {said['moved_to']}" if said["moved_to"] else ""
    ended = said["ended"]
    lasted = f" {lasting(ended - first)} after it was first seen" if isinstance(ended, int) else ""
    return f"{verb} {noun}{about}: {said['state']}{by}{error}{lasted}{to}"


_VERBS = {
    "asked": "asks for",
    "again": "asks again for",
    "waiting": "lets wait",
    "made": "makes",
    REFUSED: "refuses",
    FENCED: "fences off",
    CLOSED: "closes",
    UNSUBSCRIBED: "unsubscribes",
    "error": "reports an error to",
    "seek": "moves",
    "redeliver": "asks again for messages of",
}
