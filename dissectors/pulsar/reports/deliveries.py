"""The report of messages: when each was sent, written, delivered to a subscription and acknowledged there.

Facts (ServerCnx.handleSend, Consumer.sendMessages, ChunkMessageIdImpl). A message gets an id when it is written: the
receipt of its SEND tells it, each MESSAGE repeats it, each ACK names it. Chunks of a message are entries of their own,
with one sequence id on the way in and one uuid on the way out: they are one row, by the id of the last. A batch is one
entry and has one row. Messages of a non-persistent topic have no unique id, and markers of a geo-replicator are
delivered to nobody, so neither is a row.

A proxy forwards bytes, so the same message appears on two connections. The client's side of it counts: the first SEND,
and the last of two MESSAGEs of which one is the other's echo.

Acknowledgements of a transaction count at once, even if it is aborted later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from dissectors.correlator import BoundedTable, MessageEvent, NumberedKey, for_request
from dissectors.message import Role
from dissectors.outstanding import Outstanding
from dissectors.pulsar.reports.consumers import CUMULATIVE
from dissectors.pulsar.reports.fields import (
    NO_NUMBER,
    PULSAR,
    Place,
    ProxiedBrokers,
    count_batch,
    count_messages,
    read_ack_set,
    read_place,
    read_text,
    subscribe_to,
)
from dissectors.pulsar.reports.messages import (
    DUPLICATE,
    REFUSED,
    UNRECEIPTED,
    MessageDelivery,
    MessageTracker,
    SubscriptionKey,
    TrackedMessage,
)
from dissectors.report import Report
from dissectors.slotted import make_slotted
from dissectors.values import host_of, number, struct, structs
from dissectors.wire.row_sentence import RowSentence

MOST_READERS = 1024
"""Subscriptions of one message that are told."""

MOST_NAMED = 16
"""Rows that name the same cumulative ACK: those of the latest messages that it is for."""

_VOLATILE = "non-persistent://"


class _NamedMember(NamedTuple):
    """A producer, or a consumer, as the command that makes it names it."""

    topic: str | None
    subscription: str | None = None
    name: str | None = None

    @property
    def is_volatile(self) -> bool:
        """Whether its topic has no persistence."""
        return self.topic is not None and self.topic.startswith(_VOLATILE)


_NOBODY = _NamedMember(None)


@make_slotted(frozen=False, eq=False)
class _ChunkedMessage:
    """Chunks that a producer sends: their sequence id, and their message once one of them has an id."""

    sequence: int
    message: TrackedMessage | None = None


class _PendingSend(NamedTuple):
    """A SEND until its receipt comes."""

    event: MessageEvent
    sender: NumberedKey
    by: _NamedMember
    messages: int
    chunks: _ChunkedMessage | None

    def join(self, message: TrackedMessage) -> None:
        """It is of that message."""
        message.send_by(self.sender, self.event, self.messages, self.by.name, is_chunk=self.chunks is not None)


class DeliveryReport(Report[MessageDelivery]):
    """The report of messages.

    Rows stay open until the capture ends, because another subscription may follow; the oldest is closed first.
    """

    name = "deliveries"
    about = "each message and subscription: when it was sent, written, delivered and acknowledged"
    needs = PULSAR
    row = MessageDelivery
    worst = ("redelivered", "end_to_end_ns")
    sentence = RowSentence(
        "{word} (message {message}|a message)( of {topic})( to {subscription}): {state}"
        "(, receipt after {receipt_ns%lasting})(, delivered after {delivery_ns%lasting})"
        "(, acked after another {ack_ns%lasting})(, end to end {end_to_end_ns%lasting})"
        "(, redelivered {redelivered%many time})"
    )
    verbs: ClassVar[Mapping[str, str]] = {
        "sent": "sends",
        "written": "confirms",
        "delivered": "delivers",
        "redelivered": "delivers again",
        "acked": "acknowledges",
        REFUSED: "refuses",
        DUPLICATE: "knows",
    }

    def _begin(self) -> None:
        self.brokers = ProxiedBrokers()
        self.producers: BoundedTable[NumberedKey, _NamedMember] = BoundedTable()
        self.consumers: BoundedTable[NumberedKey, _NamedMember] = BoundedTable()
        self.pending_producers: BoundedTable[int, NumberedKey] = BoundedTable()
        """By row of a PRODUCER which one it makes."""
        self.chunks: BoundedTable[NumberedKey, _ChunkedMessage] = BoundedTable()
        """What each producer sent in chunks last."""
        self.joined: BoundedTable[str, TrackedMessage] = BoundedTable()
        """By uuid what chunks are of."""
        self.messages = MessageTracker(self.close_message)
        self.outstanding: Outstanding[MessageDelivery] = Outstanding()

    def close_message(self, message: TrackedMessage) -> None:
        """Closes the rows of a message: one for each subscription, or one if it was delivered to none."""
        for found in message.to.values() or [MessageDelivery(message.first, message.last, subject=message)]:
            found.first, found.last, found.rows = message.first, message.last, [*message.rows, *found.rows]
            self.close(found)

    def finish(self) -> None:
        """Closes all rows that are open when the capture ends."""
        for message in self.messages.list_messages():
            self.close_message(message)

    def connect(self, event: MessageEvent) -> None:
        """Notes from CONNECT to which broker a proxy leads."""
        self.brokers.connect(event)

    def receive_producer(self, event: MessageEvent) -> None:
        """Notes a producer's topic and the name that it asks for."""
        key = event.stream, number(event.values, "producer_id", -1)
        self.producers[key] = _NamedMember(
            read_text(event.values, "topic"), None, read_text(event.values, "producer_name")
        )
        if event.partner is not None:
            self.pending_producers[event.row] = key

    def name_producer(self, event: MessageEvent) -> None:
        """Notes the name that PRODUCER_SUCCESS gives a producer."""
        key = self.pending_producers.get(event.partner)
        known = self.producers.get(key)
        if key is not None and known is not None:
            self.producers[key] = known._replace(name=read_text(event.values, "producer_name") or known.name)

    def receive_subscribe(self, event: MessageEvent) -> None:
        """Notes a consumer's topic, subscription and name."""
        values = event.values
        named = _NamedMember(
            read_text(values, "topic"), read_text(values, "subscription"), read_text(values, "consumer_name")
        )
        self.consumers[event.stream, number(values, "consumer_id", -1)] = named

    def receive_send(self, event: MessageEvent) -> None:
        """Notes a SEND until its receipt comes."""
        values = event.values
        sender = event.stream, number(values, "producer_id", -1)
        by = self.producers.get(sender) or _NOBODY
        if values.get("marker") is True or by.is_volatile:
            return
        chunks = None
        if values.get("is_chunk"):
            sequence = number(values, "sequence_id")
            chunks = self.chunks.get(sender)
            if chunks is None or chunks.sequence != sequence:
                chunks = self.chunks[sender] = _ChunkedMessage(sequence)
        sent = _PendingSend(event, sender, by, max(number(values, "num_messages", 1), 1), chunks)
        self.await_answer(event, sent)
        if event.partner is None:
            self.close_unwritten(sent, event, UNRECEIPTED)

    def receive_receipt(self, event: MessageEvent) -> None:
        """Gives a sent message the id in its SEND_RECEIPT."""
        sent, place = self.take_request(event), read_place(event.values.get("message_id"))
        key = event.stream, number(event.values, "producer_id", -1)
        by = sent.by if sent else self.producers.get(key) or _NOBODY
        if place is None or by.is_volatile or (sent is None and event.partner is not None):
            return
        if place == (NO_NUMBER, NO_NUMBER):
            if sent is not None:
                self.close_unwritten(sent, event, DUPLICATE)
            return
        chunks = sent.chunks if sent else None
        message = self.messages.find(place, by.topic) or (chunks.message if chunks else None)
        message = message or TrackedMessage(event.time, event.time, topic=by.topic)
        if chunks is not None:
            chunks.message = message
        self.add(message, event, place, by.topic)
        if sent is not None:
            sent.join(message)
        message.note("written", event)
        message.written = event.time

    def refuse(self, sent: _PendingSend, event: MessageEvent) -> None:
        """Closes a message that SEND_ERROR refuses."""
        self.close_unwritten(sent, event, REFUSED)

    def close_unwritten(self, sent: _PendingSend, event: MessageEvent, state: str) -> None:
        """Closes the row of a SEND that stored no message."""
        message = TrackedMessage(sent.event.time, event.time, topic=sent.by.topic, state=state)
        sent.join(message)
        if event is not sent.event:
            message.note(state, event)
            message.written = event.time if state == DUPLICATE else None
            message.error = read_text(event.values, "error")
        self.close_message(message)

    def receive_message(self, event: MessageEvent) -> None:
        """Finds the message that MESSAGE delivers, and notes the delivery."""
        values, place = event.values, read_place(event.values.get("message_id"))
        reader, by = self.find_reader(event)
        if place is None or by.is_volatile:
            return
        metadata = struct(values, "metadata")
        uuid = read_text(metadata, "uuid")
        message = self.messages.find(place, by.topic) or self.joined.get(uuid)
        message = message or TrackedMessage(event.time, event.time, topic=by.topic, count=count_batch(metadata))
        is_new = self.add(message, event, place, by.topic)
        if uuid is not None:
            self.joined[uuid] = message
            message.chunks += is_new and message.sender is None
        if reader in message.to or len(message.to) < MOST_READERS:
            self.deliver(message, event, place, reader)

    def add(self, message: TrackedMessage, event: MessageEvent, place: Place, topic: str | None) -> bool:
        """Notes that a message is at a place; returns whether that is new."""
        message.partition = number(struct(event.values, "message_id"), "partition", message.partition)
        message.hear(event)
        return self.messages.add(message, place, topic)

    def deliver(self, message: TrackedMessage, event: MessageEvent, place: Place, reader: SubscriptionKey) -> None:
        """Notes that a message was delivered to a subscription."""
        values, consumer = event.values, number(event.values, "consumer_id", -1)
        by = self.consumers.get((event.stream, consumer)) or _NOBODY
        called = by.name or str(consumer)
        found, again = message.to.get(reader), number(values, "redelivery_count")
        if found is None:
            found = message.to[reader] = MessageDelivery(
                *(event.time, event.time), subject=message, subscription=by.subscription, consumer=called, place=place,
                delivery=event.row, time=event.time, counted=again,
            )  # fmt: skip
        elif found.place != place:
            found.time = event.time if not found.again else found.time
        elif self.is_echo(found, event, again):
            found.time = event.time
        else:
            found.again += 1
            found.consumer = called
        found.counted, found.stream, found.number = max(found.counted, again), event.stream, consumer
        found.note("delivered" if not found.again else "redelivered", event)
        bits = read_ack_set(values.get("ack_set"))
        if self.outstanding.deliver(reader, place, found, count_messages(values), bits) is None:
            found.ids += 1

    def receive_ack(self, event: MessageEvent) -> None:
        """Notes which deliveries an ACK acknowledges."""
        reader, _ = self.find_reader(event)
        cumulative = event.values.get("ack_type") in CUMULATIVE
        for each in structs(event.values.get("message_id")):
            place = read_place(each)
            if place is None:
                continue
            unacknowledged = read_ack_set(each.get("ack_set"))
            if cumulative:
                acked = self.outstanding.acknowledge_to(reader, place, unacknowledged)
            else:
                one = self.outstanding.acknowledge(reader, place, unacknowledged)
                acked = [] if one is None else [one]
            for left, done in enumerate(reversed(acked)):
                found = done.thing
                found.subject.hear(event)
                if left < MOST_NAMED:
                    found.note("acked", event)
                found.ids -= done.whole
                if not found.ids and found.acked is None:
                    found.acked, found.ack = event.time, event.row

    def find_reader(self, event: MessageEvent) -> tuple[SubscriptionKey, _NamedMember]:
        """Returns whom a message is for, or from."""
        key = event.stream, number(event.values, "consumer_id", -1)
        by = self.consumers.get(key)
        return (key, _NOBODY) if by is None else ((by.topic, by.subscription), by)

    def is_echo(self, found: MessageDelivery, event: MessageEvent, again: int) -> bool:
        """Returns whether a message that came before comes now on the other side of a proxy."""
        same = found.number == number(event.values, "consumer_id", -1) and again == found.counted
        if found.stream == event.stream or not same:
            return False
        if (self.brokers.find_broker(found.stream) is None) != (self.brokers.find_broker(event.stream) is None):
            return True
        (client, server), (other, proxy) = map(host_of, self.ends(found.stream)), map(host_of, self.ends(event.stream))
        return client == proxy and client not in (server, other)

    on = (
        subscribe_to("CONNECT", connect, "proxy_to_broker_url")
        | subscribe_to("PRODUCER", receive_producer, "topic", "producer_id", "producer_name")
        | subscribe_to("PRODUCER_SUCCESS", name_producer, "producer_name")
        | subscribe_to("SUBSCRIBE", receive_subscribe, "topic", "subscription", "consumer_id", "consumer_name")
        | subscribe_to("SEND", receive_send, "producer_id", "sequence_id", "num_messages", "is_chunk", "marker")
        | subscribe_to("SEND_RECEIPT", receive_receipt, "producer_id", "message_id")
        | subscribe_to("SEND_ERROR", for_request(refuse), "error")
        | subscribe_to(
            *("MESSAGE", receive_message, "consumer_id", "message_id", "redelivery_count", "ack_set"),
            *(("metadata", name) for name in ("num_messages_in_batch", "uuid")),
        )
        | subscribe_to("ACK", receive_ack, "consumer_id", "ack_type", "message_id")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a command carries a message or reports its fate; no other command is in a row."""
        return operation in ("SEND", "SEND_RECEIPT", "SEND_ERROR", "MESSAGE", "ACK")
