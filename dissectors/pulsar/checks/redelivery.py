"""Messages that come again and again.

Facts (Consumer, RedeliveryTracker, PersistentSubscription). The broker sends again what a consumer refuses (a negative
acknowledgement), what it does not acknowledge in time, and what was not acknowledged when it went away. To Shared and
Key_Shared subscriptions redelivery_count says how often; other types start with 0 each time, so there a message that
comes twice is known by its id. After a SEEK messages come again because somebody wanted that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.pulsar.checks.saying import MOST, SECOND, Numbered, named, of, said
from dissectors.pulsar.reports.fields import Place, place_of, text
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

_Subscription = tuple[str, str, str]
"""Server (a proxy shows each message twice), topic and name."""


@slotted(frozen=False, eq=False)
class _Window:
    """What a subscription was sent since `begun`: entries, those that came again, and by id whether it did.

    stormy: whether that was said; poison: how often a message had come of which it was said.
    """

    begun: int
    all: int = 0
    again: int = 0
    places: dict[Place, bool] = field(default_factory=dict)
    stormy: bool = False
    poison: int = 0


class Redelivery(Check):
    """See the module."""

    wants = of(Role.REQUEST, ["SUBSCRIBE", "SEEK"]) | of(Role.PUSH, ["MESSAGE"])
    paths = frozenset(
        {("consumer_id",), ("topic",), ("subscription",), ("redelivery_count",)}
        | {("message_id", name) for name in ("ledgerId", "entryId")}
    )

    def __init__(self) -> None:
        """Nothing delivered."""
        self._of: Numbered[_Subscription] = Numbered()
        self._windows: OrderedDict[_Subscription, _Window] = OrderedDict()

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A delivery."""
        name, consumer = named(seen.context.code), number(seen.values, "consumer_id")
        key = seen.stream, consumer
        if name == "SUBSCRIBE":
            topic, subscription = (text(seen.values, each) or "" for each in ("topic", "subscription"))
            self._of.put(key, (seen.server, topic, subscription))
            return
        whose = self._of.get(key) or (seen.server, "", f"of consumer {consumer} on {seen.client}")
        if name == "SEEK":
            self._windows.pop(whose, None)
            return
        place = place_of(struct(seen.values, "message_id"))
        if place is not None:
            yield from self._delivered(whose, place, number(seen.values, "redelivery_count"), seen.time)

    def _window(self, whose: _Subscription, time: int) -> _Window:
        window = self._windows.get(whose)
        if window is None or time - window.begun > WINDOW:
            window = self._windows[whose] = _Window(time)
            if len(self._windows) > MOST:
                self._windows.popitem(last=False)
        return window

    def _delivered(self, whose: _Subscription, place: Place, times: int, time: int) -> Iterator[Finding]:
        window = self._window(whose, time)
        who = f"subscription {whose[2]}" + (f" of {whose[1]}" if whose[1] else "")
        again = times > 0 or place in window.places
        window.all += 1
        window.again += again
        if place in window.places or len(window.places) < MOST_PLACES:
            window.places[place] = again
        if times in POISON and times > window.poison:
            window.poison = times
            yield said("poison", who=who, place=f"{place[0]}:{place[1]}", times=times)
        if window.again >= STORM and 2 * window.again >= window.all and not window.stormy:
            window.stormy = True
            different = sum(window.places.values())
            took = time - window.begun
            yield said("storm", who=who, again=window.again, all=window.all, took=took, different=different)
