"""Faults of messages: deliveries that repeat, SENDs without a receipt, and SENDs that the broker dropped.

Facts (Consumer, RedeliveryTracker, PersistentSubscription). The broker sends a message again if a consumer refuses it
(a negative acknowledgement), does not acknowledge it in time, or leaves without an acknowledgement. For Shared and
Key_Shared subscriptions redelivery_count counts this; other types always start with 0, so there a repeated message is
known by its id. After a SEEK messages are repeated on purpose.

Facts (ProducerImpl, ServerCnx.closeProducer, MessageDeduplication). A producer numbers its messages upwards, and keeps
each message until its receipt comes. When the broker closes it, or the connection ends, it is created again, and sends
the messages without a receipt again, with their old sequence ids. A broker that drops duplicates
(brokerDeduplicationEnabled) stores only messages above the highest sequence id of that producer's name, and gives
others a receipt with the id -1:-1.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from dissectors.correlator import (
    SECOND,
    BoundedTable,
    ConnectionEnd,
    CountWindow,
    MessageEvent,
    NumberedKey,
    NumberedTable,
    WindowTable,
    for_request,
)
from dissectors.message import Role
from dissectors.pulsar.reports.fields import (
    NO_NUMBER,
    Place,
    PulsarCheck,
    name_producer,
    read_place,
    read_text,
    subscribe_to,
)
from dissectors.slotted import field, make_slotted
from dissectors.values import number, struct

WINDOW = 60 * SECOND
"""Nanoseconds that are looked at together."""

STORM = 100
"""Entries that come again within that time, and are half of all or more."""

POISON = (10, 100, 1000)
"""How often one message must have come before."""

MOST_PLACES = 10_000
"""Entries of a subscription that are told apart within that time."""

_SubscriptionKey = tuple[str, str, str]
"""Server (a proxy shows each message twice), topic and name."""


@make_slotted(frozen=False, eq=False)
class _RedeliveryWindow(CountWindow):
    """What a subscription was sent since `begun`: entries (count), those that came again, and by id whether it did.

    stormy: whether that was said; poison: how often a message had come of which it was said.
    """

    again: int = 0
    places: dict[Place, bool] = field(default_factory=dict)
    stormy: bool = False
    poison: int = 0


class MessageRedelivery(PulsarCheck):
    """Finds subscriptions to which messages are delivered again and again."""

    def _begin(self) -> None:
        self.consumers: BoundedTable[NumberedKey, _SubscriptionKey] = BoundedTable()
        self.windows: WindowTable[_SubscriptionKey, _RedeliveryWindow] = WindowTable(_RedeliveryWindow, WINDOW)

    def receive_subscribe(self, event: MessageEvent) -> None:
        """Notes which subscription a consumer belongs to."""
        topic, subscription = (read_text(event.values, each) or "" for each in ("topic", "subscription"))
        self.consumers[event.stream, number(event.values, "consumer_id")] = event.server, topic, subscription

    def find_subscription(self, event: MessageEvent) -> _SubscriptionKey:
        """Returns the subscription of a consumer."""
        consumer = number(event.values, "consumer_id")
        found = self.consumers.get((event.stream, consumer))
        return found or (event.server, "", f"of consumer {consumer} on {event.client}")

    def receive_seek(self, event: MessageEvent) -> None:
        """Forgets what was delivered, because a SEEK asks for old messages."""
        self.windows.pop(self.find_subscription(event))

    def receive_message(self, event: MessageEvent) -> None:
        """Counts a delivery and reports poison messages and storms of redelivery."""
        place, times = read_place(struct(event.values, "message_id")), number(event.values, "redelivery_count")
        whose = self.find_subscription(event)
        if place is None:
            return
        window = self.windows.find_at(whose, event.time)
        who = f"subscription {whose[2]}" + (f" of {whose[1]}" if whose[1] else "")
        again = times > 0 or place in window.places
        window.count += 1
        window.again += again
        if place in window.places or len(window.places) < MOST_PLACES:
            window.places[place] = again
        if times in POISON and times > window.poison:
            window.poison = times
            self.find("poison", who=who, place=f"{place[0]}:{place[1]}", times=times)
        if window.again >= STORM and 2 * window.again >= window.count and not window.stormy:
            window.stormy = True
            counts: dict[str, Any] = {"again": window.again, "all": window.count}
            counts["different"] = sum(window.places.values())
            self.find("storm", who=who, took=event.time - window.begun, **counts)

    on = (
        subscribe_to("SUBSCRIBE", receive_subscribe, "consumer_id", "topic", "subscription", roles=(Role.REQUEST,))
        | subscribe_to("SEEK", receive_seek, "consumer_id", roles=(Role.REQUEST,))
        | subscribe_to(
            *("MESSAGE", receive_message, "consumer_id", "redelivery_count"),
            *(("message_id", name) for name in ("ledgerId", "entryId")),
            roles=(Role.PUSH,),
        )
    )


MOST_PENDING = 4096
"""SENDs of a producer that wait for a receipt; clients keep a thousand by default (maxPendingMessages)."""


@make_slotted(frozen=False, eq=False)
class _SendingProducer:
    """A producer and its SENDs without a receipt.

    losses: how often its connection had lost bytes when it was last heard of. highest: its highest sequence id; before:
    the highest one before the latest SEND. pending: by sequence id how many SENDs have no receipt yet, of those behind
    the last loss, because a receipt for earlier ones may be among the missing bytes.
    """

    name: str
    losses: int
    highest: int | None = None
    before: int | None = None
    pending: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def send(self, sequence: int, highest: int) -> None:
        """One more waits; `highest`: the id of the last message in it, where that is a batch."""
        self.before = self.highest
        self.highest = max(sequence, highest, sequence if self.highest is None else self.highest)
        self.pending[sequence] = self.pending.get(sequence, 0) + 1
        if len(self.pending) > MOST_PENDING:
            self.pending.popitem(last=False)

    def answer(self, sequence: int) -> None:
        """One less, if it waits."""
        left = self.pending.get(sequence, 0) - 1
        if left > 0:
            self.pending[sequence] = left
        else:
            self.pending.pop(sequence, None)

    def describe(self) -> dict[str, str]:
        """Returns the texts about the sends that have no receipt yet, by their names in templates of findings."""
        first, last = min(self.pending), max(self.pending)
        sequences = f"sequence {first}" if first == last else f"sequences {first} to {last}"
        return {"who": self.name, "count": _count_sends(sum(self.pending.values())), "sequences": sequences}


class SendReceipts(PulsarCheck):
    """Finds SENDs without a receipt, and SENDs that the broker dropped as duplicates."""

    def _begin(self) -> None:
        self.producers: NumberedTable[_SendingProducer] = NumberedTable()

    def receive_producer(self, event: MessageEvent) -> None:
        """Notes a new producer and its topic."""
        key = event.stream, number(event.values, "producer_id")
        self.producers[key] = _SendingProducer(name_producer(key[1], read_text(event.values, "topic")), event.losses)

    def find_producer(self, event: MessageEvent) -> _SendingProducer:
        """Returns whose a message is; what waits is forgotten where bytes are missing."""
        key = event.stream, number(event.values, "producer_id")
        known = self.producers.get(key)
        if known is None:
            known = self.producers[key] = _SendingProducer(name_producer(key[1], None), event.losses)
        if known.losses != event.losses:
            known.losses = event.losses
            known.pending.clear()
        return known

    def receive_send(self, event: MessageEvent) -> None:
        """Notes a SEND that waits for its receipt."""
        known, sequence = self.find_producer(event), number(event.values, "sequence_id")
        known.send(sequence, number(event.values, "highest_sequence_id"))
        self.await_answer(event, (sequence, known.before))

    def receive_receipt(self, pending: tuple[int, int | None], event: MessageEvent) -> None:
        """SEND_RECEIPT or SEND_ERROR: maybe of what was not stored."""
        known, (sequence, before) = self.find_producer(event), pending
        known.answer(sequence)
        place = struct(event.values, "message_id")
        if all(number(place, each) == NO_NUMBER for each in ("ledgerId", "entryId")):
            back = before is not None and sequence < before
            self.find("back" if back else "duplicate", who=known.name, sequence=sequence, before=before)

    def receive_close(self, event: MessageEvent) -> None:
        """Notes a CLOSE_PRODUCER of the broker, which may close it while SENDs wait for receipts."""
        known = self.find_producer(event)
        if event.context.role is Role.PUSH:
            if known.pending:
                self.find("moved", **known.describe())
            known.pending.clear()

    def end_connection(self, end: ConnectionEnd) -> None:
        """Finds messages that producers sent and no broker confirmed before the connection ended."""
        for _, known in self.producers.items_on(end.stream):
            if known.pending and known.losses == end.losses:
                self.find("lost", ender=end.ender, **known.describe())

    on = (
        subscribe_to("PRODUCER", receive_producer, "producer_id", "topic", roles=(Role.REQUEST,))
        | subscribe_to("SEND", receive_send, "producer_id", "sequence_id", "highest_sequence_id", roles=(Role.REQUEST,))
        | subscribe_to("CLOSE_PRODUCER", receive_close, "producer_id", roles=(Role.REQUEST, Role.PUSH))
        | subscribe_to(
            *("SEND_RECEIPT SEND_ERROR", for_request(receive_receipt), "producer_id"),
            *(("message_id", name) for name in ("ledgerId", "entryId")),
            roles=(Role.RESPONSE,),
        )
    )


def _count_sends(sends: int) -> str:
    return "a SEND" if sends == 1 else f"{sends} SENDs"
