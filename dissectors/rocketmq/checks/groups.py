"""Members of a group with different subscriptions, and clients that fall silent.

Facts (ConsumerManager, ConsumerGroupInfo, ClientHousekeepingService). In a heartbeat each 30 s, a client tells every
broker its groups and their subscriptions. A broker keeps one subscription for a topic in a group, the one with the
latest subVersion, so members with different subscriptions replace each other's in turns. It drops a client that has
sent no heartbeat for 120 s, checking every 10 s. A heartbeat with withoutSub repeats the one before (version 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dissectors.correlator import SECOND, BoundedTable, ConnectionEnd, MessageEvent, Moment
from dissectors.rocketmq.labels import RETRY
from dissectors.rocketmq.reports.fields import ASKS, RocketmqCheck, read_header, subscribe_to
from dissectors.slotted import make_slotted
from dissectors.values import struct, structs, text

EXPIRED = 120 * SECOND
"""What a broker waits for a heartbeat."""

MOST_MEMBERS = 256
"""Of a group, that are compared."""

MOST_REPORTED = 1024
"""Pairs of members of which something was said."""

MOST_SHOWN = 3
"""Topics in a sentence."""

_BEAT, _LEAVE = "HEART_BEAT", "UNREGISTER_CLIENT"
_BROADCASTING = "BROADCASTING"

_DATA = ("body", "consumerDataSet")
_CONSUMERS = (
    *((*_DATA, name) for name in ("groupName", "messageModel")),
    *((*_DATA, "subscriptionDataSet", name) for name in ("topic", "subString", "expressionType")),
)
_NOTHING = "nothing"

_Expressions = dict[str, str]
"""Expressions by topic."""


@make_slotted(frozen=False, eq=False)
class _Member:
    """Of a group: what it subscribes to, and whether every member gets everything."""

    wishes: _Expressions
    broadcasts: bool


class _Difference(NamedTuple):
    """Of two members: whether one of them broadcasts, and in what else they differ."""

    is_mixed: bool
    what: str


_ALIKE = _Difference(False, "")


class GroupMembers(RocketmqCheck):
    """Finds members of a group that subscribe differently, and clients that fall silent."""

    def _begin(self) -> None:
        self.groups: BoundedTable[tuple[str, str], dict[str, _Member]] = BoundedTable(make=dict)
        self.beats: BoundedTable[tuple[str, str], Moment] = BoundedTable()
        """By server and client the last heartbeat."""
        self.beating: BoundedTable[int, Moment] = BoundedTable()
        """The same by connection."""
        self.reported: BoundedTable[tuple[str, str], dict[tuple[str, str], _Difference]] = BoundedTable(make=dict)
        """By group what was said of two members."""

    def receive_leave(self, event: MessageEvent) -> None:
        """Forgets a client that leaves its group."""
        header = read_header(event.values)
        client, group = text(header, "clientID") or "", text(header, "consumerGroup") or ""
        self.groups.find((event.server, group)).pop(client, None)
        self.beats.pop((event.server, client))
        self.beating.pop(event.stream)

    def receive_beat(self, event: MessageEvent) -> None:
        """Compares what a heartbeat says with the other members of the group."""
        body = struct(event.values, "body")
        client = text(body, "clientID") or event.client
        before = self.beats.get((event.server, client))
        silent = before.measure_until(event) if before is not None else None
        if silent is not None and silent > EXPIRED:
            self.find("silent", client=client, took=silent)
        self.beats[event.server, client] = self.beating[event.stream] = event.moment
        for each in structs(body.get("consumerDataSet")) if body.get("withoutSub") is not True else ():
            self.join(client, each, event)

    def leave_open(self, end: ConnectionEnd) -> None:
        """Handles an open connection whose heartbeats have stopped."""
        before = self.beating.get(end.stream)
        silent = before.measure_until(end) if before is not None else None
        if silent is not None and silent > EXPIRED:
            self.find("silent", client="the client", took=silent)

    def join(self, client: str, body: Mapping[str, Any], event: MessageEvent) -> None:
        """Notes that a client is a member of a group."""
        group = event.server, text(body, "groupName") or ""
        members = self.groups.find(group)
        if client not in members and len(members) == MOST_MEMBERS:
            members.pop(next(iter(members)))
        members[client] = _Member(_read_expressions(body), body.get("messageModel") == _BROADCASTING)
        for name in members:
            beat = self.beats.get((event.server, name))
            if name != client and beat is not None and event.time - beat.time <= EXPIRED:
                self.compare(group, *sorted((name, client)))

    def compare(self, group: tuple[str, str], one: str, other: str) -> None:
        """Finds differences between two members of a group, each once."""
        mine, theirs = (self.groups.find(group)[name] for name in (one, other))
        now = _Difference(mine.broadcasts != theirs.broadcasts, "")
        if not (mine.broadcasts or theirs.broadcasts):
            now = _Difference(False, _format_difference(mine.wishes, theirs.wishes))
        reported = self.reported.find(group)
        if now == reported.get((one, other), _ALIKE) or len(reported) == MOST_REPORTED:
            return
        reported[one, other] = now
        if now.is_mixed:
            self.find("models", one=one, other=other, group=group[1])
        elif now.what:
            self.find("differs", one=one, other=other, group=group[1], what=now.what)

    on = subscribe_to(_LEAVE, ASKS, receive_leave, "clientID", "consumerGroup") | subscribe_to(
        _BEAT, ASKS, receive_beat, ("body", "clientID"), ("body", "withoutSub"), *_CONSUMERS
    )


def _read_expressions(body: Mapping[str, Any]) -> _Expressions:
    """What a heartbeat says of a group; topics of retries are each member's own affair."""
    found = {}
    for each in structs(body.get("subscriptionDataSet")):
        topic = text(each, "topic") or ""
        if not topic.startswith(RETRY):
            kind = text(each, "expressionType") or "TAG"
            found[topic] = f"{text(each, 'subString') or '*'}{'' if kind == 'TAG' else f' ({kind})'}"
    return found


def _format_difference(one: _Expressions, other: _Expressions) -> str:
    """The topics of which two members do not say the same."""
    topics = [topic for topic in sorted(one.keys() | other.keys()) if one.get(topic) != other.get(topic)]
    shown = [f"{topic}: {one.get(topic, _NOTHING)} and {other.get(topic, _NOTHING)}" for topic in topics[:MOST_SHOWN]]
    if len(topics) > MOST_SHOWN:
        shown.append(f"{len(topics) - MOST_SHOWN} topics more")
    return "; ".join(shown)
