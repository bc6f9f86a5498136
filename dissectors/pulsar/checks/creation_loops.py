"""Producers and consumers that are asked for over and over, and producers that take a topic from one another.

Facts (ConnectionHandler, Topic, ProducerAccessMode). A client that is refused, or that the broker has closed, looks the
topic up and asks again, with growing pauses of 100 ms up to a minute, and with the same number. Two producers of the
same name, or two with exclusive access to a topic, cannot coexist. With ExclusiveWithFencing the newer one fences the
older; if each comes back when it is fenced, this repeats for ever.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from dissectors.correlator import (
    SECOND,
    BoundedTable,
    MessageEvent,
    NumberedKey,
    Repeats,
    for_request,
)
from dissectors.message import Role
from dissectors.pulsar.reports.fields import PulsarCheck, name_consumer, name_producer, read_text, subscribe_to
from dissectors.slotted import field, make_slotted
from dissectors.values import number

WINDOW = 60 * SECOND
"""Nanoseconds within which it counts."""

TIMES = 5
"""How often something is asked for before that is said, and again at each doubling."""

TURNS = 3
"""How often a topic goes from one connection to another, back to one that had it before."""

_ALONE = frozenset({"Exclusive", "WaitForExclusive", "ExclusiveWithFencing"})
_ExclusiveThing = tuple[str, str, str]
"""Server, topic, and what it is that only one can have."""


@make_slotted(frozen=False, eq=False)
class _CreationRequests(Repeats):
    """What a connection asked for, and the latest error."""

    topic: str | None = None
    error: str | None = None


class _Request(NamedTuple):
    """A PRODUCER or SUBSCRIBE; thing: what only one producer can have."""

    requests: _CreationRequests
    thing: _ExclusiveThing | None


@make_slotted(frozen=False, eq=False)
class _ThingOwners:
    """The connections that had a thing, with their clients and since when; how often one came back to it."""

    latest: deque[tuple[int, str, int]] = field(default_factory=lambda: deque(maxlen=8))
    turns: int = 0
    since: int = 0


class CreationLoops(PulsarCheck):
    """Finds producers and consumers that are asked for over and over, and producers that fence each other off."""

    def _begin(self) -> None:
        self.producers: BoundedTable[NumberedKey, _CreationRequests] = BoundedTable()
        self.consumers: BoundedTable[NumberedKey, _CreationRequests] = BoundedTable()
        self.owners: BoundedTable[_ExclusiveThing, _ThingOwners] = BoundedTable(make=_ThingOwners)

    def receive_seek(self, event: MessageEvent) -> None:
        """Notes a SEEK: the broker closes the consumer because of it, so the consumer is created again."""
        self.consumers.pop((event.stream, number(event.values, "consumer_id")))

    def receive_producer(self, event: MessageEvent) -> None:
        """Counts a PRODUCER request as one attempt to create this producer."""
        self.ask(self.producers, number(event.values, "producer_id"), event)

    def receive_subscribe(self, event: MessageEvent) -> None:
        """Counts a SUBSCRIBE request as one attempt to create this consumer."""
        self.ask(self.consumers, number(event.values, "consumer_id"), event)

    def ask(self, table: BoundedTable[NumberedKey, _CreationRequests], named: int, event: MessageEvent) -> None:
        """Counts a request to create a producer or consumer; finds a loop of such requests."""
        key, topic = (event.stream, named), read_text(event.values, "topic")
        requests, is_producer = table.get(key), table is self.producers
        if requests is None or requests.topic != topic or event.time - requests.begun > WINDOW:
            error = None if requests is None else requests.error
            requests = table[key] = _CreationRequests(event.time, topic=topic, error=error)
        if requests.add(TIMES):
            who = name_producer(named, topic) if is_producer else name_consumer(named, event.values)
            last = "" if requests.error is None else f", the last answer was {requests.error}"
            about = f"topic {topic}"
            self.find("loop", about=about, who=who, count=requests.count, took=event.time - requests.begun, last=last)
        self.await_answer(event, _Request(requests, _find_exclusive_thing(event) if is_producer else None))

    def receive_answer(self, request: _Request, event: MessageEvent) -> None:
        """Handles the answer to such a request; without an error, the creation succeeded."""
        error = request.requests.error = read_text(event.values, "error")
        if error is None and event.values.get("producer_ready") is not False and request.thing is not None:
            self.take(request.thing, event)

    def take(self, thing: _ExclusiveThing, event: MessageEvent) -> None:
        """Notes the owner of an exclusive producer or consumer; finds owners that displace each other."""
        owners = self.owners.find(thing)
        before = owners.latest
        if before and before[-1][0] == event.stream:
            return
        if not owners.turns:
            owners.since = before[-1][2] if before else event.time
        came_back = any(stream == event.stream and event.time - time <= WINDOW for stream, _, time in before)
        before.append((event.stream, event.client, event.time))
        if not came_back:
            return
        owners.turns += 1
        if owners.turns >= TURNS:
            clients = " and ".join(sorted({client for _, client, _ in before}))
            self.find("turns", clients=clients, what=thing[2], count=owners.turns, took=event.time - owners.since)
            owners.turns = 0

    on = (
        subscribe_to(
            *("PRODUCER", receive_producer, "producer_id", "topic", "producer_name", "producer_access_mode"),
            "user_provided_producer_name",
            roles=(Role.REQUEST,),
        )
        | subscribe_to("SUBSCRIBE", receive_subscribe, "consumer_id", "topic", "subscription", roles=(Role.REQUEST,))
        | subscribe_to("SEEK", receive_seek, "consumer_id", roles=(Role.REQUEST,))
        | subscribe_to(
            *("PRODUCER_SUCCESS SUCCESS ERROR", for_request(receive_answer), "producer_ready", "error"),
            roles=(Role.RESPONSE,),
        )
    )


def _find_exclusive_thing(event: MessageEvent) -> _ExclusiveThing | None:
    """What only one producer can have: a topic for itself, or a name that was chosen for it."""
    values = event.values
    topic, name = read_text(values, "topic") or "", read_text(values, "producer_name")
    if read_text(values, "producer_access_mode") in _ALONE:
        return event.server, topic, topic
    if name is not None and values.get("user_provided_producer_name") is not False:
        return event.server, topic, f"the name {name} on {topic}"
    return None
