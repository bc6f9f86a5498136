"""The story of messages: when each was sent, written, delivered to a subscription and acknowledged there.

Facts (ServerCnx.handleSend, Consumer.sendMessages, ChunkMessageIdImpl). A message has an id when it is written: the
receipt of its SEND tells it, each MESSAGE repeats it, each ACK names it. Chunks of a message are entries of their own,
with one sequence id on the way in and one uuid on the way out: they are told together, by the id of the last. A batch
is one entry and has one line. What a topic without persistence sends has no id that tells it from others, what a
geo-replicator marks for itself is delivered to nobody, and neither is told.

A proxy passes bytes on, so the same message is seen on two connections. Who sends, or is delivered to, on the client's
side of it counts: the first SEND, and the last of two MESSAGEs of which one is the other's echo.

What a transaction acknowledges counts at once, whatever becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from dissectors.api import Role
from dissectors.old_report import Column, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.pulsar.reports.asked import NO_NUMBER, PULSAR, Place, number, of, place_of, struct, structs, text
from dissectors.pulsar.reports.members import Brokers
from dissectors.pulsar.reports.messages import (
    DUPLICATE,
    REFUSED,
    UNRECEIPTED,
    Delivery,
    Message,
    Messages,
    Reader,
    Sender,
    lines,
)
from dissectors.pulsar.reports.outstanding import Acked, Outstanding
from dissectors.pulsar.reports.permits import batch_of, messages_in, words_of
from dissectors.remembered import Remembered
from dissectors.slotted import slotted
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

MOST_READERS = 1024
"""Subscriptions of one message that are told."""

MOST_NAMED = 16
"""Lines that name the same cumulative ACK: those of the latest messages that it is for."""

_CUMULATIVE = ("Cumulative", 1)
_VOLATILE = "non-persistent://"


class _Named(NamedTuple):
    """A producer, or a consumer, as the command that makes it names it."""

    topic: str | None
    subscription: str | None = None
    name: str | None = None


_NOBODY = _Named(None)


@slotted(frozen=False, eq=False)
class _Cut:
    """Chunks that a producer sends: their sequence id, and their message once one of them has an id."""

    sequence: int
    message: Message | None = None


class _Sent(NamedTuple):
    """A SEND until its receipt comes."""

    told: MessageEvent
    sender: Sender
    by: _Named
    messages: int
    cut: _Cut | None

    def of(self, message: Message) -> None:
        """It is of that message."""
        message.sends(self.sender, self.told, self.messages, self.by.name, chunk=self.cut is not None)


class Deliveries(OldReport):
    """See the module."""

    name = "deliveries"
    about = "each message and subscription: when it was sent, written, delivered and acknowledged"
    needs = PULSAR
    columns = (
        Column("topic", "text", "nothing where its producers and consumers were made before the capture"),
        Column("message", "text", "ledger, entry, and the partition if it is of one; of chunks that of the last"),
        Column("subscription", "text", "which it was delivered to; each has a line of its own"),
        Column("consumer", "text", "the consumer that it was delivered to last: its name, or its number"),
        Column("producer", "text", "the name that its producer asked for or was given"),
        Column(
            "state",
            "text",
            "sent (not delivered), delivered, acked (all, and not sent again), refused, duplicate, unreceipted",
        ),
        Column("error", "text", "with which error its SEND was refused"),
        Column("sent", "time", "when its SEND came"),
        Column("bytes", "number", "bytes of its SENDs, all of the frames"),
        Column("count", "number", "messages in the batch, by SEND or by the metadata of MESSAGE"),
        Column("chunks", "number", "SENDs, or else MESSAGEs, that it is cut into; 0 for one that is not"),
        Column("receipt_ns", "duration", "from SEND to receipt; of chunks from the first to the last"),
        Column("delivery_ns", "duration", "from SEND to the first MESSAGE; of chunks to the last of them"),
        Column("ack_ns", "duration", "from there to the first ACK behind which nothing of it was left"),
        Column("end_to_end_ns", "duration", "from SEND to ACK"),
        Column("redelivered", "number", "how often it was delivered again, seen or as the broker counts"),
        Column("send", "message", "its SEND, the first of chunks"),
        Column("delivery", "message", "its first MESSAGE"),
        Column("ack", "message", "that ACK"),
    )
    wants: ClassVar = {
        **of(("CONNECT",), "proxy_to_broker_url"),
        **of(("PRODUCER",), "topic", "producer_id", "producer_name"),
        **of(("PRODUCER_SUCCESS",), "producer_name"),
        **of(("SUBSCRIBE",), "topic", "subscription", "consumer_id", "consumer_name"),
        **of(("SEND",), "producer_id", "sequence_id", "num_messages", "is_chunk", "marker"),
        **of(("SEND_RECEIPT",), "producer_id", "message_id"),
        **of(("SEND_ERROR",), "error"),
        **of(
            ("MESSAGE",),
            *("consumer_id", "message_id", "redelivery_count", "ack_set"),
            *(("metadata", name) for name in ("num_messages_in_batch", "uuid")),
        ),
        **of(("ACK",), "consumer_id", "ack_type", "message_id"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._over: list[ReportRow] = []
        self._brokers = Brokers()
        self._producers: Remembered[tuple[int, int], _Named] = Remembered()
        self._consumers: Remembered[tuple[int, int], _Named] = Remembered()
        self._asked: Remembered[int, tuple[int, int]] = Remembered()
        self._pending: Remembered[int, _Sent] = Remembered()
        self._cuts: Remembered[Sender, _Cut] = Remembered()
        """What each producer cut last."""
        self._joined: Remembered[str, Message] = Remembered()
        """By uuid what chunks are of."""
        self._known = Messages()
        self._out: Outstanding[tuple[Message, Delivery]] = Outstanding()

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """Nothing is over before the end, for another subscription may come; what is too much goes first."""
        does = _DOES.get(told.operation or "")
        if does is not None:
            does(self, told)
        over, self._over = self._over, []
        return over

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        for message in self._known.all():
            yield from lines(message)

    def _connect(self, told: MessageEvent) -> None:
        self._brokers.connect(told)

    def _producer(self, told: MessageEvent) -> None:
        key = told.stream, number(told.values, "producer_id", -1)
        self._producers.keep(key, _Named(text(told.values, "topic"), None, text(told.values, "producer_name")))
        if told.partner is not None:
            self._asked.keep(told.row, key)

    def _made(self, told: MessageEvent) -> None:
        key = self._asked.get(told.partner)
        known = self._producers.get(key)
        if key is not None and known is not None:
            self._producers.keep(key, known._replace(name=text(told.values, "producer_name") or known.name))

    def _subscribe(self, told: MessageEvent) -> None:
        values = told.values
        named = _Named(text(values, "topic"), text(values, "subscription"), text(values, "consumer_name"))
        self._consumers.keep((told.stream, number(values, "consumer_id", -1)), named)

    def _send(self, told: MessageEvent) -> None:
        values = told.values
        sender = told.stream, number(values, "producer_id", -1)
        by = self._producers.get(sender) or _NOBODY
        if values.get("marker") is True or _is_volatile(by.topic):
            return
        cut = None
        if values.get("is_chunk"):
            sequence = number(values, "sequence_id")
            cut = self._cuts.get(sender)
            if cut is None or cut.sequence != sequence:
                cut = _Cut(sequence)
                self._cuts.keep(sender, cut)
        sent = _Sent(told, sender, by, max(number(values, "num_messages", 1), 1), cut)
        if told.partner is None:
            self._single(sent, told, UNRECEIPTED)
        else:
            self._pending.keep(told.row, sent)

    def _receipt(self, told: MessageEvent) -> None:
        sent, place = self._pending.take(told.partner), place_of(told.values.get("message_id"))
        by = sent.by if sent else self._producers.get((told.stream, number(told.values, "producer_id", -1))) or _NOBODY
        if place is None or _is_volatile(by.topic) or (sent is None and told.partner is not None):
            return
        if place == (NO_NUMBER, NO_NUMBER):
            if sent is not None:
                self._single(sent, told, DUPLICATE)
            return
        cut = sent.cut if sent else None
        message = self._known.find(place, by.topic) or (cut.message if cut else None)
        message = message or Message(by.topic, told.time, told.time)
        if cut is not None:
            cut.message = message
        self._add(message, told, place, by.topic)
        if sent is not None:
            sent.of(message)
        message.note("written", told)
        message.written = told.time

    def _refused(self, told: MessageEvent) -> None:
        sent = self._pending.take(told.partner)
        if sent is not None:
            self._single(sent, told, REFUSED)

    def _single(self, sent: _Sent, told: MessageEvent, state: str) -> None:
        """A SEND that made no message: a line at once."""
        message = Message(sent.by.topic, sent.told.time, told.time, state=state)
        sent.of(message)
        if told is not sent.told:
            message.note(state, told)
            message.written = told.time if state == DUPLICATE else None
            message.error = text(told.values, "error")
        self._over += lines(message)

    def _message(self, told: MessageEvent) -> None:
        values, place = told.values, place_of(told.values.get("message_id"))
        reads, by = self._reader(told)
        if place is None or _is_volatile(by.topic):
            return
        metadata = struct(values, "metadata")
        uuid = text(metadata, "uuid")
        message = self._known.find(place, by.topic) or self._joined.get(uuid)
        message = message or Message(by.topic, told.time, told.time, batch_of(metadata))
        is_new = self._add(message, told, place, by.topic)
        if uuid is not None:
            self._joined.keep(uuid, message)
            message.chunks += is_new and message.sender is None
        if reads in message.to or len(message.to) < MOST_READERS:
            self._delivered(message, told, place, reads)

    def _add(self, message: Message, told: MessageEvent, place: Place, topic: str | None) -> bool:
        is_new = self._known.add(message, place, topic)
        message.partition = number(struct(told.values, "message_id"), "partition", message.partition)
        message.seen(told)
        oldest = self._known.oldest()
        if oldest is not None:
            self._over += lines(oldest)
        return is_new

    def _delivered(self, message: Message, told: MessageEvent, place: Place, reads: Reader) -> None:
        values, consumer = told.values, number(told.values, "consumer_id", -1)
        by = self._consumers.get((told.stream, consumer)) or _NOBODY
        called = by.name or str(consumer)
        found, again = message.to.get(reads), number(values, "redelivery_count")
        if found is None:
            found = message.to[reads] = Delivery(
                by.subscription, called, told.stream, consumer, place, told.row, told.time, again
            )
        elif found.place != place:
            found.time = told.time if not found.again else found.time
        elif self._is_echo(found, told, again):
            found.time = told.time
        else:
            found.again += 1
            found.consumer = called
        found.count, found.stream, found.number = max(found.count, again), told.stream, consumer
        found.note("delivered" if not found.again else "redelivered", told)
        item = message, found
        if self._out.deliver(reads, place, item, messages_in(values), words_of(values.get("ack_set"))) is None:
            found.ids += 1
        self._out.oldest()

    def _ack(self, told: MessageEvent) -> None:
        reads, _ = self._reader(told)
        take = self._out.acked_to if told.values.get("ack_type") in _CUMULATIVE else self._one
        for each in structs(told.values.get("message_id")):
            place = place_of(each)
            if place is None:
                continue
            acked = take(reads, place, words_of(each.get("ack_set")))
            for left, done in enumerate(reversed(acked)):
                message, found = done.thing
                message.seen(told)
                if left < MOST_NAMED:
                    found.note("acked", told)
                found.ids -= done.whole
                if not found.ids and found.acked is None:
                    found.acked, found.ack = told.time, told.row

    def _one(self, reads: Reader, place: Place, kept: int | None) -> list[Acked[tuple[Message, Delivery]]]:
        done = self._out.acked(reads, place, kept)
        return [] if done is None else [done]

    def _reader(self, told: MessageEvent) -> tuple[Reader, _Named]:
        key = told.stream, number(told.values, "consumer_id", -1)
        by = self._consumers.get(key)
        return (key, _NOBODY) if by is None else ((by.topic, by.subscription), by)

    def _is_echo(self, found: Delivery, told: MessageEvent, again: int) -> bool:
        """Whether a message that came before comes now on the other side of a proxy."""
        if (
            found.stream == told.stream
            or found.number != number(told.values, "consumer_id", -1)
            or again != found.count
        ):
            return False
        if (self._brokers.of(found.stream) is None) != (self._brokers.of(told.stream) is None):
            return True
        (client, server), (other, proxy) = self.ends(found.stream), self.ends(told.stream)
        return _host(client) == _host(proxy) and _host(client) not in (_host(server), _host(other))

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Lines name what carries a message, or says what became of it; see OldReport."""
        return operation in ("SEND", "SEND_RECEIPT", "SEND_ERROR", "MESSAGE", "ACK")

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        what = f"message {said['message']}" if said["message"] else "a message"
        about = f" of {said['topic']}" if said["topic"] else ""
        to = f" to {said['subscription']}" if said["subscription"] else ""
        took = [f"{name} {lasting(said[key])}" for name, key in _TOOK if said[key] is not None]
        again = [f"redelivered {count_text(said['redelivered'], 'time')}"] if said["redelivered"] else []
        return f"{_VERBS[word]} {what}{about}{to}: " + ", ".join([said["state"], *took, *again])


_TOOK = (
    ("receipt after", "receipt_ns"),
    ("delivered after", "delivery_ns"),
    ("acked after another", "ack_ns"),
    ("end to end", "end_to_end_ns"),
)

_VERBS = {
    "sent": "sends",
    "written": "confirms",
    "delivered": "delivers",
    "redelivered": "delivers again",
    "acked": "acknowledges",
    REFUSED: "refuses",
    DUPLICATE: "knows",
}

_DOES: Mapping[str, Callable[[Deliveries, MessageEvent], None]] = {
    "CONNECT": Deliveries._connect,
    "PRODUCER": Deliveries._producer,
    "PRODUCER_SUCCESS": Deliveries._made,
    "SUBSCRIBE": Deliveries._subscribe,
    "SEND": Deliveries._send,
    "SEND_RECEIPT": Deliveries._receipt,
    "SEND_ERROR": Deliveries._refused,
    "MESSAGE": Deliveries._message,
    "ACK": Deliveries._ack,
}


def _is_volatile(topic: str | None) -> bool:
    return topic is not None and topic.startswith(_VOLATILE)


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0]
