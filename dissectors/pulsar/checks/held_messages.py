"""Messages that a broker holds back, that nobody could process, and transactions that took too long.

Facts (Consumer, PersistentDispatcherMultipleConsumers). A broker sends a consumer nothing more while as many of its
messages are unacknowledged as maxUnackedMessagesPerConsumer allows, or as its subscription or the broker may have,
although the consumer has permits. It goes on when some are acknowledged.

Facts (DeadLetterPolicy, RetryMessageUtil). A client that has given up a message sends it to the topic TOPIC-SUB-DLQ,
and one that is to be tried later to TOPIC-SUB-RETRY.

Facts (TransactionTimeoutTracker, TransactionImpl). A coordinator aborts a transaction whose time is over, and tells
nobody. Clients in Java and Go count the time, too, and then send no END_TXN. A later END_TXN is answered by
TransactionNotFound or InvalidTxnStatus.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.correlator import (
    SECOND,
    BoundedTable,
    ConnectionEnd,
    MessageEvent,
    Moment,
    NumberedKey,
    NumberedTable,
    for_request,
)
from dissectors.message import Role
from dissectors.pulsar.reports.fields import (
    ConsumerPermits,
    Place,
    PulsarCheck,
    count_messages,
    name_consumer,
    read_place,
    read_text,
    subscribe_to,
)
from dissectors.pulsar.reports.transactions import read_transaction
from dissectors.slotted import field, make_slotted
from dissectors.values import number, structs
from dissectors.wire.times import lasting

LONG = SECOND
"""Nanoseconds that a message waits for a consumer with permits before that is worth saying."""

MOST_UNACKNOWLEDGED = 1 << 18
"""Entries of all consumers together that are remembered until they are acknowledged."""

_ENTRY = ("message_id", "ledgerId"), ("message_id", "entryId")
_MS = 1_000_000
_REQUEST = (Role.REQUEST,)


@make_slotted(frozen=False, eq=False)
class _Consumer:
    """A consumer. since: when it was sent something last, or got permits, ns since 1970. losses: see MessageEvent.

    unacknowledged: the messages of each entry that it has not acknowledged; pending: of all of them; most: what that
    was since it was sent something last.
    """

    name: str
    topic: str
    permits: ConsumerPermits
    losses: int
    since: int
    unacknowledged: dict[Place, int] = field(default_factory=dict)
    pending: int = 0
    most: int = 0


class BlockedConsumers(PulsarCheck):
    """Finds consumers that have permits and get nothing, although there is something for them."""

    def _begin(self) -> None:
        self.consumers: NumberedTable[_Consumer] = NumberedTable(evict=self.forget)
        self.remembered = 0
        """Unacknowledged entries of all consumers."""
        self.topics: BoundedTable[NumberedKey, str] = BoundedTable()
        """Topics of producers."""
        self.stored: BoundedTable[tuple[str, Place], int] = BoundedTable()
        """By topic and place when a message was stored."""

    def receive_producer(self, event: MessageEvent) -> None:
        """Notes the topic of a producer."""
        self.topics[event.stream, number(event.values, "producer_id")] = read_text(event.values, "topic") or ""

    def receive_receipt(self, event: MessageEvent) -> None:
        """Notes when a message was stored."""
        place = read_place(event.values.get("message_id"))
        topic = self.topics.get((event.stream, number(event.values, "producer_id")))
        if place is not None and topic:
            self.stored[topic, place] = event.time

    def receive_subscribe(self, event: MessageEvent) -> None:
        """Notes a new consumer."""
        key = event.stream, number(event.values, "consumer_id")
        topic = read_text(event.values, "topic") or ""
        permits = ConsumerPermits(known=True)
        self.forget(self.consumers.pop(key))
        self.consumers[key] = _Consumer(name_consumer(key[1], event.values), topic, permits, event.losses, event.time)

    def find_consumer(self, event: MessageEvent) -> _Consumer | None:
        """Returns whose a message is; None where bytes are missing."""
        key = event.stream, number(event.values, "consumer_id")
        known = self.consumers.get(key)
        if known is not None and known.losses != event.losses:
            self.forget(self.consumers.pop(key))
            return None
        return known

    def forget(self, known: _Consumer | None) -> None:
        """Counts no longer what a consumer has not acknowledged, which is not among the consumers any more."""
        self.remembered -= len(known.unacknowledged) if known is not None else 0

    def receive_close(self, event: MessageEvent) -> None:
        """Forgets a consumer that is closed."""
        self.forget(self.consumers.pop((event.stream, number(event.values, "consumer_id"))))

    def receive_flow(self, event: MessageEvent) -> None:
        """Notes that a consumer asks for messages."""
        known = self.find_consumer(event)
        if known is not None:
            if (known.permits.now or 0) <= 0:
                known.since = event.time
            known.permits.grant(number(event.values, "messagePermits"), event.time)

    def receive_ack(self, event: MessageEvent) -> None:
        """Notes what a consumer acknowledges; of a cumulative acknowledgement all before it."""
        known = self.find_consumer(event)
        places = [place for each in structs(event.values.get("message_id")) if (place := read_place(each)) is not None]
        if known is None or not places:
            return
        before = len(known.unacknowledged)
        if read_text(event.values, "ack_type") == "Cumulative":
            last = max(places)
            places = [each for each in known.unacknowledged if each <= last]
        for each in places:
            known.pending -= known.unacknowledged.pop(each, 0)
        self.remembered -= before - len(known.unacknowledged)

    def receive_message(self, event: MessageEvent) -> None:
        """Notes a delivery, which may have waited for an acknowledgement."""
        known, place = self.find_consumer(event), read_place(event.values.get("message_id"))
        if known is None or place is None:
            return
        stored, metadata = self.stored.get((known.topic, place)), event.values.get("metadata")
        is_delayed = isinstance(metadata, dict) and metadata.get("deliver_at_time") is not None
        if stored is not None and (known.permits.now or 0) > 0 and not number(event.values, "redelivery_count"):
            waited = event.time - max(stored, known.since)
            if waited >= LONG and known.most > known.pending and not is_delayed:
                self.find("blocked", who=known.name, took=waited, count=known.most)
        count = count_messages(event.values)
        known.permits.take(count, event.time)
        known.since = event.time
        if self.remembered < MOST_UNACKNOWLEDGED and place not in known.unacknowledged:
            known.unacknowledged[place] = count
            known.pending += count
            self.remembered += 1
        known.most = known.pending

    on = (
        subscribe_to("SUBSCRIBE", receive_subscribe, "consumer_id", "topic", "subscription", roles=_REQUEST)
        | subscribe_to("PRODUCER", receive_producer, "producer_id", "topic", roles=_REQUEST)
        | subscribe_to("SEND_RECEIPT", receive_receipt, "producer_id", *_ENTRY, roles=(Role.RESPONSE,))
        | subscribe_to("FLOW", receive_flow, "consumer_id", "messagePermits", roles=(Role.ONEWAY,))
        | subscribe_to("CLOSE_CONSUMER", receive_close, "consumer_id")
        | subscribe_to("ACK", receive_ack, "consumer_id", "ack_type", *_ENTRY)
        | subscribe_to(
            *("MESSAGE", receive_message, "consumer_id", "redelivery_count", "ack_set", *_ENTRY),
            *(("metadata", name) for name in ("num_messages_in_batch", "deliver_at_time")),
            roles=(Role.PUSH,),
        )
    )


_DEAD = "-DLQ"


class DeadLetters(PulsarCheck):
    """Finds messages that clients send to dead-letter topics."""

    def _begin(self) -> None:
        self.topics: BoundedTable[NumberedKey, str] = BoundedTable()
        """Dead-letter topics of producers."""

    def receive_producer(self, event: MessageEvent) -> None:
        """Notes a producer for a dead-letter topic."""
        key, topic = (event.stream, number(event.values, "producer_id")), read_text(event.values, "topic") or ""
        self.topics.pop(key)
        if topic.endswith(_DEAD):
            self.topics[key] = topic

    def receive_send(self, event: MessageEvent) -> None:
        """Notes a message for a dead-letter topic."""
        topic = self.topics.get((event.stream, number(event.values, "producer_id"))) if len(self.topics) else None
        if topic is not None:
            self.find("dead", about=f"topic {topic}", topic=topic)

    on = subscribe_to("PRODUCER", receive_producer, "producer_id", "topic", roles=_REQUEST) | subscribe_to(
        "SEND", receive_send, "producer_id", roles=_REQUEST
    )


_LATE = frozenset({"TransactionNotFound", "InvalidTxnStatus"})


class _Transaction(NamedTuple):
    """A transaction: when a client asked for it, its timeout (ns), and on which connection."""

    id: tuple[int, int]
    moment: Moment
    timeout: int
    stream: int


class TransactionTimeouts(PulsarCheck):
    """Finds transactions that their coordinator has aborted because they took too long."""

    def _begin(self) -> None:
        self.begun: BoundedTable[tuple[int, int], _Transaction] = BoundedTable()

    def receive_new(self, event: MessageEvent) -> None:
        """Notes a NEW_TXN."""
        timeout = number(event.values, "txn_ttl_millis") * _MS
        self.await_answer(event, _Transaction((0, 0), event.moment, timeout, event.stream))

    def answer_new(self, pending: _Transaction, event: MessageEvent) -> None:
        """Notes the number of a new transaction."""
        id = read_transaction(event.values)
        if id is not None:
            self.begun[id] = pending._replace(id=id)

    def receive_end(self, event: MessageEvent) -> None:
        """Notes an END_TXN."""
        known = self.begun.pop(read_transaction(event.values))
        if known is not None:
            self.await_answer(event, known)

    def answer_end(self, known: _Transaction, event: MessageEvent) -> None:
        """Handles the answer to END_TXN."""
        took = event.time - known.moment.time
        if read_text(event.values, "error") in _LATE and 0 < known.timeout < took:
            self.report("late-end", known, took)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Reports transactions of a connection that nobody ended in time: clients give them up by themselves."""
        for known in list(self.begun.values()):
            took = known.moment.measure_until(end) if known.stream == end.stream else None
            if took is not None and 0 < known.timeout < took:
                self.begun.pop(known.id)
                self.report("no-end", known, took)

    def leave_open(self, end: ConnectionEnd) -> None:
        """Reports the same of a connection that is open when the capture ends."""
        self.end_connection(end)

    def report(self, sentence: str, known: _Transaction, took: int) -> None:
        """Reports a transaction that exceeded its timeout."""
        name = f"({known.id[0]},{known.id[1]})"
        self.find(sentence, about=f"transaction {name}", id=name, timeout=lasting(known.timeout), took=took)

    on = (
        subscribe_to("NEW_TXN", receive_new, "txn_ttl_millis", roles=_REQUEST)
        | subscribe_to("NEW_TXN_RESPONSE", for_request(answer_new, _Transaction), "txnid_most_bits", "txnid_least_bits")
        | subscribe_to("END_TXN", receive_end, "txnid_most_bits", "txnid_least_bits", roles=_REQUEST)
        | subscribe_to("END_TXN_RESPONSE", for_request(answer_end, _Transaction), "error")
    )
