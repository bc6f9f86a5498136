"""Consumers that ask for nothing more while there is something for them.

Facts (ConsumerImpl, Consumer). A client asks for more when it has taken half of what its queue holds, so a consumer
without permits has a full queue of messages that the application does not take. That lasts milliseconds where it keeps
up. A client without a queue (receiverQueueSize 0, or 1) asks for one message when the application does, so it has none
while the application is at work: nothing is said of those.

Estimates. Whether there was something for it is known from the SENDs to its topic that are in the capture.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from dissectors.api import Role
from dissectors.check import Check, Closed, Open, Seen
from dissectors.finding import Finding
from dissectors.pulsar.checks.saying import SECOND, Key, Numbered, consumer_of, named, of, said
from dissectors.pulsar.reports.fields import text
from dissectors.pulsar.reports.permits import Permits, messages_in
from dissectors.slotted import field, slotted
from dissectors.values import number

LONG = SECOND
"""Nanoseconds without permits that are worth saying when they are over."""

ONE_BY_ONE = 1
"""Messages that a client without a queue asks for at one time."""

MOST_MISSED = 1000
"""SENDs that are remembered of those that a consumer could not be sent."""

MOST_FED = 1024
"""Consumers that are looked at for one SEND, or for who else is there."""


@slotted(frozen=False, eq=False)
class _Consumer:
    """largest: the most that one FLOW asked for. losses: as the connection had them when it was last heard of.

    missed: when messages were sent while it had no permits, and how many.
    """

    name: str
    topic: str
    subscription: str
    permits: Permits
    losses: int
    largest: int = 0
    missed: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MOST_MISSED))


class Starved(Check):
    """See the module."""

    wants = (
        of(Role.REQUEST, ["SUBSCRIBE", "PRODUCER", "SEND", "CLOSE_CONSUMER", "UNSUBSCRIBE"])
        | of(Role.PUSH, ["MESSAGE", "CLOSE_CONSUMER"])
        | of(Role.ONEWAY, ["FLOW"])
    )
    paths = frozenset(
        {("topic",), ("subscription",), ("consumer_id",), ("producer_id",), ("messagePermits",), ("num_messages",)}
        | {("ack_set",), ("metadata", "num_messages_in_batch")}
    )

    def __init__(self) -> None:
        """Nobody subscribed."""
        self._consumers: Numbered[_Consumer] = Numbered()
        self._topics: Numbered[str] = Numbered()
        """Topics of producers."""
        self._empty: dict[str, dict[Key, _Consumer]] = {}
        """By topic the consumers that have no permits."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A FLOW that came late, and a consumer that is closed without one."""
        name, values = named(seen.context.code), seen.values
        if name == "PRODUCER":
            self._topics.put((seen.stream, number(values, "producer_id")), text(values, "topic") or "")
        elif name == "SEND":
            self._sent(seen)
        elif name == "SUBSCRIBE":
            self._made(seen)
        else:
            key = seen.stream, number(values, "consumer_id")
            known = self._consumers.get(key)
            if known is None:
                return
            if known.losses != seen.losses:
                self._forget(key, known)  # what it asked for may be among the bytes that are missing
            elif name == "MESSAGE":
                known.permits.take(messages_in(values), seen.time)
                if known.permits.empty is not None:
                    self._empty.setdefault(known.topic, {})[key] = known
            elif name == "FLOW":
                yield from self._flow(key, known, seen)
            else:
                yield from self._over(known, known.permits.empty, seen.time)
                self._forget(key, known)

    def closed(self, closed: Closed) -> Iterator[Finding]:
        """Nobody asks any more."""
        yield from self._ended(closed)

    def still_open(self, connection: Open) -> Iterator[Finding]:
        """Nobody has asked up to the capture's end."""
        yield from self._ended(connection)

    def _ended(self, end: Closed | Open) -> Iterator[Finding]:
        for known in self._consumers.on(end.stream):
            if known.losses == end.losses:
                yield from self._over(known, known.permits.empty, end.time)

    def _made(self, seen: Seen) -> None:
        key = seen.stream, number(seen.values, "consumer_id")
        older = self._consumers.get(key)
        if older is not None:
            self._forget(key, older)
        topic, subscription = (text(seen.values, name) or "" for name in ("topic", "subscription"))
        name = consumer_of(key[1], seen.values)
        forgotten = self._consumers.put(key, _Consumer(name, topic, subscription, Permits(known=True), seen.losses))
        if forgotten is not None:
            self._empty.get(forgotten[1].topic, {}).pop(forgotten[0], None)

    def _forget(self, key: Key, known: _Consumer) -> None:
        self._consumers.drop(key)
        self._fed(key, known)

    def _fed(self, key: Key, known: _Consumer) -> None:
        """It is not one of those without permits any more."""
        empty = self._empty.get(known.topic, {})
        empty.pop(key, None)
        if not empty:
            self._empty.pop(known.topic, None)

    def _sent(self, seen: Seen) -> None:
        topic = self._topics.get((seen.stream, number(seen.values, "producer_id")))
        empty = self._empty.get(topic or "")
        if empty:
            for known in islice(empty.values(), MOST_FED):
                known.missed.append((seen.time, max(number(seen.values, "num_messages", 1), 1)))

    def _flow(self, key: Key, known: _Consumer, seen: Seen) -> Iterator[Finding]:
        since, asked = known.permits.empty, number(seen.values, "messagePermits")
        known.largest = max(known.largest, asked)
        known.permits.grant(asked, seen.time)
        if known.permits.empty is None and since is not None:
            yield from self._over(known, since, seen.time)
            self._fed(key, known)
            known.missed.clear()

    def _over(self, known: _Consumer, since: int | None, time: int) -> Iterator[Finding]:
        """A time without permits is over, or nobody will see how it goes on."""
        missed = sum(count for sent, count in known.missed if sent <= time)
        if since is None or time - since < LONG or not missed or known.largest <= ONE_BY_ONE:
            return
        more = " or more" if len(known.missed) == MOST_MISSED else ""
        counted = f"{missed}{more} {'message' if missed == 1 else 'messages'}"
        sentence = "beside" if self._others(known) else "starved"
        yield said(sentence, who=known.name, took=time - since, missed=counted)

    def _others(self, known: _Consumer) -> bool:
        """Whether another consumer of its subscription can be sent something."""
        alike = islice(self._consumers.values(), MOST_FED)
        return any(
            each is not known
            and (each.topic, each.subscription) == (known.topic, known.subscription)
            and (each.permits.now or 0) > 0
            for each in alike
        )
