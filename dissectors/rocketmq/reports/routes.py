"""The story of routes: which topics clients asked for, where these are, and how that changed.

Facts (MQClientInstance, RouteInfoManager, TopicRouteData). Clients ask a name server for the route of each of their
topics every 30 s, and of TBW102 where it knows none: its settings are those of a topic that a broker will make. A route
has for each broker its addresses by id, of which 0 is the master, how many queues may be read and written, and whether
they may. orderTopicConf says which queues of which brokers are for ordered topics. A proxy answers like a name server.

Estimates. A client that asks for TBW102 next on a connection where a topic was not found, does so for that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from dissectors.api import Role
from dissectors.old_report import REPORTED, Column, Ends, MessageEvent, ReportRow, said_of
from dissectors.remembered import Remembered
from dissectors.rocketmq.labels import permission
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, number, of, struct, structs, text
from dissectors.rocketmq.reports.lines import MOST_NAMES, Line, LineStory
from dissectors.slotted import field, slotted
from dissectors.wire.amounts import count_text

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


@slotted(frozen=False, eq=False)
class _Topic(Line):
    """route: the latest, None before the first. state: the latest answer. slowest: ns of an answer."""

    topic: str = ""
    server: str = ""
    state: str = UNANSWERED
    error: str | None = None
    route: _Route | None = None
    order: str | None = None
    asked: int = 0
    clients: set[str] = field(default_factory=set)
    missing: int = 0
    fallbacks: int = 0
    changes: int = 0
    change: str | None = None
    told: int | None = None
    slowest: int | None = None

    def changed(self, change: str) -> None:
        """The answer is not as the one before; a text without letters: it is."""
        if change:
            self.changes += 1
            self.change = change


class Routes(LineStory[_Key, _Topic]):
    """See the module."""

    name = "routes"
    about = "each topic that clients asked a name server for: its brokers and queues, and how that changed"
    needs = ROCKETMQ
    columns = (
        Column("topic", "text", "what was asked for"),
        Column("state", "text", "the latest answer: known, missing (TOPIC_NOT_EXIST), refused; or unanswered"),
        Column("brokers", "texts", "of the latest route, with their addresses by broker id; 0 is the master"),
        Column("read_queues", "number", "queues of all brokers that may be read"),
        Column("write_queues", "number", "queues of all brokers that may be written"),
        Column("perm", "text", "what may be done on the brokers, where it is the same on all"),
        Column("asked", "number", "how often it was asked for"),
        Column("clients", "number", "by how many addresses"),
        Column("missing", "number", "how often it was not there"),
        Column("fallbacks", "number", "how often a client asked for TBW102 instead, for its settings (an estimate)"),
        Column("changes", "number", "answers that were not as the one before"),
        Column("change", "text", "the latest of these"),
        Column("told", "time", "when a route was given last"),
        Column("slowest_ns", "duration", "the answer that took longest"),
        Column("error", "text", "the latest"),
        Column("order", "text", "orderTopicConf: queues of ordered topics by broker"),
        Column("server", "text", "the name server, or proxy"),
    )
    wants: ClassVar = {**of([_ASK], ASKS, "topic"), **of([_ASK], ANSWERS, REPORTED, ("body",))}

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._asked: Remembered[int, tuple[_Topic, int]] = Remembered()
        """By row of a question its line, and when it was."""
        self._failed: Remembered[int, _Topic] = Remembered()
        """By connection the topic that was not there."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """A question, or its answer."""
        if told.context.role is Role.RESPONSE:
            asked = self._asked.take(told.partner)
            if asked is not None:
                self._answered(*asked, told)
            return ()
        topic = text(header(told.values), "topic")
        if topic is None:
            return ()
        failed = self._failed.take(told.stream)
        if topic == _DEFAULT and failed is not None:
            failed.fallbacks += 1
        client, server = self.ends(told.stream)
        line = self.line((server, topic), told)
        line.asked += 1
        if len(line.clients) < MOST_CLIENTS:
            line.clients.add(client)
        line.note("asked", told)
        if told.partner is not None:
            self._asked.keep(told.row, (line, told.time))
        return self.given()

    def made(self, key: _Key, told: MessageEvent) -> _Topic:
        """See LineStory."""
        return _Topic(told.time, told.time, topic=key[1], server=key[0])

    def _answered(self, line: _Topic, asked: int, told: MessageEvent) -> None:
        line.heard(told)
        line.slowest = max(line.slowest or 0, told.time - asked)
        if told.error is not None:
            line.error = told.error[1]
            self._failing(line, told)
            return
        route = _route(struct(told.values, "body"))
        if line.state != KNOWN:
            changed = "" if line.state == UNANSWERED else "made"
        else:
            changed = _change(line.route or {}, route)
        line.changed(changed)
        line.state, line.route, line.told = KNOWN, route, told.time
        line.order = text(struct(told.values, "body"), "orderTopicConf")
        line.note("changed" if changed else "told", told)

    def _failing(self, line: _Topic, told: MessageEvent) -> None:
        is_missing = told.error is not None and told.error[0] == TOPIC_NOT_EXIST
        if is_missing:
            line.missing += 1
            self._failed.keep(told.stream, line)
        line.changed("gone" if is_missing and line.state == KNOWN else "")
        line.state = MISSING if is_missing else REFUSED
        line.note(line.state, told)

    def entry(self, line: _Topic) -> ReportRow:
        """See LineStory."""
        route = line.route or {}
        perms = {broker.perm for broker in route.values()}
        values = (
            line.topic,
            line.state,
            [f"{name} {', '.join(broker.addresses)}" for name, broker in route.items()],
            sum(broker.reads for broker in route.values()) if route else None,
            sum(broker.writes for broker in route.values()) if route else None,
            permission(perms.pop()) if len(perms) == 1 else None,
            line.asked,
            len(line.clients),
            line.missing,
            line.fallbacks,
            line.changes,
            line.change,
            line.told,
            line.slowest,
            line.error,
            line.order,
            line.server,
        )
        return ReportRow(values, tuple(line.rows), line.first, line.last)

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        where = f" at {', '.join(said['brokers'])}" if said["brokers"] else ""
        missing = f", {said['missing']} times missing" if said["missing"] else ""
        change = f", at last: {said['change']}" if said["change"] else ""
        asked = f"asked for {count_text(said['asked'], 'time')} by {count_text(said['clients'], 'client')}"
        return f"{word}: topic {said['topic']} is {said['state']}{where}, {asked}{missing}{change}"


def _route(body: Mapping[str, Any]) -> _Route:
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


def _change(before: _Route, now: _Route) -> str:
    """What is not as it was; a text without letters where all is."""
    said = [f"{name} gone" for name in before if name not in now]
    said += [f"{name} new" for name in now if name not in before]
    for name in before.keys() & now.keys():
        old, new = before[name], now[name]
        said += [f"{name} without {each}" for each in old.addresses if each not in new.addresses]
        said += [f"{name} with {each}" for each in new.addresses if each not in old.addresses]
        if old[1:] != new[1:]:
            said.append(f"{name} {_queues(new)}, was {_queues(old)}")
    return "; ".join(sorted(said))


def _queues(broker: _Broker) -> str:
    return f"{broker.reads} to read, {broker.writes} to write ({permission(broker.perm) or 'nothing may be done'})"
