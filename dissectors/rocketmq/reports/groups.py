"""The report of groups: their members, what these subscribe to, and how often queues were dealt anew.

Facts (ConsumerManager, ClientManageProcessor, RebalanceImpl, RebalanceLockManager). In a heartbeat every 30 s, a client
tells each broker its groups, as producer or as consumer. When the members of a group change, the broker notifies them
(NOTIFY_CONSUMER_IDS_CHANGED). Each then asks one broker for the list, and assigns the queues by itself, so all must see
the same list. A consumer in order must lock its queues, every 20 s, before it reads them. A client that stops sends
UNREGISTER_CLIENT for each group. One whose connection is closed, or that is silent for 120 s, is dropped. Since 5.x a
heartbeat may tell that nothing has changed (withoutSub), and then has no groups. For a producer that sends
transactions, the broker asks its group for their outcome.

Estimates. A client's pulls, locks and lists are assigned to it by its connection, which carries its heartbeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, for_request
from dissectors.report import MOST_NAMES, Report, add_name, column
from dissectors.rocketmq.labels import RETRY
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, ROCKETMQ, OngoingRow, read_header, subscribe_to
from dissectors.slotted import field, make_slotted
from dissectors.values import number, struct, structs, text
from dissectors.wire.row_sentence import RowSentence

PRODUCER, CONSUMER = "producer", "consumer"
OPEN, LEFT, LOST = "open", "left", "lost"

MOST_STREAMS = 1024
"""Connections of a member that are remembered."""

_BEAT, _LEAVE = "HEART_BEAT", "UNREGISTER_CLIENT"
_NOTIFY, _LIST = "NOTIFY_CONSUMER_IDS_CHANGED", "GET_CONSUMER_LIST_BY_GROUP"
_LOCK, _UNLOCK = "LOCK_BATCH_MQ", "UNLOCK_BATCH_MQ"
_DATA = {PRODUCER: "producerDataSet", CONSUMER: "consumerDataSet"}
_KINDS = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}

_Key = tuple[str, str, str]
"""Group, part in it, client id."""

_Queue = tuple[str, str, int]
"""Topic, broker, number."""


@make_slotted(frozen=False, eq=False)
class GroupMember(OngoingRow):
    """streams: connections with heartbeats. wishes: what it subscribes to, by topic. locks: queues that it holds."""

    group: str = column("text", "its name", "")
    part: str = column("text", "consumer or producer", "")
    client: str = column("text", "the client id of the member", "")
    state: str = column("text", "open (at the end), left (it said so), lost (its connections were closed)", OPEN)
    subscriptions: list[str] = column(
        *("texts", "topics, and the expressions by which messages are chosen"),
        of=lambda row: [f"{topic} {wish}" for topic, wish in row.wishes.items()],
    )
    differs: list[str] = column("texts", "topics on which other members say otherwise: a fault", default_factory=list)
    kind: str | None = column("text", "how it reads: push (by pulling for an application that is called), pull, pop")
    model: str | None = column("text", "CLUSTERING (each message to one member) or BROADCASTING (to all)")
    begins: str | None = column("text", "where a new group begins (consumeFromWhere)")
    heartbeats: int = column("number", "how often it said that it is there, over all brokers", 0)
    heartbeat: int | None = column("time", "when it did last")
    longest_silence_ns: int | None = column("duration", "between two of them")
    notified: int = column("number", "how often a broker told it that the group has changed", 0)
    lists: int = column("number", "how often it asked who is in the group, to deal the queues", 0)
    members: int | None = column("number", "how many there were at last")
    locked: int = column(
        "number", "queues that it holds the lock of, for reading in order", of=lambda row: len(row.locks)
    )
    refused: int = column("number", "queues of which it did not get the lock", 0)
    ended: int | None = column("time", "when it left, or was lost")
    addresses: dict[str, None] = column("texts", "its addresses and ports", default_factory=dict)
    brokers: dict[str, None] = column("texts", "whom it sent heartbeats", default_factory=dict)
    version: str | None = column("text", "language and version of the client")
    streams: set[int] = field(default_factory=set)
    wishes: dict[str, str] = field(default_factory=dict)
    locks: set[_Queue] = field(default_factory=set)

    def beat(self, event: MessageEvent) -> None:
        """Notes a heartbeat; a client that had left begins again with it."""
        if not self.heartbeats:
            self.note("joins", event)
        if self.state != OPEN:
            self.state, self.ended = OPEN, None
            self.note("back", event)
        elif self.heartbeat is not None:
            self.longest_silence_ns = max(self.longest_silence_ns or 0, event.time - self.heartbeat)
        self.heartbeats += 1
        self.heartbeat = event.time
        if len(self.streams) < MOST_STREAMS:
            self.streams.add(event.stream)
        add_name(self.addresses, event.client)
        add_name(self.brokers, event.server)

    def end(self, state: str, time: int) -> None:
        """Notes that the member left or was lost."""
        self.state, self.ended = state, time
        self.locks.clear()

    def subscribe(self, consumer: Mapping[str, Any], event: MessageEvent) -> None:
        """Notes what a consumer says about itself in a heartbeat."""
        kind = text(consumer, "consumeType")
        self.kind = None if kind is None else _KINDS.get(kind, kind)
        self.model, self.begins = text(consumer, "messageModel"), text(consumer, "consumeFromWhere")
        wishes = {}
        for each in structs(consumer.get("subscriptionDataSet"))[:MOST_NAMES]:
            expression = text(each, "expressionType")
            shown = "" if expression in (None, "TAG") else f" ({expression})"
            wishes[text(each, "topic") or ""] = f"{text(each, 'subString') or '*'}{shown}"
        if self.wishes and wishes != self.wishes:
            self.note("subscribes anew", event)
        self.wishes = wishes


class GroupReport(Report[GroupMember]):
    """The report of groups: one row for each member of a group."""

    name = "groups"
    about = "each member of a group of consumers or producers: subscriptions, heartbeats, rebalances, locks"
    needs = ROCKETMQ
    row = GroupMember
    sentence = RowSentence(
        "{part} {client} of group {group=} {word}: {state}, {heartbeats%counted heartbeat}"
        "(, subscribed to {subscriptions%listed})(; others say otherwise of {differs%listed})"
    )
    worst = ("refused", "longest_silence_ns")
    selects = (("group", "rocketmq.group"), ("addresses", "address"))

    def _begin(self) -> None:
        self.clients: BoundedTable[int, str] = BoundedTable()
        """By connection the id of its client."""
        self.beating: BoundedTable[int, dict[_Key, None]] = BoundedTable()
        """By connection the members whose heartbeats are on it."""

    def make(self, key: _Key, event: MessageEvent) -> GroupMember:
        """Makes the row of a key that has none yet, from its first message."""
        group, part, client = key
        return GroupMember(event.time, event.time, group=group, part=part, client=client, version=event.client_name)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Notes the end of a connection, which may be the last one of a member."""
        self.clients.pop(end.stream)
        for key in self.beating.pop(end.stream) or ():
            member = self.rows.get(key)
            if member is not None:
                member.streams.discard(end.stream)
                if not member.streams and member.state == OPEN:
                    member.end(LOST, end.time)
                    member.last = max(member.last, end.time)

    def receive_beat(self, event: MessageEvent) -> None:
        """Handles HEART_BEAT: the client names the groups in which it produces and consumes."""
        body = struct(event.values, "body")
        client = self.clients[event.stream] = text(body, "clientID") or event.client
        groups: list[tuple[_Key, Mapping[str, Any]]] = [
            ((text(each, "groupName") or "", part, client), each)
            for part, name in _DATA.items()
            for each in structs(body.get(name))
        ]
        on = self.beating.get(event.stream) or {}
        if body.get("withoutSub") is True and not groups:
            groups = [(key, {}) for key in on]
        for key, each in groups:
            member = self.find(key, event)
            member.beat(event)
            if each and member.part == CONSUMER:
                member.subscribe(each, event)
            if len(on) < MOST_NAMES:
                on[key] = None
        self.beating[event.stream] = on

    def receive_leave(self, event: MessageEvent) -> None:
        """Handles UNREGISTER_CLIENT: the client leaves its producer and consumer groups."""
        values = read_header(event.values)
        client = text(values, "clientID") or ""
        for part, name in ((PRODUCER, "producerGroup"), (CONSUMER, "consumerGroup")):
            member = self.rows.get((text(values, name) or "", part, client))
            if member is not None:
                member.hear(event)
                member.note("leaves", event)
                if member.state == OPEN:
                    member.end(LEFT, event.time)

    def receive_request(self, event: MessageEvent) -> None:
        """Handles a request about a group: a change, a list of members, locks of queues."""
        name, body = event.operation, struct(event.values, "body")
        group = text(read_header(event.values), "consumerGroup") or text(body, "consumerGroup")
        client = text(body, "clientId") or self.clients.get(event.stream)
        member = None if group is None or client is None else self.rows.get((group, CONSUMER, client))
        if member is None:
            return
        member.hear(event)
        queues = _read_queues(body.get("mqSet"))
        if name == _NOTIFY:
            member.notified += 1
            member.note("is told of a change", event)
        elif name == _UNLOCK:
            member.locks.difference_update(queues)
            member.note("unlocks", event)
        elif event.partner is not None:
            member.note("locks" if name == _LOCK else "asks who is there", event)
            self.await_answer(event, (member, len(queues)))

    def receive_locks(self, pending: tuple[GroupMember, int], event: MessageEvent) -> None:
        """Handles the answer to LOCK_BATCH_MQ."""
        member, wanted = pending
        member.hear(event)
        got = _read_queues(struct(event.values, "body").get("lockOKMQSet"))
        member.refused += max(wanted - len(got), 0)
        member.locks.update(got)

    def receive_list(self, pending: tuple[GroupMember, int], event: MessageEvent) -> None:
        """Handles the answer to GET_CONSUMER_LIST_BY_GROUP."""
        member, _ = pending
        member.hear(event)
        ids = struct(event.values, "body").get("consumerIdList")
        if isinstance(ids, list):
            member.lists += 1
            member.members = len(ids)

    def finish(self) -> None:
        """Closes all rows, once it is known whose subscriptions differ."""
        by_group: dict[str, list[GroupMember]] = {}
        for member in self.rows.values():
            by_group.setdefault(member.group, []).append(member)
        common = {group: _collect_wishes(members) for group, members in by_group.items()}
        for member in self.rows.values():
            if member.part == CONSUMER and member.state == OPEN:
                wished = common[member.group].items()
                member.differs = sorted(topic for topic, wishes in wished if len(wishes) > 1)[:MOST_NAMES]
            self.close(member)

    on = (
        subscribe_to(_BEAT, ASKS, receive_beat, ("body",))
        | subscribe_to(_LEAVE, ASKS, receive_leave, "clientID", "producerGroup", "consumerGroup")
        | subscribe_to(f"{_NOTIFY} {_LIST}", ASKS, receive_request, "consumerGroup")
        | subscribe_to(_LIST, ANSWERS, for_request(receive_list), ("body", "consumerIdList"))
        | subscribe_to(f"{_LOCK} {_UNLOCK}", ASKS, receive_request, ("body",))
        | subscribe_to(_LOCK, ANSWERS, for_request(receive_locks), ("body",))
    )


def _read_queues(value: object) -> list[_Queue]:
    """The queues of a list, each by what tells it from others."""
    return [
        (text(each, "topic") or "", text(each, "brokerName") or "", number(each, "queueId")) for each in structs(value)
    ]


def _collect_wishes(members: Iterable[GroupMember]) -> dict[str, set[str]]:
    """By topic what the consumers of a group, as far as they are there, subscribe to; a text without letters: not."""
    reading = [each for each in members if each.part == CONSUMER and each.state == OPEN and each.wishes]
    topics = {topic for each in reading for topic in each.wishes if not topic.startswith(RETRY)}
    return {topic: {each.wishes.get(topic, "") for each in reading} for topic in topics}
