"""Members of a group that do not subscribe alike, and clients that fall silent.

Facts (ConsumerManager, ConsumerGroupInfo, ClientHousekeepingService). A client tells every broker in a heartbeat each
30 s which groups it is in and what they subscribe to. A broker keeps one subscription for a topic in a group, the one
with the latest subVersion, so members that differ take it from one another in turns. It drops a client that has sent
no heartbeat for 120 s, looking every 10 s. A heartbeat that says withoutSub repeats the one before (version 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.api import Role
from dissectors.check import Check, Open, Seen
from dissectors.finding import Finding
from dissectors.remembered import Remembered
from dissectors.rocketmq.checks.saying import SECOND, Made, in_header, named, of, said
from dissectors.rocketmq.reports.fields import header
from dissectors.slotted import slotted
from dissectors.values import struct, structs, text

EXPIRED = 120 * SECOND
"""What a broker waits for a heartbeat."""

MOST_MEMBERS = 256
"""Of a group, that are compared."""

MOST_SAID = 1024
"""Pairs of members of which something was said."""

MOST_SHOWN = 3
"""Topics in a sentence."""

_BEAT, _LEAVE = "HEART_BEAT", "UNREGISTER_CLIENT"
_BROADCASTING, _RETRY = "BROADCASTING", "%RETRY%"

_NOTHING = "nothing"

_Wishes = dict[str, str]
"""Expressions by topic."""


@slotted(frozen=False, eq=False)
class _Member:
    """Of a group: what it subscribes to, and whether every member gets everything."""

    wishes: _Wishes
    broadcasts: bool


class _Difference(NamedTuple):
    """Of two members: whether one of them broadcasts, and in what else they differ."""

    is_mixed: bool
    what: str


_ALIKE = _Difference(False, "")


class _Beat(NamedTuple):
    """The last heartbeat of a client, or on a connection. losses: as Seen has them."""

    time: int
    losses: int


class Groups(Check):
    """See the module."""

    wants = of(Role.REQUEST, [_BEAT, _LEAVE]) | of(Role.ONEWAY, [_BEAT, _LEAVE])
    paths = in_header("clientID", "consumerGroup") | {
        ("body", "clientID"),
        ("body", "withoutSub"),
        ("body", "consumerDataSet", "groupName"),
        ("body", "consumerDataSet", "messageModel"),
        ("body", "consumerDataSet", "subscriptionDataSet", "topic"),
        ("body", "consumerDataSet", "subscriptionDataSet", "subString"),
        ("body", "consumerDataSet", "subscriptionDataSet", "expressionType"),
    }

    def __init__(self) -> None:
        """No members."""
        self._groups: Made[tuple[str, str], dict[str, _Member]] = Made(dict)
        self._beats: Remembered[tuple[str, str], _Beat] = Remembered()
        self._of: Remembered[int, _Beat] = Remembered()
        """By connection."""
        self._said: Made[tuple[str, str], dict[tuple[str, str], _Difference]] = Made(dict)
        """By group what was said of two members."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A heartbeat, or a client that leaves."""
        if named(seen.context.code) == _LEAVE:
            told = header(seen.values)
            client, group = text(told, "clientID") or "", text(told, "consumerGroup") or ""
            self._groups.of((seen.server, group)).pop(client, None)
            self._beats.take((seen.server, client))
            self._of.take(seen.stream)
            return
        body = struct(seen.values, "body")
        client = text(body, "clientID") or seen.client
        yield from self._beaten(client, seen)
        if body.get("withoutSub") is True:
            return
        for each in structs(body.get("consumerDataSet")):
            yield from self._joined(client, each, seen)

    def still_open(self, connection: Open) -> Iterator[Finding]:
        """A connection on which heartbeats came, and come no more."""
        beat = self._of.get(connection.stream)
        if beat is not None and connection.time - beat.time > EXPIRED and beat.losses == connection.losses:
            yield said("silent", client="the client", took=connection.time - beat.time)

    def _beaten(self, client: str, seen: Seen) -> Iterator[Finding]:
        beat = self._beats.get((seen.server, client))
        if beat is not None and seen.time - beat.time > EXPIRED and beat.losses == seen.losses:
            yield said("silent", client=client, took=seen.time - beat.time)
        beat = _Beat(seen.time, seen.losses)
        self._beats.keep((seen.server, client), beat)
        self._of.keep(seen.stream, beat)

    def _joined(self, client: str, told: Mapping[str, Any], seen: Seen) -> Iterator[Finding]:
        group = text(told, "groupName") or ""
        members = self._groups.of((seen.server, group))
        if client not in members and len(members) == MOST_MEMBERS:
            members.pop(next(iter(members)))
        members[client] = _Member(_wishes(told), told.get("messageModel") == _BROADCASTING)
        for name in members:
            beat = self._beats.get((seen.server, name))
            if name != client and beat is not None and seen.time - beat.time <= EXPIRED:
                yield from self._compared((seen.server, group), *sorted((name, client)))

    def _compared(self, group: tuple[str, str], one: str, other: str) -> Iterator[Finding]:
        """What is wrong with two members of a group, if that was not said yet."""
        mine, theirs = (self._groups.of(group)[name] for name in (one, other))
        now = _Difference(mine.broadcasts != theirs.broadcasts, "")
        if not (mine.broadcasts or theirs.broadcasts):
            now = _Difference(False, _difference(mine.wishes, theirs.wishes))
        told = self._said.of(group)
        if now == told.get((one, other), _ALIKE) or len(told) == MOST_SAID:
            return
        told[one, other] = now
        if now.is_mixed:
            yield said("models", one=one, other=other, group=group[1])
        elif now.what:
            yield said("differs", one=one, other=other, group=group[1], what=now.what)


def _wishes(told: Mapping[str, Any]) -> _Wishes:
    """What a heartbeat says of a group; topics of retries are each member's own affair."""
    found = {}
    for each in structs(told.get("subscriptionDataSet")):
        topic = text(each, "topic") or ""
        if not topic.startswith(_RETRY):
            kind = text(each, "expressionType") or "TAG"
            found[topic] = f"{text(each, 'subString') or '*'}{'' if kind == 'TAG' else f' ({kind})'}"
    return found


def _difference(one: _Wishes, other: _Wishes) -> str:
    """The topics of which two members do not say the same."""
    topics = [topic for topic in sorted(one.keys() | other.keys()) if one.get(topic) != other.get(topic)]
    shown = [f"{topic}: {one.get(topic, _NOTHING)} and {other.get(topic, _NOTHING)}" for topic in topics[:MOST_SHOWN]]
    if len(topics) > MOST_SHOWN:
        shown.append(f"{len(topics) - MOST_SHOWN} topics more")
    return "; ".join(shown)
