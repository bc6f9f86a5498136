"""The report of routes: which topics clients asked for, where these are, and how that changed.

Facts (MQClientInstance, RouteInfoManager, TopicRouteData). Clients ask a name server for the route of each of their
topics every 30 s. If it has none, they ask for TBW102, whose settings are those of topics that a broker creates. For
each broker a route has its addresses by id (0 is the master), the numbers of queues to read and write, and permissions.
orderTopicConf tells which queues of which brokers are for ordered topics. A proxy answers like a name server.

Estimates. If a topic was not found and the client's next request on the connection is for TBW102, it is for that topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dissectors.correlator import BoundedTable, MessageEvent, for_request
from dissectors.report import MOST_NAMES, REPORTED, Report, column
from dissectors.rocketmq.labels import format_permission
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, ROCKETMQ, OngoingRow, read_header, subscribe_to
from dissectors.slotted import field, make_slotted
from dissectors.values import number, struct, structs, text
from dissectors.wire.row_sentence import RowSentence

TOPIC_NOT_EXIST = 17

MOST_CLIENTS = 4096
"""Clients of a topic that are told apart."""

_ASK, _DEFAULT = "GET_ROUTEINFO_BY_TOPIC", "TBW102"
UNANSWERED, MISSING, REFUSED, KNOWN = "unanswered", "missing", "refused", "known"

_Key = tuple[str, str]
"""Name server and topic."""


class _Broker(NamedTuple):
    """A broker of a route: its addresses, `0=10.0.0.1:10911`, the queues to read and write, what may be done."""

    addresses: tuple[str, ...]
    reads: int = 0
    writes: int = 0
    perm: int = 0


_Route = Mapping[str, _Broker]
"""By the brokers' names."""


@make_slotted(frozen=False, eq=False)
class TopicRouteRow(OngoingRow):
    """A topic whose route clients request. route: the latest, None before the first. who: the clients that asked."""

    topic: str = column("text", "what was asked for", "")
    state: str = column(
        "text", "the latest answer: known, missing (TOPIC_NOT_EXIST), refused; or unanswered", UNANSWERED
    )
    brokers: list[str] = column(
        *("texts", "of the latest route, with their addresses by broker id; 0 is the master"),
        of=lambda row: [f"{name} {', '.join(broker.addresses)}" for name, broker in (row.route or {}).items()],
    )
    read_queues: int | None = column(
        *("number", "queues of all brokers that may be read"),
        of=lambda row: sum(broker.reads for broker in row.route.values()) if row.route else None,
    )
    write_queues: int | None = column(
        *("number", "queues of all brokers that may be written"),
        of=lambda row: sum(broker.writes for broker in row.route.values()) if row.route else None,
    )
    perm: str | None = column(
        "text",
        "what may be done on the brokers, where it is the same on all",
        of=lambda row: _format_permission(row.route),
    )
    asked: int = column("number", "how often it was asked for", 0)
    clients: int = column("number", "by how many addresses", of=lambda row: len(row.who))
    missing: int = column("number", "how often it was not there", 0)
    fallbacks: int = column("number", "how often a client asked for TBW102 instead, for its settings (an estimate)", 0)
    changes: int = column("number", "answers that were not as the one before", 0)
    change: str | None = column("text", "the latest of these")
    told: int | None = column("time", "when a route was given last")
    slowest_ns: int | None = column("duration", "the answer that took longest")
    error: str | None = column("text", "the latest")
    order: str | None = column("text", "orderTopicConf: queues of ordered topics by broker")
    server: str = column("text", "the name server, or proxy", "")
    route: _Route | None = None
    who: set[str] = field(default_factory=set)

    def alter(self, change: str) -> None:
        """Notes how an answer differs from the one before; a text without letters means that it does not."""
        if change:
            self.changes += 1
            self.change = change


class RouteReport(Report[TopicRouteRow]):
    """The report of routes: one row for each topic that was asked for on a name server."""

    name = "routes"
    about = "each topic that clients asked a name server for: its brokers and queues, and how that changed"
    needs = ROCKETMQ
    row = TopicRouteRow
    sentence = RowSentence(
        "{word}: topic {topic=} is {state}( at {brokers%listed}), asked for {asked%counted time} by "
        "{clients%counted client}(, {missing+} times missing)(, at last: {change})"
    )
    worst = ("fallbacks", "changes", "slowest_ns")
    selects = (("topic", "rocketmq.topic"), ("server", "address"))
    key = ("server", "topic")

    def _begin(self) -> None:
        self.absent: BoundedTable[int, TopicRouteRow] = BoundedTable()
        """By connection the topic that was not there."""

    def receive_question(self, event: MessageEvent) -> None:
        """Counts a request for the route of a topic."""
        topic = text(read_header(event.values), "topic")
        if topic is None:
            return
        absent = self.absent.pop(event.stream)
        if topic == _DEFAULT and absent is not None:
            absent.fallbacks += 1
        row = self.find((event.server, topic), event)
        row.asked += 1
        if len(row.who) < MOST_CLIENTS:
            row.who.add(event.client)
        row.note("asked", event)
        self.await_answer(event, (row, event.time))

    def receive_answer(self, pending: tuple[TopicRouteRow, int], event: MessageEvent) -> None:
        """Compares the route in an answer with the one before."""
        row, since = pending
        row.hear(event)
        row.slowest_ns = max(row.slowest_ns or 0, event.time - since)
        if event.error is not None:
            row.error = event.error[1]
            self.fail(row, event, is_missing=event.error[0] == TOPIC_NOT_EXIST)
            return
        body = struct(event.values, "body")
        route = _read_route(body)
        change = "" if row.state == UNANSWERED else "made"
        if row.state == KNOWN:
            change = _format_change(row.route or {}, route)
        row.alter(change)
        row.state, row.route, row.told = KNOWN, route, event.time
        row.order = text(body, "orderTopicConf")
        row.note("changed" if change else "told", event)

    def fail(self, row: TopicRouteRow, event: MessageEvent, *, is_missing: bool) -> None:
        """Notes that a name server knows no route."""
        if is_missing:
            row.missing += 1
            self.absent[event.stream] = row
        row.alter("gone" if is_missing and row.state == KNOWN else "")
        row.state = MISSING if is_missing else REFUSED
        row.note(row.state, event)

    on = subscribe_to(_ASK, ASKS, receive_question, "topic") | subscribe_to(
        _ASK, ANSWERS, for_request(receive_answer), REPORTED, ("body",)
    )


def _format_permission(route: _Route | None) -> str | None:
    perms = {broker.perm for broker in (route or {}).values()}
    return format_permission(perms.pop()) if len(perms) == 1 else None


def _read_route(body: Mapping[str, Any]) -> _Route:
    """The brokers of a route, with what may be done on each."""
    found = {}
    for each in structs(body.get("brokerDatas"))[:MOST_NAMES]:
        addresses = struct(each, "brokerAddrs").items()
        shown = tuple(f"{place}={address}" for place, address in sorted(addresses, key=str)[:MOST_NAMES])
        found[text(each, "brokerName") or ""] = _Broker(shown)
    for each in structs(body.get("queueDatas"))[:MOST_NAMES]:
        name = text(each, "brokerName") or ""
        counts = (number(each, key) for key in ("readQueueNums", "writeQueueNums", "perm"))
        found[name] = _Broker(found.get(name, _Broker(())).addresses, *counts)
    return found


def _format_change(before: _Route, now: _Route) -> str:
    """What is not as it was; a text without letters where all is."""
    changes = [f"{name} gone" for name in before if name not in now]
    changes += [f"{name} new" for name in now if name not in before]
    for name in before.keys() & now.keys():
        old, new = before[name], now[name]
        changes += [f"{name} without {each}" for each in old.addresses if each not in new.addresses]
        changes += [f"{name} with {each}" for each in new.addresses if each not in old.addresses]
        if old[1:] != new[1:]:
            changes.append(f"{name} {_format_queues(new)}, was {_format_queues(old)}")
    return "; ".join(sorted(changes))


def _format_queues(broker: _Broker) -> str:
    return (
        f"{broker.reads} to read, {broker.writes} to write ({format_permission(broker.perm) or 'nothing may be done'})"
    )
