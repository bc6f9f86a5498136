"""The report of lookups: who looked for which topic, where it was sent, and what came of it.

Facts (BinaryProtoLookupService, TopicLookupBase, ConnectionPool). A client asks any broker for a topic's partitions and
then for the broker that owns it. The answer is Connect, or Redirect: then the client connects to the broker named there
and asks again, with the flag `authoritative` of the answer. The client then connects to the owner, or to a proxy with a
CONNECT that names the owner. A standalone broker always sets proxy_through_service_url, so only a CONNECT reveals a
proxy. A partitioned topic is not looked up itself: each of its partitions is.

Estimates. URLs name hosts and a capture has addresses, so nothing connects a connection with the broker of a URL. The
next action of a client host for the same topic, on the same connection if possible, is taken as the next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dissectors.correlator import BoundedTable, MessageEvent, for_request
from dissectors.message import Role
from dissectors.pulsar.reports.fields import PULSAR, ProxiedBrokers, read_text, subscribe_to
from dissectors.report import OpenRow, Report, column
from dissectors.slotted import make_slotted
from dissectors.values import host_of, number
from dissectors.wire.row_sentence import RowSentence

MOST_BROKERS = 32
"""Brokers that a row names."""

PARTITIONS, LOOKING, REDIRECTED, FOUND, MAKING = "partitions", "looking", "redirected", "found", "making"
"""How it stands: partitions are known, an answer is awaited, go elsewhere, the broker is known, something is made."""

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

_ANSWERS = "PRODUCER_SUCCESS SUCCESS ERROR SCALABLE_TOPIC_UPDATE TC_CLIENT_CONNECT_RESPONSE"
_COORDINATORS = "persistent://pulsar/system/transaction_coordinator_assign-partition-"
"""A coordinator is served where this topic's partition of its number is."""

_FROM: Mapping[str, tuple[str, ...]] = {_METADATA: (), _LOOKUP: (REDIRECTED, PARTITIONS)}
"""What a way must have come to for a request to be its next step, by the request; FOUND for all others."""

_Key = tuple[str, str]
"""The client's host, and a topic."""


@make_slotted(frozen=False, eq=False)
class TopicLookup(OpenRow):
    """A way to a topic.

    state: how it stands. since, step: when the request was sent that waits for its answer, and its name.
    """

    topic: str = column("text", "what was looked for", "")
    result: str | None = column(
        "text",
        "what was made (producer, consumer, schema, scalable topic, coordinator); or partitions (that is all that "
        "was asked), found (and not used), redirected (and not followed), failed, refused, unanswered",
    )
    client: str = column("text", "who asked first", "")
    error: str | None = column("text", "why it failed, or was refused")
    took_ns: int = column("duration", "from the first request to the last answer", of=lambda way: way.last - way.first)
    steps: int = column("number", "requests", 0)
    slowest: str | None = column("text", "the request that took longest")
    slowest_ns: int | None = column("duration", "how long that was", of=lambda way: way.longest or None)
    partitions: int | None = column("number", "how many the topic has; 0: it is none of partitions")
    redirects: int = column("number", "how often it was sent to another broker", 0)
    again: int = column("number", "how often it was sent to a broker where it had been sent before: a loop", 0)
    brokers: list[str] = column("texts", "URLs that the lookups gave, in order", default_factory=list)
    server: str = column("text", "the address that the last request went to", "")
    proxied: str | None = column("text", "the broker that a proxy was asked to pass it to")
    state: str = LOOKING
    stream: int = -1
    since: int | None = None
    step: str = ""
    longest: int = 0

    most_rows = 32

    def ask(self, step: str, event: MessageEvent, proxied: str | None) -> None:
        """Notes a request about a topic."""
        self.step, self.state = step, MAKING if step in _MADE else LOOKING
        self.stream, self.server = event.stream, event.server
        self.proxied = proxied or self.proxied
        self.steps += 1
        self.since = event.time
        self.note(step, event)

    def answer(self, event: MessageEvent) -> None:
        """Handles the answer to its latest request."""
        if self.since is not None and event.time - self.since > self.longest:
            self.longest, self.slowest = event.time - self.since, self.step
        self.since = None
        self.note("answer", event)

    def lead_to(self, broker: str | None, state: str) -> None:
        """Handles an answer that names a broker: the topic's, or one to ask next."""
        self.state = state
        self.redirects += state == REDIRECTED
        if broker is not None:
            self.again += state == REDIRECTED and broker in self.brokers
            if len(self.brokers) < MOST_BROKERS:
                self.brokers.append(broker)


class LookupReport(Report[TopicLookup]):
    """The report of lookups: one row for each way of a client to a topic."""

    name = "lookups"
    about = "each topic that a client looked for: partitions, lookups, redirects, and what was made there"
    needs = PULSAR
    row = TopicLookup
    sentence = RowSentence(
        "{word} of a way to {topic=}: {result}(, {error}), {steps%counted request} in {took_ns%lasting}"
        "(, {redirects+} of them redirected)(, {again+} to a broker where it had been sent before)"
        "(, by way of a proxy to {proxied})"
    )
    selects = (("topic", "pulsar.topic"), ("client", "address"))

    def _begin(self) -> None:
        self.open: BoundedTable[_Key, list[TopicLookup]] = BoundedTable(self.limit, evict=self.close_all)
        self.brokers = ProxiedBrokers()

    def close(self, row: TopicLookup) -> None:
        """Settles what is still open in a row and emits it."""
        if row.result is None:
            row.result = "unanswered" if row.since is not None else row.state
        super().close(row)

    def close_all(self, ways: Iterable[TopicLookup]) -> None:
        """Ends the rows of several topic lookups."""
        for way in ways:
            self.close(way)

    def finish(self) -> None:
        """Closes all rows that are open when the capture ends."""
        for ways in self.open.values():
            self.close_all(ways)

    def connect(self, event: MessageEvent) -> None:
        """Notes from CONNECT to which broker a proxy leads."""
        self.brokers.connect(event)

    def receive_request(self, event: MessageEvent) -> None:
        """Handles a lookup request, which continues a lookup or begins one."""
        step, topic = event.operation or "", _find_topic(event)
        if topic is None or event.context.role is not Role.REQUEST:
            return
        key = host_of(event.client), topic
        way = _find_way(self.open.get(key) or (), step, event)
        if way is None:
            if step in _MADE:
                return
            way = TopicLookup(event.time, event.time, topic=topic, client=event.client)
            self.remember(key, way)
        way.ask(step, event, self.brokers.find_broker(event.stream))
        self.requests[event.row] = way

    def remember(self, key: _Key, way: TopicLookup) -> None:
        """Puts a new way beside the others."""
        alike = self.open.get(key) or []
        alike.append(way)
        self.open[key] = alike
        self.open.renew(key)
        if len(alike) > MOST_ALIKE:
            self.close(alike.pop(0))

    def receive_answer(self, way: TopicLookup, event: MessageEvent) -> None:
        """Handles an answer, which may end a lookup."""
        if way.result is not None:
            return
        values, step = event.values, way.step
        way.answer(event)
        way.error = read_text(values, "error") or read_text(values, "error_code")
        response = values.get("response")
        if step in _MADE:
            self.end(way, "refused" if way.error else _MADE[step])
        elif way.error is not None or response == "Failed":
            self.end(way, "failed")
        elif step == _METADATA:
            way.state, way.partitions = PARTITIONS, number(values, "partitions")
            if way.partitions:
                self.end(way, PARTITIONS)
        else:
            broker = read_text(values, "brokerServiceUrl") or read_text(values, "brokerServiceUrlTls")
            way.lead_to(broker, REDIRECTED if response == "Redirect" else FOUND)

    def end(self, way: TopicLookup, result: str) -> None:
        """Ends a lookup, unless it was evicted before."""
        way.result = result
        key = host_of(way.client), way.topic
        alike = self.open.get(key) or []
        if way in alike:
            alike.remove(way)
            if not alike:
                self.open.pop(key)
            self.close(way)

    on = (
        subscribe_to("CONNECT", connect, "proxy_to_broker_url")
        | subscribe_to(" ".join((_METADATA, *_MADE)), receive_request, "topic")
        | subscribe_to(_LOOKUP, receive_request, "topic", "authoritative")
        | subscribe_to(_COORDINATOR, receive_request, "tc_id")
        | subscribe_to("PARTITIONED_METADATA_RESPONSE", for_request(receive_answer), "partitions", "response", "error")
        | subscribe_to(
            *("LOOKUP_RESPONSE", for_request(receive_answer), "brokerServiceUrl", "brokerServiceUrlTls"),
            *("response", "error"),
        )
        | subscribe_to(_ANSWERS, for_request(receive_answer), "error")
        | subscribe_to("GET_SCHEMA_RESPONSE", for_request(receive_answer), "error_code")
    )


def _find_way(ways: Iterable[TopicLookup], step: str, event: MessageEvent) -> TopicLookup | None:
    """The way that a request goes on: the latest on its connection, else the latest of its host."""
    fitting = _FROM.get(step, (FOUND,))
    fresh = [each for each in ways if each.state in fitting and event.time - each.last <= STALE]
    latest_first = reversed(fresh)
    return max(latest_first, key=lambda each: (each.state == fitting[0], each.stream == event.stream), default=None)


def _find_topic(event: MessageEvent) -> str | None:
    """The topic that a request is for."""
    if event.operation != _COORDINATOR:
        return read_text(event.values, "topic")
    return f"{_COORDINATORS}{number(event.values, 'tc_id')}"
