"""Producers and consumers on connections: the parts that both reports share.

Facts (ServerCnx, ClientCnx). A client numbers its producers and its consumers separately on each connection, so a
number belongs to a connection. It may be reused there after its producer or consumer was closed or refused: a client
comes back with its old number. A command that creates one which exists already is answered, and creates nothing. A
proxy forwards bytes unchanged behind its own CONNECT, so a client of a proxy appears on two connections. In its CONNECT
the client names the broker for the proxy; clients of 5.0 leave that text empty if they want none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from dissectors.correlator import ConnectionEnd, Handler, MessageEvent, NumberedKey, NumberedTable
from dissectors.pulsar.reports.fields import ProxiedBrokers, read_text
from dissectors.report import OpenRow, Report
from dissectors.slotted import make_slotted
from dissectors.values import number

OPEN, CLOSED, LOST, REFUSED, FENCED, UNSUBSCRIBED = "open", "closed", "lost", "refused", "fenced", "unsubscribed"
CLIENT, BROKER = "client", "broker"


@make_slotted(frozen=False, eq=False)
class ConnectionMember(OpenRow):
    """A producer or consumer of a connection. seen: whether its creation is in the capture, requested at `first`."""

    stream: int = 0
    number: int = 0
    seen: bool = False
    client: str = ""
    server: str = ""
    broker: str | None = None
    version: str | None = None
    topic: str | None = None
    made: int | None = None
    made_after_ns: int | None = None
    state: str = OPEN
    by: str | None = None
    error: str | None = None
    ended: int | None = None
    moved_to: str | None = None

    def begin(self, event: MessageEvent) -> None:
        """Notes the answer with which the member may begin."""
        self.note("made", event)
        if self.made is None:
            self.made, self.made_after_ns = event.time, max(event.time - self.first, 0)

    def refuse(self, event: MessageEvent, state: str, error: str | None) -> None:
        """Handles an error as the answer to its creation."""
        self.note(state, event)
        self.end(state, event.time, BROKER)
        self.error = error

    def end(self, state: str, time: int, by: str) -> None:
        """Ends it; what comes after the first end changes nothing."""
        if self.state == OPEN:
            self.state, self.ended, self.by = state, time, by

    def stay(self) -> None:
        """Notes that unsubscribing was refused, as when other consumers use the subscription."""
        if self.state == UNSUBSCRIBED:
            self.state, self.ended, self.by = OPEN, None, None

    def close(self, event: MessageEvent, state: str = CLOSED) -> None:
        """Handles a CLOSE command of the client or the broker; the broker may name another broker."""
        self.note(state, event)
        self.end(state, event.time, CLIENT if event.from_client else BROKER)
        self.moved_to = self.moved_to or read_text(event.values, "assignedBrokerServiceUrl")
        self.moved_to = self.moved_to or read_text(event.values, "assignedBrokerServiceUrlTls")


_Member = TypeVar("_Member", bound=ConnectionMember)


SENTENCE = (
    "( of {topic}): {state}( by the {by})( \\({error}\\))( {lasted_ns%lasting} after it was first seen)"
    "(, sent on to {moved_to})"
)
"""What a message is to a member, behind which one it is."""


class MemberReport(Report[_Member]):
    """A row for each. One is over when its number is given to another, or its connection ends.

    noun: what one is called. resource: what TOPIC_MIGRATED calls it, by name or number.
    """

    noun: ClassVar[str]
    resource: ClassVar[tuple[str, int]]
    verbs: ClassVar[Mapping[str, str]] = {
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

    def _begin(self) -> None:
        self.rows: NumberedTable[_Member] = NumberedTable(self.limit, evict=self.close)
        self.brokers = ProxiedBrokers()

    def make(self, key: NumberedKey, event: MessageEvent) -> _Member:
        """Makes a row for one that was created before the capture."""
        made: Any = self.row(event.time, event.time)
        made.stream, made.number = key
        made.client, made.server, made.version = event.client, event.server, event.client_name
        made.broker = self.brokers.find_broker(event.stream)
        return made  # type: ignore[no-any-return]

    def find_member(self, event: MessageEvent) -> _Member | None:
        """Returns the one whose number a message has; None where it has none."""
        values, name = event.values, f"{self.noun}_id"
        return self.find((event.stream, values[name]), event) if isinstance(values.get(name), int) else None

    @abstractmethod
    def ask(self, member: _Member, event: MessageEvent) -> None:
        """Opens the row of the member that a command makes."""

    def connect(self, event: MessageEvent) -> None:
        """Notes from CONNECT to which broker a proxy leads."""
        self.brokers.connect(event)

    def ask_for(self, event: MessageEvent) -> None:
        """Handles a command that creates one, which may exist already; awaits its answer."""
        named = event.values.get(f"{self.noun}_id")
        if not isinstance(named, int):
            return
        key = event.stream, named
        found = self.rows.get(key)
        fresh = found is None or found.state != OPEN or not found.seen
        if found is not None and fresh:
            self.rows.pop(key)
            self.close(found)
        member = self.find(key, event)
        member.note("asked" if fresh else "again", event)
        if fresh:
            member.seen = True
            self.ask(member, event)
        self.await_answer(event, (member, fresh))

    def migrate(self, event: MessageEvent) -> None:
        """Handles a TOPIC_MIGRATED command for one of these members."""
        if event.values.get("resource_type") in self.resource:
            found = self.find((event.stream, number(event.values, "resource_id")), event)
            found.moved_to = read_text(event.values, "brokerServiceUrl") or read_text(
                event.values, "brokerServiceUrlTls"
            )
            found.note("migrated", event)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Ends the producers and consumers of a connection that ends."""
        for key, member in self.rows.items_on(end.stream):
            member.last = max(member.last, end.time)
            member.end(LOST, end.time, CLIENT if end.by_client else BROKER)
            self.rows.pop(key)
            self.close(member)


def for_member(handle: Callable[[Any, Any, MessageEvent], None]) -> Handler:
    """Wraps a handler so that it also gets the member that a message belongs to, if that is known."""

    def receive(report: MemberReport[Any], event: MessageEvent) -> None:
        member = report.find_member(event)
        if member is not None:
            handle(report, member, event)

    return receive


_BITS = 7


class DurationStatistics:
    """Durations in ns: how many there are, the longest (None without any) and the median."""

    __slots__ = ("_groups", "count", "longest")

    def __init__(self) -> None:
        self._groups: dict[int, tuple[int, int]] = {}
        self.count = 0
        self.longest: int | None = None

    def add(self, lasted: int) -> None:
        """Adds a duration (ns); a negative one, from clocks that differ, is left out."""
        lasted = max(lasted, 0)
        shift = max(lasted.bit_length() - _BITS, 0)
        group = lasted >> shift << shift
        count, lasted_ns = self._groups.get(group, (0, lasted))
        self._groups[group] = count + 1, lasted_ns
        self.count += 1
        self.longest = lasted if self.longest is None else max(self.longest, lasted)

    @property
    def median(self) -> int | None:
        """The middle one, of two the smaller; see the module."""
        below = 0
        for group in sorted(self._groups):
            count, lasted_ns = self._groups[group]
            below += count
            if 2 * below >= self.count:
                return lasted_ns
        return None
