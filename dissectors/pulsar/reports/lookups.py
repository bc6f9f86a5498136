"""The story of lookups: who looked for which topic, where it was sent, and what came of it.

Facts (BinaryProtoLookupService, TopicLookupBase, ConnectionPool). A client asks any broker for a topic's partitions and
then for the broker that owns it. The answer is Connect, or Redirect: then the client connects to the broker named there
and asks again, with the flag `authoritative` as the answer had it. What was found is used on a connection to that
broker, or through a proxy, whose CONNECT names it. A standalone broker sets proxy_through_service_url always, so only
a CONNECT tells that there is a proxy. A partitioned topic is no topic to look up: each of its partitions is.

Estimates. URLs name hosts and a capture has addresses, so nothing tells that a connection goes to the broker of a URL.
What a client host does next for the same topic, on the same connection where it can be, is taken for the next step.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.pulsar.reports.asked import PULSAR, number, of, text
from dissectors.pulsar.reports.chain import FOUND, LOOKING, MAKING, PARTITIONS, REDIRECTED, Chain
from dissectors.pulsar.reports.members import Brokers
from dissectors.remembered import Remembered
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

MOST = 65_536
"""Topics that somebody is on the way to."""

MOST_ALIKE = 64
"""Ways of one host to one topic that are told apart at one time."""

STALE = 60_000_000_000
"""Nanoseconds behind which what a client does is no next step any more: it has begun again."""

_METADATA, _LOOKUP, _COORDINATOR = "PARTITIONED_METADATA", "LOOKUP", "TC_CLIENT_CONNECT_REQUEST"
_MADE = {
    "PRODUCER": "producer",
    "SUBSCRIBE": "consumer",
    "GET_SCHEMA": "schema",
    "SCALABLE_TOPIC_LOOKUP": "scalable topic",
    _COORDINATOR: "coordinator",
}
"""What a topic is looked up for, by the command that uses what was found."""

_ANSWERS = ("PRODUCER_SUCCESS", "SUCCESS", "ERROR", "SCALABLE_TOPIC_UPDATE", "TC_CLIENT_CONNECT_RESPONSE")
_COORDINATORS = "persistent://pulsar/system/transaction_coordinator_assign-partition-"
"""A coordinator is served where this topic's partition of its number is."""

_FROM: Mapping[str, tuple[str, ...]] = {_METADATA: (), _LOOKUP: (REDIRECTED, PARTITIONS)}
"""What a way must have come to for a request to be its next step, by the request; FOUND for all others."""

_Key = tuple[str, str]
"""The client's host, and a topic."""


class Lookups(OldReport):
    """See the module."""

    name = "lookups"
    about = "each topic that a client looked for: partitions, lookups, redirects, and what was made there"
    needs = PULSAR
    columns = (
        Column("topic", "text", "what was looked for"),
        Column(
            "result",
            "text",
            "what was made (producer, consumer, schema, scalable topic, coordinator); or partitions (that is all that "
            "was asked), found (and not used), redirected (and not followed), failed, refused, unanswered",
        ),
        Column("client", "text", "who asked first"),
        Column("error", "text", "why it failed, or was refused"),
        Column("took_ns", "duration", "from the first request to the last answer"),
        Column("steps", "number", "requests"),
        Column("slowest", "text", "the request that took longest"),
        Column("slowest_ns", "duration", "how long that was"),
        Column("partitions", "number", "how many the topic has; 0: it is none of partitions"),
        Column("redirects", "number", "how often it was sent to another broker"),
        Column("again", "number", "how often it was sent to a broker where it had been sent before: a loop"),
        Column("brokers", "texts", "URLs that the lookups gave, in order"),
        Column("server", "text", "the address that the last request went to"),
        Column("proxied", "text", "the broker that a proxy was asked to pass it to"),
    )
    wants: ClassVar = {
        **of(["CONNECT"], "proxy_to_broker_url"),
        **of([_METADATA, *_MADE], "topic"),
        **of([_LOOKUP], "topic", "authoritative"),
        **of([_COORDINATOR], "tc_id"),
        **of(["PARTITIONED_METADATA_RESPONSE"], "partitions", "response", "error"),
        **of(["LOOKUP_RESPONSE"], "brokerServiceUrl", "brokerServiceUrlTls", "response", "error"),
        **of(_ANSWERS, "error"),
        **of(["GET_SCHEMA_RESPONSE"], "error_code"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._open: OrderedDict[_Key, list[Chain]] = OrderedDict()
        self._asked: Remembered[int, Chain] = Remembered()
        self._brokers = Brokers()

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """An answer may be the end of a way."""
        if told.context.role is Role.RESPONSE:
            chain = self._asked.take(told.partner)
            return () if chain is None or chain.result is not None else self._answer(chain, told)
        if told.operation == "CONNECT":
            self._brokers.connect(told)
            return ()
        topic = _topic(told)
        return () if topic is None or told.context.role is not Role.REQUEST else self._ask(topic, told)

    def finish(self) -> Iterator[ReportRow]:
        """All that go on."""
        for chains in self._open.values():
            for chain in chains:
                yield chain.entry()

    def _ask(self, topic: str, told: MessageEvent) -> list[ReportRow]:
        """A request, of a way that goes on or of a new one."""
        step = told.operation or ""
        client, server = self.ends(told.stream)
        key = host_of(client), topic
        chain = self._next(self._open.get(key, ()), step, told)
        forgotten: list[ReportRow] = []
        if chain is None:
            if step in _MADE:
                return forgotten
            chain = Chain(topic, client, told.time, told.time)
            forgotten = self._remember(key, chain)
        chain.ask(step, MAKING if step in _MADE else LOOKING, told, server, self._brokers.of(told.stream))
        self._asked.keep(told.row, chain)
        return forgotten

    def _remember(self, key: _Key, chain: Chain) -> list[ReportRow]:
        """Puts a new way beside the others; what is forgotten for it."""
        alike = self._open.setdefault(key, [])
        alike.append(chain)
        self._open.move_to_end(key)
        if len(alike) > MOST_ALIKE:
            return [alike.pop(0).entry()]
        if len(self._open) > MOST:
            return [each.entry() for each in self._open.popitem(last=False)[1]]
        return []

    @staticmethod
    def _next(chains: Iterable[Chain], step: str, told: MessageEvent) -> Chain | None:
        """The way that a request goes on: the latest on its connection, else the latest of its host."""
        fitting = _FROM.get(step, (FOUND,))
        fresh = [each for each in chains if each.state in fitting and told.time - each.last <= STALE]
        latest_first = reversed(fresh)
        return max(latest_first, key=lambda each: (each.state == fitting[0], each.stream == told.stream), default=None)

    def _answer(self, chain: Chain, told: MessageEvent) -> Iterable[ReportRow]:
        step = chain.step
        chain.answered(told)
        chain.error = text(told.values, "error") or text(told.values, "error_code")
        if step in _MADE:
            return self._over(chain, "refused" if chain.error else _MADE[step])
        response = told.values.get("response")
        if chain.error is not None or response == "Failed":
            return self._over(chain, "failed")
        if step == _METADATA:
            chain.state, chain.partitions = PARTITIONS, number(told.values, "partitions")
            return self._over(chain, PARTITIONS) if chain.partitions else ()
        broker = text(told.values, "brokerServiceUrl") or text(told.values, "brokerServiceUrlTls")
        chain.sent_to(broker, REDIRECTED if response == "Redirect" else FOUND)
        return ()

    def _over(self, chain: Chain, result: str) -> list[ReportRow]:
        chain.result = result
        key = host_of(chain.client), chain.topic
        alike = self._open.get(key, [])
        if chain not in alike:
            return []  # it was forgotten, and told
        alike.remove(chain)
        if not alike:
            del self._open[key]
        return [chain.entry()]

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        place = next(place for place, (_, each) in enumerate(entry.rows) if each == row)
        word = entry.rows[place][0]
        parts = [f"{word} of a way to {said['topic']}: {said['result']}"]
        parts += [f"{said['error']}"] if said["error"] else []
        parts.append(f"{count_text(said['steps'], 'request')} in {lasting(said['took_ns'])}")
        parts += [f"{said['redirects']} of them redirected"] if said["redirects"] else []
        parts += [f"{said['again']} to a broker where it had been sent before"] if said["again"] else []
        parts += [f"by way of a proxy to {said['proxied']}"] if said["proxied"] else []
        return ", ".join(parts)


def _topic(told: MessageEvent) -> str | None:
    """The topic that a request is for."""
    if told.operation != _COORDINATOR:
        return text(told.values, "topic")
    return f"{_COORDINATORS}{number(told.values, 'tc_id')}"


def host_of(address: str) -> str:
    """An address without its port."""
    return address.rpartition(":")[0]
