"""Messages in reports: their sending, their deliveries, and their names.

Facts. A producer without an answer, or with an error, sends the same message again under the same UNIQ_KEY
(DefaultMQProducerImpl.sendDefaultImpl); so does an application that sends the same object twice. A message that is sent
again after it was stored counts as a message of its own here: an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.report import OpenRow, column
from dissectors.rocketmq.labels import RETRY, find_delay
from dissectors.rocketmq.reports.fields import read_header
from dissectors.rocketmq.reports.ids import (
    MOST_IDS,
    Place,
    format_offset_id,
    parse_handle,
    read_count,
    read_properties,
    resolve_retry_topic,
)
from dissectors.slotted import field, make_slotted
from dissectors.values import measure_elapsed, number, struct, structs, text

LIMIT = 200_000
"""Messages that are remembered."""

MOST_READERS = 1024
"""Groups of one message that are told."""

MOST_KEYS = 64
"""Names of one message."""

UNANSWERED, STORED, REFUSED, HALF, ROLLED_BACK, RECALLED = (
    "unanswered", "stored", "refused", "half", "rolled back", "recalled",
)  # fmt: skip
DELIVERED, RETURNED, DEAD, ACKED = "delivered", "returned", "dead", "acked"

MessageKey = str | Place
"""UNIQ_KEY, or where it lies."""

GroupReader = tuple[str | None, str | None]
"""A group; and the client where each of the group gets all messages."""


@make_slotted(frozen=False, eq=False)
class TrackedMessage(OpenRow):
    """A message that is followed from its producer to its consumers.

    key: its UNIQ_KEY; place: where it lies; names: what it is found by. queue, offset: where consumers find it.

    stream, client, language, group: who sends it; send, sent: row and time of the first SEND; answered: when it was
    stored or refused, and how (status). attempts: how often it was sent. due: when it shall be delivered, ns since
    1970.
    """

    topic: str | None = None
    key: str | None = None
    place: Place | None = None
    queue: int | None = None
    offset: int | None = None
    keys: str | None = None
    tags: str | None = None
    state: str = STORED
    status: str | None = None
    stream: int | None = None
    client: str | None = None
    language: str | None = None
    group: str | None = None
    send: int | None = None
    sent: int | None = None
    answered: int | None = None
    size: int | None = None
    batch: int | None = None
    attempts: int = 0
    due: int | None = None
    half: bool = False
    names: list[MessageKey] = field(default_factory=list)
    to: dict[GroupReader, MessageDelivery] = field(default_factory=dict)

    @property
    def offset_id(self) -> str | None:
        """The id by which a broker calls the message."""
        return None if self.place is None else format_offset_id(self.place)


@make_slotted(frozen=False, eq=False)
class MessageDelivery(OpenRow):
    """Of a message to one group; or of one that was delivered to none, which has no time.

    stream: of the consumer that got it last; at: its queue and offset. time: of the first one. again: how often it came
    again; counted: how often by the broker's count. is_back: whether it waits to come again; open: it may be acked;
    acked: since when nothing of it is left.
    """

    subject: TrackedMessage = field(default=None)
    topic: str | None = column(
        "text", "as it was sent to; of a message that comes again not the topic of retries", of="subject.topic"
    )
    message: str | None = column(
        *("text", "its UNIQ_KEY, which the client gives it; else its offset id"),
        of=lambda found: found.subject.key or found.subject.offset_id,
    )
    group: str | None = column("text", "the consumer group that it was delivered to; each has a line of its own")
    state: str = column(
        "text",
        "unanswered, stored, refused, half, rolled back, recalled (delivered to nobody); delivered, acked, returned "
        "(sent back), dead (sent back too often)",
        of="outcome",
    )
    status: str | None = column(
        "text", "what the broker answered: SEND_OK, or the name of the response code", of="subject.status"
    )
    keys: str | None = column("text", "by which it may be looked for", of="subject.keys")
    tags: str | None = column("text", "by which consumers choose", of="subject.tags")
    queue: int | None = column("number", "in which queue of the topic it lies", of="subject.queue")
    offset: int | None = column("number", "where in that queue", of="subject.offset")
    offset_id: str | None = column(
        "text", "the broker's address and the offset in its commit log, as hex", of="subject.offset_id"
    )
    producer: str | None = column("text", "the group that sends it", of="subject.group")
    sender: str | None = column("text", "the address that sends it", of="subject.client")
    language: str | None = column("text", "the language and version of who sends it", of="subject.language")
    consumer: str | None = column("text", "the address that it was delivered to last")
    how: str | None = column("text", "pull or pop")
    sent: int | None = column("time", "when its first SEND came", of="subject.sent")
    bytes: int | None = column("number", "bytes of that SEND, all of the frame", of="subject.size")
    batch: int | None = column("number", "messages that were sent with it in one SEND, of a batch", of="subject.batch")
    attempts: int | None = column("number", "how often it was sent", of=lambda found: found.subject.attempts or None)
    answer_ns: int | None = column(
        *("duration", "from the first SEND to the answer that counts"),
        of=lambda found: measure_elapsed(found.subject.sent, found.subject.answered),
    )
    due: int | None = column(
        "time", "when it shall be delivered; by DELAY or TIMER_DELAY an estimate", of="subject.due"
    )
    delivery_ns: int | None = column(
        *("duration", "from SEND to the first answer with it"),
        of=lambda found: measure_elapsed(found.subject.sent, found.time),
    )
    late_ns: int | None = column(
        "duration", "from when it was due to there", of=lambda found: measure_elapsed(found.subject.due, found.time)
    )
    ack_ns: int | None = column(
        *("duration", "from there to the ACK, or to the committed offset behind it"),
        of=lambda found: measure_elapsed(found.time, found.acked),
    )
    end_to_end_ns: int | None = column(
        "duration", "from SEND to there", of=lambda found: measure_elapsed(found.subject.sent, found.acked)
    )
    redelivered: int = column(
        *("number", "how often it was delivered again, seen or as the broker counts"),
        of=lambda found: max(found.again, found.counted),
    )
    returned: int = column("number", "how often it was sent back", 0)
    send: int | None = column("message", "its SEND", of="subject.send")
    delivery: int | None = column("message", "the first answer with it")
    ack: int | None = column("message", "the ACK, or what commits")
    stream: int = -1
    at: tuple[object, ...] = ()
    time: int | None = None
    counted: int = 0
    again: int = 0
    is_back: bool = False
    dead: bool = False
    open: bool = True
    acked: int | None = None

    @property
    def outcome(self) -> str:
        """The state in words, as the column `state` shows it."""
        if self.time is None:
            return self.subject.state
        if self.dead:
            return DEAD
        if self.is_back:
            return RETURNED
        return DELIVERED if self.open or self.acked is None else ACKED


class MessageTracker:
    """All tracked messages, by their names. evict: called with the oldest if there are too many."""

    def __init__(self, evict: Callable[[TrackedMessage], object]) -> None:
        self._known: BoundedTable[int, TrackedMessage] = BoundedTable(LIMIT, evict=self._evict)
        self._evicted = evict
        self._at: dict[MessageKey, TrackedMessage] = {}

    def list_messages(self) -> Iterable[TrackedMessage]:
        """Returns the messages that were not evicted."""
        return self._known.values()

    def find(self, *names: MessageKey | None) -> TrackedMessage | None:
        """Returns the message of the first of these names that is known; of several of that name the latest."""
        return next((self._at[name] for name in names if name is not None and name in self._at), None)

    def add(self, message: TrackedMessage, *names: MessageKey | None) -> None:
        """Adds a message with its names."""
        for name in names:
            if name is not None and self._at.get(name) is not message:
                self._at[name] = message
                if len(message.names) < MOST_KEYS:
                    message.names.append(name)
                else:
                    self._forget(message.names[-1], message)
                    message.names[-1] = name
        if id(message) not in self._known:
            self._known[id(message)] = message

    def _evict(self, message: TrackedMessage) -> None:
        for name in message.names:
            self._forget(name, message)
        self._evicted(message)

    def _forget(self, name: MessageKey, message: TrackedMessage) -> None:
        if self._at.get(name) is message:
            del self._at[name]


@make_slotted
class ReceivedMessage:
    """A message in an answer.

    topic, queue, offset: where the group finds it; properties: of the message; count: reconsumeTimes.
    """

    topic: str | None
    queue: int
    offset: int
    place: Place
    properties: Mapping[str, Any]
    count: int


def iterate_messages(event: MessageEvent, group: str | None) -> Iterator[ReceivedMessage]:
    """Yields the messages of an answer; those of an inner batch one by one."""
    for each in structs(struct(event.values, "body").get("messages")):
        properties, host = read_properties(each.get("properties")), text(each, "storeHost") or ""
        at, topic, queue = number(each, "commitLogOffset"), text(each, "topic"), number(each, "queueId")
        offset, count = number(each, "queueOffset"), number(each, "reconsumeTimes")
        handle = parse_handle(text(properties, "POP_CK"))
        if handle is not None and handle.kind != "0":
            topic, queue, offset = resolve_retry_topic(topic, group, handle.kind), handle.queue, handle.offset
        inner = structs(each.get("messages"))
        if not inner:
            yield ReceivedMessage(topic, queue, offset, (host, at, 0), properties, count)
        for index, item in enumerate(inner):
            yield ReceivedMessage(
                topic,
                queue,
                number(item, "queueOffset"),
                (host, at, index),
                read_properties(item.get("properties")),
                count,
            )


SINGLE_SENDS, BATCH_SEND = "SEND_MESSAGE SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE"
MS = 1_000_000

PHASE, PREPARED, COMMITTED, ROLLBACK = 12, 4, 8, 12
"""Bits of a message's sysFlag, and of END_TRANSACTION's commitOrRollback."""

OUTCOMES = {COMMITTED: "committed", ROLLBACK: "rolled back"}
"""How a transaction ends, by commitOrRollback."""

IS_STORED = frozenset({0, 10, 11, 12})
"""Success, and the three answers that say that it is stored, but not as safely as was asked: FLUSH_DISK_TIMEOUT,
SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT (SendMessageProcessor.handlePutMessageResult).
"""

_HALF = "TRAN_MSG\x01true"
_TIMES = frozenset({"TIMER_DELIVER_MS", "TIMER_OUT_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC", "DELAY"})
_LATEST = (1 << 63) - 1


class SendRequest(NamedTuple):
    """A request that sends. each: the properties of every message; batch: how many these are, None for a single one."""

    topic: str | None
    group: str | None
    is_half: bool
    again: int
    most: int
    each: list[Mapping[str, Any]]
    batch: int | None

    @property
    def retry_group(self) -> str | None:
        """The group that sends a message back to itself, as clients do that could not ask the broker to."""
        topic = self.topic or ""
        return topic[len(RETRY) :] if topic.startswith(RETRY) else None


def is_half_message(header: Mapping[str, Any]) -> bool:
    """Whether the header of a SEND is of a half message: by its flag, and in the properties, which old brokers read."""
    properties = header.get("properties")
    return number(header, "sysFlag") & PHASE == PREPARED or (isinstance(properties, str) and _HALF in properties)


def read_send(event: MessageEvent) -> SendRequest:
    """Reads the messages of a SEND; of a batch at most MOST_IDS."""
    header = read_header(event.values)
    own = read_properties(header.get("properties"))
    batch: list[Mapping[str, Any]] = []
    if event.operation == BATCH_SEND:
        items = structs(struct(event.values, "body").get("messages"))[:MOST_IDS]
        batch = [read_properties(item.get("properties")) for item in items]
    return SendRequest(
        text(header, "topic"),
        text(header, "producerGroup"),
        is_half_message(header),
        number(header, "reconsumeTimes"),
        number(header, "maxReconsumeTimes", -1),
        batch or [own],
        len(batch) or None,
    )


def estimate_due(properties: Mapping[str, Any], sent: int | None) -> int | None:
    """When a message shall be delivered, ns since 1970, by its properties and when it was sent; None for at once.

    An estimate, but for TIMER_DELIVER_MS, and TIMER_OUT_MS, which a broker adds.
    """
    if _TIMES.isdisjoint(properties):
        return None
    until = read_count(properties, "TIMER_DELIVER_MS") or read_count(properties, "TIMER_OUT_MS")
    if until is not None:
        found = until * MS
    elif sent is None:
        return None
    else:
        milliseconds, seconds, level = (
            read_count(properties, name) for name in ("TIMER_DELAY_MS", "TIMER_DELAY_SEC", "DELAY")
        )
        if milliseconds is None and seconds is not None:
            milliseconds = seconds * 1000
        elif milliseconds is None and level:
            milliseconds = find_delay(level)
        if milliseconds is None:
            return None
        found = sent + milliseconds * MS
    return found if found <= _LATEST else None
