"""Messages that come again and again.

Facts (Consumer, RedeliveryTracker, PersistentSubscription). The broker sends again what a consumer refuses (a negative
acknowledgement), what it does not acknowledge in time, and what was not acknowledged when it went away. To Shared and
Key_Shared subscriptions redelivery_count says how often; other types start with 0 each time, so there a message that
comes twice is known by its id. After a SEEK messages come again because somebody wanted that.
"""

from __future__ import annotations

from dissectors.correlator import SECOND, BoundedTable, MessageEvent, NumberedKey, Window, WindowTable
from dissectors.message import Role
from dissectors.pulsar.checks.sentences import PulsarCheck
from dissectors.pulsar.reports.fields import Place, read_place, read_text, subscribe_to
from dissectors.slotted import field, slotted
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


@slotted(frozen=False, eq=False)
class _RedeliveryWindow(Window):
    """What a subscription was sent since `begun`: entries (count), those that came again, and by id whether it did.

    stormy: whether that was said; poison: how often a message had come of which it was said.
    """

    again: int = 0
    places: dict[Place, bool] = field(default_factory=dict)
    stormy: bool = False
    poison: int = 0


class MessageRedelivery(PulsarCheck):
    """See the module."""

    def _begin(self) -> None:
        self.consumers: BoundedTable[NumberedKey, _SubscriptionKey] = BoundedTable()
        self.windows: WindowTable[_SubscriptionKey, _RedeliveryWindow] = WindowTable(_RedeliveryWindow, WINDOW)

    def receive_subscribe(self, event: MessageEvent) -> None:
        """SUBSCRIBE."""
        topic, subscription = (read_text(event.values, each) or "" for each in ("topic", "subscription"))
        self.consumers[event.stream, number(event.values, "consumer_id")] = event.server, topic, subscription

    def find_subscription(self, event: MessageEvent) -> _SubscriptionKey:
        """Whose a consumer is."""
        consumer = number(event.values, "consumer_id")
        found = self.consumers.get((event.stream, consumer))
        return found or (event.server, "", f"of consumer {consumer} on {event.client}")

    def receive_seek(self, event: MessageEvent) -> None:
        """SEEK."""
        self.windows.pop(self.find_subscription(event))

    def receive_message(self, event: MessageEvent) -> None:
        """MESSAGE."""
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
            counts = {"again": window.again, "all": window.count, "different": sum(window.places.values())}
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
