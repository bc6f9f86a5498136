"""Consumers that ask for nothing more while there is something for them.

Facts (ConsumerImpl, Consumer). A client asks for more messages when it has taken half of its queue, so a consumer
without permits has a full queue of messages that the application does not take. If the application keeps up, that lasts
milliseconds. A client without a queue (receiverQueueSize 0, or 1) asks for one message when the application does, so it
has no permits while the application works: such clients give no finding.

Estimates. Messages were available to a consumer if the capture has SENDs to its topic.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from dissectors.correlator import SECOND, BoundedTable, ConnectionEnd, MessageEvent, NumberedKey, NumberedTable
from dissectors.message import Role
from dissectors.pulsar.reports.fields import (
    ConsumerPermits,
    PulsarCheck,
    count_messages,
    name_consumer,
    read_text,
    subscribe_to,
)
from dissectors.slotted import field, make_slotted
from dissectors.values import number

LONG = SECOND
"""Nanoseconds without permits that are worth saying when they are over."""

ONE_BY_ONE = 1
"""Messages that a client without a queue asks for at one time."""

MOST_MISSED = 1000
"""SENDs that are remembered of those that a consumer could not be sent."""

MOST_FED = 1024
"""Consumers that are looked at for one SEND, or for who else is there."""


@make_slotted(frozen=False, eq=False)
class _StarvingConsumer:
    """largest: the most that one FLOW asked for. losses: as the connection had them when it was last heard of.

    missed: when messages were sent while it had no permits, and how many.
    """

    key: NumberedKey
    name: str
    topic: str
    subscription: str
    permits: ConsumerPermits
    losses: int
    largest: int = 0
    missed: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MOST_MISSED))


class StarvedConsumers(PulsarCheck):
    """Finds consumers without permits while messages for them are sent."""

    def _begin(self) -> None:
        self.consumers: NumberedTable[_StarvingConsumer] = NumberedTable(evict=self.feed)
        self.topics: BoundedTable[NumberedKey, str] = BoundedTable()
        """Topics of producers."""
        self.empty: dict[str, dict[NumberedKey, _StarvingConsumer]] = {}
        """By topic the consumers that have no permits."""

    def receive_producer(self, event: MessageEvent) -> None:
        """Notes the topic of a producer."""
        self.topics[event.stream, number(event.values, "producer_id")] = read_text(event.values, "topic") or ""

    def receive_send(self, event: MessageEvent) -> None:
        """Notes a SEND to the topic of a consumer: a consumer without permits does not get it."""
        topic = self.topics.get((event.stream, number(event.values, "producer_id")))
        for known in islice(self.empty.get(topic or "", {}).values(), MOST_FED):
            known.missed.append((event.time, max(number(event.values, "num_messages", 1), 1)))

    def receive_subscribe(self, event: MessageEvent) -> None:
        """Notes a new consumer, its topic and its subscription."""
        key = event.stream, number(event.values, "consumer_id")
        self.forget(self.consumers.get(key))
        topic, subscription = (read_text(event.values, name) or "" for name in ("topic", "subscription"))
        name = name_consumer(key[1], event.values)
        self.consumers[key] = _StarvingConsumer(
            key, name, topic, subscription, ConsumerPermits(known=True), event.losses
        )

    def find_consumer(self, event: MessageEvent) -> _StarvingConsumer | None:
        """Returns whose a message is; what it asked for may be among bytes that are missing."""
        known = self.consumers.get((event.stream, number(event.values, "consumer_id")))
        if known is not None and known.losses != event.losses:
            self.forget(known)
            return None
        return known

    def receive_message(self, event: MessageEvent) -> None:
        """Takes permits for a delivered message."""
        known = self.find_consumer(event)
        if known is not None:
            known.permits.take(count_messages(event.values), event.time)
            if known.permits.empty is not None:
                self.empty.setdefault(known.topic, {})[known.key] = known

    def receive_flow(self, event: MessageEvent) -> None:
        """Notes a FLOW, which may come late."""
        known = self.find_consumer(event)
        if known is None:
            return
        since, requested = known.permits.empty, number(event.values, "messagePermits")
        known.largest = max(known.largest, requested)
        known.permits.grant(requested, event.time)
        if known.permits.empty is None and since is not None:
            self.end_starving(known, since, event.time)
            self.feed(known)
            known.missed.clear()

    def receive_close(self, event: MessageEvent) -> None:
        """Handles the close of a consumer, which may never have sent a FLOW."""
        known = self.find_consumer(event)
        if known is not None:
            self.end_starving(known, known.permits.empty, event.time)
            self.forget(known)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Ends the starving of each consumer on the connection, if no bytes of it were lost."""
        for _, known in self.consumers.items_on(end.stream):
            if known.losses == end.losses:
                self.end_starving(known, known.permits.empty, end.time)

    leave_open = end_connection

    def forget(self, known: _StarvingConsumer | None) -> None:
        """Forgets a consumer, which was evicted."""
        if known is not None:
            self.consumers.pop(known.key)
            self.feed(known)

    def feed(self, known: _StarvingConsumer) -> None:
        """Notes that a consumer has permits again."""
        empty = self.empty.get(known.topic, {})
        empty.pop(known.key, None)
        if not empty:
            self.empty.pop(known.topic, None)

    def end_starving(self, known: _StarvingConsumer, since: int | None, time: int) -> None:
        """Ends a time without permits: some came, or the capture shows no more of it."""
        missed = sum(count for sent, count in known.missed if sent <= time)
        if since is None or time - since < LONG or not missed or known.largest <= ONE_BY_ONE:
            return
        more = " or more" if len(known.missed) == MOST_MISSED else ""
        counted = f"{missed}{more} {'message' if missed == 1 else 'messages'}"
        sentence = "beside" if self.has_others(known) else "starved"
        self.find(sentence, who=known.name, took=time - since, missed=counted)

    def has_others(self, known: _StarvingConsumer) -> bool:
        """Returns whether another consumer of its subscription can be sent something."""
        return any(
            each is not known
            and (each.topic, each.subscription) == (known.topic, known.subscription)
            and (each.permits.now or 0) > 0
            for each in islice(self.consumers.values(), MOST_FED)
        )

    on = (
        subscribe_to("SUBSCRIBE", receive_subscribe, "consumer_id", "topic", "subscription", roles=(Role.REQUEST,))
        | subscribe_to("PRODUCER", receive_producer, "producer_id", "topic", roles=(Role.REQUEST,))
        | subscribe_to("SEND", receive_send, "producer_id", "num_messages", roles=(Role.REQUEST,))
        | subscribe_to("CLOSE_CONSUMER", receive_close, "consumer_id", roles=(Role.REQUEST, Role.PUSH))
        | subscribe_to("UNSUBSCRIBE", receive_close, "consumer_id", roles=(Role.REQUEST,))
        | subscribe_to(
            *("MESSAGE", receive_message, "consumer_id", "ack_set", ("metadata", "num_messages_in_batch")),
            roles=(Role.PUSH,),
        )
        | subscribe_to("FLOW", receive_flow, "consumer_id", "messagePermits", roles=(Role.ONEWAY,))
    )
