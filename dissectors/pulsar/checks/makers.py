"""Producers and consumers that are asked for over and over, and producers that take a topic from one another.

Facts (ConnectionHandler, Topic, ProducerAccessMode). A client that is refused, or that the broker has closed, looks the
topic up and asks again, with growing pauses of 100 ms up to a minute, and with the same number. Two producers of the
same name, and two that want a topic for themselves, can't both be there: with ExclusiveWithFencing the newer one fences
the older off, and where each comes back when it is fenced, both do so for ever.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.pulsar.checks.saying import MOST, SECOND, Numbered, consumer_of, named, of, producer_of, said
from dissectors.pulsar.reports.fields import text
from dissectors.slotted import field, slotted
from dissectors.values import number

WINDOW = 60 * SECOND
"""Nanoseconds within which it counts."""

TIMES = 5
"""How often something is asked for before that is said, and again at each doubling."""

TURNS = 3
"""How often a topic goes from one connection to another, back to one that had it before."""

_ALONE = frozenset({"Exclusive", "WaitForExclusive", "ExclusiveWithFencing"})
_Thing = tuple[str, str, str]
"""Server, topic, and what it is that only one can have."""


@slotted(frozen=False, eq=False)
class _Asked:
    """What a connection asked for: first and latest time, how often within the time that counts, the latest error."""

    topic: str | None
    first: int
    count: int = 0
    next: int = TIMES
    error: str | None = None


@slotted(frozen=False, eq=False)
class _Owners:
    """The connections that had a thing, with their clients and since when; how often one came back to it."""

    latest: deque[tuple[int, str, int]] = field(default_factory=lambda: deque(maxlen=8))
    turns: int = 0
    since: int = 0


class Makers(Check):
    """See the module."""

    wants = of(Role.REQUEST, ["PRODUCER", "SUBSCRIBE", "SEEK"]) | of(
        Role.RESPONSE, ["PRODUCER_SUCCESS", "SUCCESS", "ERROR"]
    )
    paths = frozenset(
        {("topic",), ("subscription",), ("producer_id",), ("consumer_id",), ("producer_name",)}
        | {("user_provided_producer_name",), ("producer_access_mode",), ("producer_ready",), ("error",)}
    )

    def __init__(self) -> None:
        """Nobody asked."""
        self._asked = {"PRODUCER": Numbered[_Asked](), "SUBSCRIBE": Numbered[_Asked]()}
        self._owners: OrderedDict[_Thing, _Owners] = OrderedDict()

    def see(self, seen: Seen) -> Iterator[Finding]:
        """Once more, or once more by somebody else."""
        if seen.context.role is Role.REQUEST:
            yield from self._ask(seen)
        elif isinstance(seen.request, tuple):
            asked, thing = seen.request
            asked.error = text(seen.values, "error")
            ready = asked.error is None and seen.values.get("producer_ready") is not False
            if ready and thing is not None:
                yield from self._taken(thing, seen)

    def kept(self, seen: Seen) -> object:
        """What is asked for."""
        name = named(seen.context.code)
        known = self._asked.get(name)
        asked = None if known is None else known.get((seen.stream, _number(name, seen.values)))
        return None if asked is None else (asked, _thing(seen) if name == "PRODUCER" else None)

    def _ask(self, seen: Seen) -> Iterator[Finding]:
        name, topic = named(seen.context.code), text(seen.values, "topic")
        key = seen.stream, _number(name, seen.values)
        if name == "SEEK":
            self._asked["SUBSCRIBE"].drop(key)  # by which the broker closes the consumer, so that it asks again
            return
        asked = self._asked[name].get(key)
        if asked is None or asked.topic != topic or seen.time - asked.first > WINDOW:
            error = None if asked is None else asked.error
            asked = _Asked(topic, seen.time, error=error)
            self._asked[name].put(key, asked)
        asked.count += 1
        if asked.count == asked.next:
            asked.next *= 2
            who = producer_of(key[1], topic) if name == "PRODUCER" else consumer_of(key[1], seen.values)
            last = "" if asked.error is None else f", the last answer was {asked.error}"
            yield said("loop", who=who, count=asked.count, took=seen.time - asked.first, last=last)

    def _taken(self, thing: _Thing, seen: Seen) -> Iterator[Finding]:
        owners = self._owners.setdefault(thing, _Owners())
        if len(self._owners) > MOST:
            self._owners.popitem(last=False)
        before = owners.latest
        if before and before[-1][0] == seen.stream:
            return
        if not owners.turns:
            owners.since = before[-1][2] if before else seen.time
        came_back = any(stream == seen.stream and seen.time - time <= WINDOW for stream, _, time in before)
        before.append((seen.stream, seen.client, seen.time))
        if not came_back:
            return
        owners.turns += 1
        if owners.turns >= TURNS:
            clients = " and ".join(sorted({client for _, client, _ in before}))
            yield said("turns", clients=clients, what=thing[2], count=owners.turns, took=seen.time - owners.since)
            owners.turns = 0


def _number(name: str, values: Mapping[str, Any]) -> int:
    return number(values, "producer_id" if name == "PRODUCER" else "consumer_id")


def _thing(seen: Seen) -> _Thing | None:
    """What only one producer can have: a topic for itself, or a name that was chosen for it."""
    topic, name = text(seen.values, "topic") or "", text(seen.values, "producer_name")
    if text(seen.values, "producer_access_mode") in _ALONE:
        return seen.server, topic, topic
    if name is not None and seen.values.get("user_provided_producer_name") is not False:
        return seen.server, topic, f"the name {name} on {topic}"
    return None
