"""Producers and consumers that a broker closes: how long their clients are without them, and where they go on.

Facts (ServerCnx, ConnectionHandler). A broker that unloads or deletes a topic closes its producers and consumers on all
connections (CLOSE_PRODUCER, CLOSE_CONSUMER). A client then looks the topic up, and asks the new broker for the same
producer or consumer under the same number, which is unique in the client. A SEEK also closes the consumers of its
subscription, because they must begin elsewhere; that is not a move.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.correlator import SECOND, BoundedTable, ConnectionEnd, MessageEvent, NumberedKey, for_request
from dissectors.message import Role
from dissectors.pulsar.reports.fields import PulsarCheck, read_text, subscribe_to
from dissectors.values import number

LONG = 5 * SECOND
"""Nanoseconds without a topic from which on it is more than an ordinary move."""

_SEEKING = 10 * SECOND
"""Nanoseconds behind a SEEK within which consumers of the subscription are closed because of it."""


class _Member(NamedTuple):
    """A producer, or a consumer, whose subscription is named. who: for people; key: what it is to its client."""

    who: str
    topic: str
    subscription: str | None
    key: tuple[str, str, int, str]


class _ClosedMember(NamedTuple):
    """A member that a broker closed: when (ns since 1970), which broker and on which connection."""

    member: _Member
    time: int
    server: str
    stream: int


class TopicMoves(PulsarCheck):
    """Finds producers and consumers that a broker closes."""

    def _begin(self) -> None:
        self.producers: BoundedTable[NumberedKey, _Member] = BoundedTable()
        self.consumers: BoundedTable[NumberedKey, _Member] = BoundedTable()
        self.closed: BoundedTable[tuple[str, str, int, str], _ClosedMember] = BoundedTable()
        self.sought: BoundedTable[tuple[str, str | None], int] = BoundedTable()
        """By topic and subscription when a SEEK was asked for."""

    def receive_producer(self, event: MessageEvent) -> None:
        """Notes whose a new producer is."""
        self.note_member(self.producers, "producer", number(event.values, "producer_id"), event)

    def receive_subscribe(self, event: MessageEvent) -> None:
        """Notes whose a new consumer is."""
        self.note_member(self.consumers, "consumer", number(event.values, "consumer_id"), event)

    def note_member(
        self, table: BoundedTable[NumberedKey, _Member], kind: str, named: int, event: MessageEvent
    ) -> None:
        """Notes a producer or consumer that a client asks for, and waits for the answer."""
        topic, subscription = read_text(event.values, "topic") or "", read_text(event.values, "subscription")
        who = f"{kind} {named}" + (f" (subscription {subscription})" if subscription else "")
        host = event.client.rpartition(":")[0]
        member = table[event.stream, named] = _Member(who, topic, subscription, (host, kind, named, topic))
        self.await_answer(event, member)

    def receive_answer(self, member: _Member, event: MessageEvent) -> None:
        """Finds how long a client was without a producer or consumer that it gets again."""
        if event.error is not None or event.values.get("producer_ready") is False:
            return
        closed = self.closed.pop(member.key)
        if closed is not None:
            took = event.time - closed.time
            where = "" if event.server == closed.server else f", at {event.server}"
            sentence = "away" if took >= LONG else "closed"
            self.find(sentence, about=f"topic {member.topic}", **_describe(closed), took=took, where=where)

    def receive_seek(self, event: MessageEvent) -> None:
        """Notes that the consumers of a subscription will be closed because they begin elsewhere."""
        member = self.consumers.get((event.stream, number(event.values, "consumer_id")))
        if member is not None:
            self.sought[member.topic, member.subscription] = event.time

    def receive_close_producer(self, event: MessageEvent) -> None:
        """Notes a producer that is closed."""
        self.close(self.producers.pop((event.stream, number(event.values, "producer_id"))), event)

    def receive_close_consumer(self, event: MessageEvent) -> None:
        """Notes a consumer that is closed."""
        self.close(self.consumers.pop((event.stream, number(event.values, "consumer_id"))), event)

    def close(self, member: _Member | None, event: MessageEvent) -> None:
        """Notes what a broker closes; what a client closes itself is done."""
        if member is None:
            return
        if event.context.role is not Role.PUSH:
            self.closed.pop(member.key)
            return
        sought = self.sought.get((member.topic, member.subscription))
        if member.subscription is None or sought is None or event.time - sought > _SEEKING:
            self.closed[member.key] = _ClosedMember(member, event.time, event.server, event.stream)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Reports topics that clients had not opened again when the connection ended on which they were closed."""
        self.report_missing(end, "the connection ended")

    def leave_open(self, end: ConnectionEnd) -> None:
        """Finds what clients have not got again when the capture ends."""
        self.report_missing(end, "the capture ends")

    def report_missing(self, end: ConnectionEnd, when: str) -> None:
        """Reports what a broker closed on a connection and no client got again."""
        for closed in list(self.closed.values()):
            if closed.stream == end.stream:
                self.closed.pop(closed.member.key)
                topic, took = closed.member.topic, end.time - closed.time
                if took >= LONG:
                    self.find("gone", about=f"topic {topic}", **_describe(closed), took=took, end=when)

    on = (
        subscribe_to("PRODUCER", receive_producer, "producer_id", "topic", roles=(Role.REQUEST,))
        | subscribe_to("SUBSCRIBE", receive_subscribe, "consumer_id", "topic", "subscription", roles=(Role.REQUEST,))
        | subscribe_to("SEEK", receive_seek, "consumer_id", roles=(Role.REQUEST,))
        | subscribe_to(
            "PRODUCER_SUCCESS SUCCESS", for_request(receive_answer, _Member), "producer_ready", roles=(Role.RESPONSE,)
        )
        | subscribe_to("CLOSE_PRODUCER", receive_close_producer, "producer_id", roles=(Role.REQUEST, Role.PUSH))
        | subscribe_to("CLOSE_CONSUMER", receive_close_consumer, "consumer_id", roles=(Role.REQUEST, Role.PUSH))
    )


def _describe(closed: _ClosedMember) -> dict[str, str]:
    return {"server": closed.server, "who": closed.member.who, "topic": closed.member.topic}
