"""Messages as they are remembered: their sending, their deliveries, and where they lie.

Facts. Ledgers are numbered within a cluster, so a message is identified with its topic. If a connection began before
the capture, the topic is unknown, and the id alone decides. Chunks are entries of their own, so a message may be at
several places.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from dissectors.correlator import BoundedTable, MessageEvent, NumberedKey
from dissectors.pulsar.reports.fields import Place
from dissectors.report import OpenRow, column
from dissectors.slotted import field, make_slotted
from dissectors.values import measure_elapsed

LIMIT = 200_000
"""Messages that are remembered."""

SENT, DELIVERED, ACKED, REFUSED, DUPLICATE, UNRECEIPTED = (
    "sent", "delivered", "acked", "refused", "duplicate", "unreceipted",
)  # fmt: skip

NO_PARTITION = -1

SubscriptionKey = tuple[Hashable, Hashable]
"""Topic and subscription; connection and number of a consumer where these are not known."""


@make_slotted(frozen=False, eq=False)
class TrackedMessage(OpenRow):
    """place: of its last entry that was seen; keys: where it is kept. sender, producer: who sent it, and the name.

    send, sent: row and time of its SEND, the first of chunks; written: when the receipt came.
    """

    topic: str | None = None
    count: int = 1
    state: str = SENT
    error: str | None = None
    place: Place | None = None
    partition: int = NO_PARTITION
    sender: NumberedKey | None = None
    producer: str | None = None
    send: int | None = None
    sent: int | None = None
    written: int | None = None
    size: int = 0
    chunks: int = 0
    keys: list[tuple[Place, str | None]] = field(default_factory=list)
    to: dict[SubscriptionKey, MessageDelivery] = field(default_factory=dict)

    def send_by(
        self, sender: NumberedKey, event: MessageEvent, count: int, producer: str | None, *, is_chunk: bool
    ) -> None:
        """Notes a SEND of the message. Behind a proxy each comes twice; the earlier one is the client's."""
        if self.sender is None or (sender != self.sender and self.sent is not None and event.time < self.sent):
            self.sender, self.producer, self.count = sender, producer, count
            self.send, self.sent, self.size, self.chunks = event.row, event.time, 0, 0
            self.first = min(self.first, event.time)
        if sender == self.sender:
            self.size += event.size
            self.chunks += is_chunk
        self.note("sent", event)

    @property
    def id(self) -> str | None:
        """The message id as Pulsar prints it; None while it is unknown."""
        if self.place is None:
            return None
        return ":".join(map(str, (*self.place, *([self.partition] if self.partition != NO_PARTITION else []))))


@make_slotted(frozen=False, eq=False)
class MessageDelivery(OpenRow):
    """Of a message to one subscription; or of one that was delivered to none, which has no time.

    stream, number: of the connection of the consumer that got it last, and its number there. place: of the entry that
    came first; time: when all of it had come the first time. ids: how many entries are outstanding. again: how often it
    came again; counted: how often by the broker's count. acked: when nothing was left of it.
    """

    subject: TrackedMessage = field(default=None)
    topic: str | None = column(
        "text", "nothing where its producers and consumers were made before the capture", of="subject.topic"
    )
    message: str | None = column(
        "text", "ledger, entry, and the partition if it is of one; of chunks that of the last", of="subject.id"
    )
    subscription: str | None = column("text", "which it was delivered to; each has a line of its own")
    consumer: str | None = column("text", "the consumer that it was delivered to last: its name, or its number")
    producer: str | None = column("text", "the name that its producer asked for or was given", of="subject.producer")
    state: str = column(
        *("text", "sent (not delivered), delivered, acked (all, and not sent again), refused, duplicate, unreceipted"),
        of=lambda found: found.outcome,
    )
    error: str | None = column("text", "with which error its SEND was refused", of="subject.error")
    sent: int | None = column("time", "when its SEND came", of="subject.sent")
    bytes: int | None = column(
        "number", "bytes of its SENDs, all of the frames", of=lambda found: found.subject.size or None
    )
    count: int = column("number", "messages in the batch, by SEND or by the metadata of MESSAGE", of="subject.count")
    chunks: int = column(
        "number", "SENDs, or else MESSAGEs, that it is cut into; 0 for one that is not", of="subject.chunks"
    )
    receipt_ns: int | None = column(
        *("duration", "from SEND to receipt; of chunks from the first to the last"),
        of=lambda found: measure_elapsed(found.subject.sent, found.subject.written),
    )
    delivery_ns: int | None = column(
        *("duration", "from SEND to the first MESSAGE; of chunks to the last of them"),
        of=lambda found: measure_elapsed(found.subject.sent, found.time),
    )
    ack_ns: int | None = column(
        *("duration", "from there to the first ACK behind which nothing of it was left"),
        of=lambda found: measure_elapsed(found.time, found.acked),
    )
    end_to_end_ns: int | None = column(
        "duration", "from SEND to ACK", of=lambda found: measure_elapsed(found.subject.sent, found.acked)
    )
    redelivered: int = column(
        *("number", "how often it was delivered again, seen or as the broker counts"),
        of=lambda found: max(found.again, found.counted),
    )
    send: int | None = column("message", "its SEND, the first of chunks", of="subject.send")
    delivery: int | None = column("message", "its first MESSAGE")
    ack: int | None = column("message", "that ACK")
    place: Place | None = None
    stream: int = -1
    number: int = -1
    time: int | None = None
    counted: int = 0
    ids: int = 0
    again: int = 0
    acked: int | None = None

    @property
    def outcome(self) -> str:
        """The state in words, as the column `state` shows it."""
        if self.time is None:
            return self.subject.state
        return ACKED if self.acked is not None and not self.ids else DELIVERED


class MessageTracker:
    """All tracked messages, by place and topic. evict: called with the oldest if there are too many."""

    def __init__(self, evict: Callable[[TrackedMessage], object]) -> None:
        self._known: BoundedTable[int, TrackedMessage] = BoundedTable(LIMIT, evict=self._forget)
        self._evict = evict
        self._at: dict[Place, dict[str | None, TrackedMessage]] = {}

    def list_messages(self) -> Iterable[TrackedMessage]:
        """Returns the messages that were not evicted."""
        return self._known.values()

    def find(self, place: Place, topic: str | None) -> TrackedMessage | None:
        """Returns the message at a place; if a topic is unknown, the only one at that place."""
        known = self._at.get(place, {})
        if topic in known:
            return known[topic]
        if topic is None:
            return next(iter(known.values())) if len(known) == 1 else None
        return known.get(None)

    def add(self, message: TrackedMessage, place: Place, topic: str | None) -> bool:
        """Notes that a message is at a place; returns whether that is new."""
        message.topic = message.topic or topic
        message.place = place if message.place is None else max(message.place, place)
        if id(message) not in self._known:
            self._known[id(message)] = message
        known = self._at.setdefault(place, {})
        if message in known.values():
            return False
        known[message.topic] = message
        message.keys.append((place, message.topic))
        return True

    def _forget(self, message: TrackedMessage) -> None:
        for place, topic in message.keys:
            known = self._at.get(place, {})
            if known.get(topic) is message:
                del known[topic]
            if not known:
                self._at.pop(place, None)
        self._evict(message)
