"""The story of groups: their members, what these subscribe to, and how often queues were dealt anew.

Facts (ConsumerManager, ClientManageProcessor, RebalanceImpl, RebalanceLockManager). A client tells each broker in a
heartbeat, every 30 s, which groups it is in, as producer or as consumer. When the members of a group change, the broker
tells them (NOTIFY_CONSUMER_IDS_CHANGED); each asks one broker for the list, and deals the queues by itself, so all must
see the same list. A consumer in order locks its queues, every 20 s, or may not read them. A client that goes says so
(UNREGISTER_CLIENT), for each group. One whose connection is closed, or that is silent for 120 s, is dropped. Since 5.x
a heartbeat may say that nothing has changed (withoutSub), and then has no groups. A producer that sends transactions is
asked for their outcome by its group.

Estimates. That a client pulls, locks or asks for a list is known by its connection, which a heartbeat is on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, ConnectionEnd, Ends, MessageEvent, ReportRow, said_of
from dissectors.remembered import Remembered
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, of, struct, structs, text
from dissectors.rocketmq.reports.lines import MOST_NAMES, Line, LineStory, add_name
from dissectors.slotted import field, slotted
from dissectors.wire.amounts import count_text

PRODUCER, CONSUMER = "producer", "consumer"
OPEN, LEFT, LOST = "open", "left", "lost"

MOST_STREAMS = 1024
"""Connections of a member that are remembered."""

_BEAT, _LEAVE = "HEART_BEAT", "UNREGISTER_CLIENT"
_NOTIFY, _LIST = "NOTIFY_CONSUMER_IDS_CHANGED", "GET_CONSUMER_LIST_BY_GROUP"
_LOCK, _UNLOCK = "LOCK_BATCH_MQ", "UNLOCK_BATCH_MQ"
_DATA = {PRODUCER: "producerDataSet", CONSUMER: "consumerDataSet"}
_KINDS = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
_RETRY = "%RETRY%"

_Key = tuple[str, str, str]
"""Group, part in it, client id."""

_Queue = tuple[str, str, int]
"""Topic, broker, number."""


@slotted(frozen=False, eq=False)
class _Member(Line):
    """beat: its last heartbeat; silent: the longest time between two. streams: connections with heartbeats.

    told: changes of the group that it was told of. lists: how often it was told the members, `others` at last.
    """

    key: _Key = ("", "", "")
    version: str | None = None
    state: str = OPEN
    over: int | None = None
    beats: int = 0
    silent: int | None = None
    beat: int | None = None
    streams: set[int] = field(default_factory=set)
    clients: dict[str, None] = field(default_factory=dict)
    servers: dict[str, None] = field(default_factory=dict)
    kind: str | None = None
    model: str | None = None
    begins: str | None = None
    wishes: dict[str, str] = field(default_factory=dict)
    told: int = 0
    lists: int = 0
    others: int | None = None
    locked: set[_Queue] = field(default_factory=set)
    refused: int = 0

    def beaten(self, told: MessageEvent, client: str, server: str) -> None:
        """A heartbeat; of a client that was thought to be gone a new beginning."""
        if self.state != OPEN:
            self.state, self.over = OPEN, None
            self.note("back", told)
        elif self.beat is not None:
            self.silent = max(self.silent or 0, told.time - self.beat)
        self.beats += 1
        self.beat = told.time
        if len(self.streams) < MOST_STREAMS:
            self.streams.add(told.stream)
        add_name(self.clients, client)
        add_name(self.servers, server)

    def end(self, state: str, time: int) -> None:
        """It is gone."""
        self.state, self.over = state, time
        self.locked.clear()


class Groups(LineStory[_Key, _Member]):
    """See the module."""

    name = "groups"
    about = "each member of a group of consumers or producers: subscriptions, heartbeats, rebalances, locks"
    needs = ROCKETMQ
    columns = (
        Column("group", "text", "its name"),
        Column("part", "text", "consumer or producer"),
        Column("client", "text", "the client id of the member"),
        Column("state", "text", "open (at the end), left (it said so), lost (its connections were closed)"),
        Column("subscriptions", "texts", "topics, and the expressions by which messages are chosen"),
        Column("differs", "texts", "topics on which other members say otherwise: a fault"),
        Column("kind", "text", "how it reads: push (by pulling for an application that is called), pull, pop"),
        Column("model", "text", "CLUSTERING (each message to one member) or BROADCASTING (to all)"),
        Column("begins", "text", "where a new group begins (consumeFromWhere)"),
        Column("heartbeats", "number", "how often it said that it is there, over all brokers"),
        Column("heartbeat", "time", "when it did last"),
        Column("longest_silence_ns", "duration", "between two of them"),
        Column("notified", "number", "how often a broker told it that the group has changed"),
        Column("lists", "number", "how often it asked who is in the group, to deal the queues"),
        Column("members", "number", "how many there were at last"),
        Column("locked", "number", "queues that it holds the lock of, for reading in order"),
        Column("refused", "number", "queues of which it did not get the lock"),
        Column("ended", "time", "when it left, or was lost"),
        Column("addresses", "texts", "its addresses and ports"),
        Column("brokers", "texts", "whom it sent heartbeats"),
        Column("version", "text", "language and version of the client"),
    )
    wants: ClassVar = {
        **of([_BEAT], ASKS, ("body",)),
        **of([_LEAVE], ASKS, "clientID", "producerGroup", "consumerGroup"),
        **of([_NOTIFY], ASKS, "consumerGroup"),
        **of([_LIST], ASKS, "consumerGroup"),
        **of([_LIST], ANSWERS, ("body", "consumerIdList")),
        **of([_LOCK, _UNLOCK], ASKS, ("body",)),
        **of([_LOCK], ANSWERS, ("body",)),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._on: Remembered[int, str] = Remembered()
        """By connection the id of its client."""
        self._of: Remembered[int, dict[_Key, None]] = Remembered()
        """By connection the members whose heartbeats are on it."""
        self._asked: Remembered[int, tuple[_Member, int]] = Remembered()
        """By row of a request the member that asks, and how many queues it wants."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """One message of a member."""
        name = told.operation or ""
        if told.context.role is Role.RESPONSE:
            asked = self._asked.take(told.partner)
            if asked is not None:
                self._answered(name, *asked, told)
        elif name == _BEAT:
            self._beaten(told)
        elif name == _LEAVE:
            self._left(told)
        else:
            self._does(name, told)
        return self.given()

    def made(self, key: _Key, told: MessageEvent) -> _Member:
        """See LineStory."""
        return _Member(told.time, told.time, key=key, version=told.client_name)

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """The connection of a member may be its last one."""
        self._on.take(ending.stream)
        for key in self._of.take(ending.stream) or ():
            member = self.known(key)
            if member is not None:
                member.streams.discard(ending.stream)
                if not member.streams and member.state == OPEN:
                    member.end(LOST, ending.time)
                    member.last = max(member.last, ending.time)
        return ()

    def _beaten(self, told: MessageEvent) -> None:
        body = struct(told.values, "body")
        ends = self.ends(told.stream)
        client = text(body, "clientID") or ends[0]
        self._on.keep(told.stream, client)
        groups = [
            ((text(each, "groupName") or "", part, client), each)
            for part, name in _DATA.items()
            for each in structs(body.get(name))
        ]
        if body.get("withoutSub") is True and not groups:
            groups = [(key, {}) for key in self._of.get(told.stream) or ()]
        on = self._of.get(told.stream) or {}
        for key, each in groups:
            member = self.line(key, told)
            if not member.beats:
                member.note("joins", told)
            member.beaten(told, *ends)
            if each and key[1] == CONSUMER:
                _subscribe(member, each, told)
            if len(on) < MOST_NAMES:
                on[key] = None
        self._of.keep(told.stream, on)

    def _left(self, told: MessageEvent) -> None:
        values = header(told.values)
        client = text(values, "clientID") or ""
        for part, name in ((PRODUCER, "producerGroup"), (CONSUMER, "consumerGroup")):
            member = self.known((text(values, name) or "", part, client))
            if member is not None:
                member.heard(told)
                member.note("leaves", told)
                if member.state == OPEN:
                    member.end(LEFT, told.time)

    def _does(self, name: str, told: MessageEvent) -> None:
        """It is told of a change, asks for the members, or locks queues."""
        body = struct(told.values, "body")
        group = text(header(told.values), "consumerGroup") or text(body, "consumerGroup")
        client = text(body, "clientId") or self._on.get(told.stream)
        member = None if group is None or client is None else self.known((group, CONSUMER, client))
        if member is None:
            return
        member.heard(told)
        queues = _queues(body.get("mqSet"))
        if name == _NOTIFY:
            member.told += 1
            member.note("is told of a change", told)
        elif name == _UNLOCK:
            member.locked.difference_update(queues)
            member.note("unlocks", told)
        elif told.partner is not None:
            member.note("locks" if name == _LOCK else "asks who is there", told)
            self._asked.keep(told.row, (member, len(queues)))

    @staticmethod
    def _answered(name: str, member: _Member, wanted: int, told: MessageEvent) -> None:
        member.heard(told)
        body = struct(told.values, "body")
        if name == _LOCK:
            got = _queues(body.get("lockOKMQSet"))
            member.refused += max(wanted - len(got), 0)
            member.locked.update(got)
        elif isinstance(body.get("consumerIdList"), list):
            member.lists += 1
            member.others = len(body["consumerIdList"])

    def finish(self) -> Iterator[ReportRow]:
        """All of them; by then it is known whose subscriptions differ."""
        by_group: dict[str, list[_Member]] = {}
        for member in self._lines.values():
            by_group.setdefault(member.key[0], []).append(member)
        common = {group: _wished(members) for group, members in by_group.items()}
        for member in self._lines.values():
            yield _entry(member, _differing(member, common[member.key[0]]))

    def entry(self, line: _Member) -> ReportRow:
        """See LineStory: of one that is told before the end."""
        return _entry(line, [])

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        topics = f", subscribed to {', '.join(said['subscriptions'])}" if said["subscriptions"] else ""
        differs = f"; others say otherwise of {', '.join(said['differs'])}" if said["differs"] else ""
        beats = count_text(said["heartbeats"], "heartbeat")
        who = f"{said['part']} {said['client']} of group {said['group']}"
        return f"{who} {word}: {said['state']}, {beats}{topics}{differs}"


def _subscribe(member: _Member, told: Mapping[str, Any], heard: MessageEvent) -> None:
    """What a consumer says of itself."""
    kind = text(told, "consumeType")
    member.kind = None if kind is None else _KINDS.get(kind, kind)
    member.model, member.begins = text(told, "messageModel"), text(told, "consumeFromWhere")
    wishes = {}
    for each in structs(told.get("subscriptionDataSet"))[:MOST_NAMES]:
        expression = text(each, "expressionType")
        shown = "" if expression in (None, "TAG") else f" ({expression})"
        wishes[text(each, "topic") or ""] = f"{text(each, 'subString') or '*'}{shown}"
    if member.wishes and wishes != member.wishes:
        member.note("subscribes anew", heard)
    member.wishes = wishes


def _queues(value: object) -> list[_Queue]:
    """The queues of a list, each by what tells it from others."""
    found = []
    for each in structs(value):
        place = each.get("queueId")
        found.append(
            (text(each, "topic") or "", text(each, "brokerName") or "", place if isinstance(place, int) else 0)
        )
    return found


def _wished(members: Iterable[_Member]) -> dict[str, set[str]]:
    """By topic what the consumers of a group, as far as they are there, subscribe to; a text without letters: not."""
    reading = [each for each in members if each.key[1] == CONSUMER and each.state == OPEN and each.wishes]
    topics = {topic for each in reading for topic in each.wishes if not topic.startswith(_RETRY)}
    return {topic: {each.wishes.get(topic, "") for each in reading} for topic in topics}


def _differing(member: _Member, common: Mapping[str, set[str]]) -> list[str]:
    if member.key[1] != CONSUMER or member.state != OPEN:
        return []
    return sorted(topic for topic, wishes in common.items() if len(wishes) > 1)[:MOST_NAMES]


def _entry(member: _Member, differs: list[str]) -> ReportRow:
    group, part, client = member.key
    values = (
        group,
        part,
        client,
        member.state,
        [f"{topic} {wish}" for topic, wish in member.wishes.items()],
        differs,
        member.kind,
        member.model,
        member.begins,
        member.beats,
        member.beat,
        member.silent,
        member.told,
        member.lists,
        member.others,
        len(member.locked),
        member.refused,
        member.over,
        list(member.clients),
        list(member.servers),
        member.version,
    )
    return ReportRow(values, tuple(member.rows), member.first, member.last)
