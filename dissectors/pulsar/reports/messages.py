"""Messages as they are remembered: their sending, their deliveries, and where they lie.

Facts. Ledgers are numbered within a cluster, so a message is kept with its topic; where a connection began before the
capture nobody knows the topic, and the id alone decides. Chunks are entries of their own, so a message may lie at
several places.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any

from dissectors.old_report import MessageEvent, ReportRow
from dissectors.pulsar.reports.asked import Place
from dissectors.slotted import field, slotted

MOST = 200_000
"""Messages that are remembered; the oldest is forgotten first."""

MOST_ROWS = 64
"""Messages on the wire that a line names."""

SENT, DELIVERED, ACKED, REFUSED, DUPLICATE, UNRECEIPTED = (
    "sent", "delivered", "acked", "refused", "duplicate", "unreceipted",
)  # fmt: skip

NO_PARTITION = -1

Reader = tuple[Hashable, Hashable]
"""Topic and subscription; connection and number of a consumer where these are not known."""

Sender = tuple[int, int]
"""Connection and number of a producer."""


@slotted(frozen=False, eq=False)
class Delivery:
    """To one subscription. consumer: what it is called; stream, number: its connection, and its number there.

    place: of the entry that came first, in row; time: when all of it had come the first time. ids: how many entries are
    outstanding. again: how often it came again; count: how often by the broker's count.
    """

    subscription: str | None
    consumer: str
    stream: int
    number: int
    place: Place
    row: int
    time: int
    count: int
    ids: int = 0
    again: int = 0
    acked: int | None = None
    ack: int | None = None
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message on the wire."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))


@slotted(frozen=False, eq=False)
class Message:
    """place: of its last entry that was seen; keys: where it is kept. sender, producer: who sent it, and the name.

    send, sent: row and time of its SEND, the first of chunks; written: when the receipt came.
    """

    topic: str | None
    first: int
    last: int
    count: int = 1
    state: str = SENT
    error: str | None = None
    place: Place | None = None
    partition: int = NO_PARTITION
    sender: Sender | None = None
    producer: str | None = None
    send: int | None = None
    sent: int | None = None
    written: int | None = None
    size: int = 0
    chunks: int = 0
    rows: list[tuple[str, int]] = field(default_factory=list)
    keys: list[tuple[Place, str | None]] = field(default_factory=list)
    to: dict[Reader, Delivery] = field(default_factory=dict)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message on the wire."""
        self.seen(told)
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))

    def seen(self, told: MessageEvent) -> None:
        """Something was heard of it."""
        self.last = max(self.last, told.time)

    def sends(self, sender: Sender, told: MessageEvent, count: int, producer: str | None, *, chunk: bool) -> None:
        """One of its SENDs. Behind a proxy each comes twice; the earlier one is the client's own."""
        if self.sender is None or (sender != self.sender and self.sent is not None and told.time < self.sent):
            self.sender, self.producer, self.count = sender, producer, count
            self.send, self.sent, self.size, self.chunks = told.row, told.time, 0, 0
            self.first = min(self.first, told.time)
        if sender == self.sender:
            self.size += told.size
            self.chunks += chunk
        self.note("sent", told)

    @property
    def called(self) -> str | None:
        """Its id as Pulsar prints it; None where it has none."""
        if self.place is None:
            return None
        return ":".join(map(str, (*self.place, *([self.partition] if self.partition != NO_PARTITION else []))))


class Messages:
    """All messages, by place and topic."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Message] = OrderedDict()
        self._at: dict[Place, dict[str | None, Message]] = {}

    def all(self) -> Iterator[Message]:
        """Those that are not forgotten."""
        return iter(self._known.values())

    def find(self, place: Place, topic: str | None) -> Message | None:
        """The message at a place; where its topic is unknown, on either side, the only one that is there."""
        known = self._at.get(place, {})
        if topic in known:
            return known[topic]
        if topic is None:
            return next(iter(known.values())) if len(known) == 1 else None
        return known.get(None)

    def add(self, message: Message, place: Place, topic: str | None) -> bool:
        """A message lies there; whether that is new."""
        message.topic = message.topic or topic
        message.place = place if message.place is None else max(message.place, place)
        self._known.setdefault(id(message), message)
        known = self._at.setdefault(place, {})
        if message in known.values():
            return False
        known[message.topic] = message
        message.keys.append((place, message.topic))
        return True

    def oldest(self) -> Message | None:
        """The oldest, where there are too many: it is forgotten."""
        if len(self._known) <= MOST:
            return None
        _, message = self._known.popitem(last=False)
        for place, topic in message.keys:
            known = self._at.get(place, {})
            if known.get(topic) is message:
                del known[topic]
            if not known:
                self._at.pop(place, None)
        return message


def lines(message: Message) -> Iterator[ReportRow]:
    """A line for each subscription, or one where it was delivered to none."""
    sending = (
        message.error,
        message.sent,
        message.size or None,
        message.count,
        message.chunks,
        _after(message.sent, message.written),
    )
    for found in message.to.values():
        values: tuple[Any, ...] = (
            message.topic,
            message.called,
            found.subscription,
            found.consumer,
            message.producer,
            ACKED if found.acked is not None and not found.ids else DELIVERED,
            *sending,
            _after(message.sent, found.time),
            _after(found.time, found.acked),
            _after(message.sent, found.acked),
            max(found.again, found.count),
            message.send,
            found.row,
            found.ack,
        )
        yield ReportRow(values, (*message.rows, *found.rows), message.first, message.last)
    if not message.to:
        values = (message.topic, message.called, None, None, message.producer, message.state, *sending)
        values += (None, None, None, 0, message.send, None, None)
        yield ReportRow(values, tuple(message.rows), message.first, message.last)


def _after(first: int | None, then: int | None) -> int | None:
    return None if first is None or then is None else max(then - first, 0)
