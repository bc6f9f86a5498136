"""The story of consumers: who had one, on which subscription, what it was sent and acknowledged, and how it ended.

Facts (ServerCnx.handleSubscribe, Consumer, PersistentSubscription). A SEEK makes the broker close all consumers of the
subscription, which then subscribe again. REDELIVER_UNACKNOWLEDGED_MESSAGES without ids is for all that is
unacknowledged, and takes it back. redelivery_count counts for Shared and Key_Shared alone. An ACK has an answer where
the client asked for one; the C++ client names an entry once for each of its messages. permits.py says how permits are
counted, outstanding.py how acknowledgements are.

Estimates. What is unacknowledged is what was delivered on this connection and not acknowledged there; the broker counts
it for Shared and Key_Shared alone. What a transaction acknowledges counts at once, whatever becomes of it. A consumer
that was made before the capture has no number of permits; what it acknowledges of before is told as `acks_beside`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, Ends, MessageEvent, ReportRow, said_of
from dissectors.pulsar.reports.asked import PULSAR, Place, number, of, place_of, structs, text
from dissectors.pulsar.reports.durations import Durations
from dissectors.pulsar.reports.lines import MemberLines
from dissectors.pulsar.reports.members import REFUSED, UNSUBSCRIBED, Member, says
from dissectors.pulsar.reports.outstanding import Acked, Outstanding
from dissectors.pulsar.reports.permits import Permits, messages_in, words_of
from dissectors.slotted import field, slotted

MOST_BACK = 65_536
"""Entries of a consumer that are remembered because it asked for them again."""

_CUMULATIVE = ("Cumulative", 1)


@slotted(frozen=False, eq=False)
class _Consumer(Member):
    """back: entries that it asked to be sent again, until they are. losses: its connection's when it was made."""

    subscription: str | None = None
    kind: str | None = None
    name: str | None = None
    permits: Permits = field(init=False)
    active: str | None = None
    delivered: int = 0
    redelivered: int = 0
    asked_again: int = 0
    individually: int = 0
    cumulatively: int = 0
    beside: int = 0
    unacked: int = 0
    most: int = 0
    failed: int = 0
    seeks: int = 0
    losses: int = 0
    back: set[Place] = field(default_factory=set)
    times: Durations = field(default_factory=Durations)

    @property
    def reader(self) -> tuple[int, int]:
        """How its outstanding entries are told from those of others."""
        return self.stream, self.number

    def __post_init__(self) -> None:
        self.permits = Permits(self.seen)

    def heard(self, told: MessageEvent) -> None:
        """A message of it came; bytes may be missing before it."""
        if self.permits.known and told.losses != self.losses:
            self.permits.lost()


_Held = tuple[_Consumer, int]
"""Whose an outstanding entry is, and when it was delivered."""


class Consumers(MemberLines[_Consumer]):
    """See the module."""

    name = "consumers"
    about = "each consumer on a connection: its subscription, its permits, what it was sent and acknowledged"
    needs = PULSAR
    member = _Consumer
    resource = ("Consumer", 1)
    columns = (
        Column("topic", "text", "nothing where it was made before the capture"),
        Column("subscription", "text", "the same"),
        Column("type", "text", "Exclusive, Shared, Failover or Key_Shared"),
        Column("state", "text", "open (at the end), closed, unsubscribed, lost (its connection ended), refused"),
        Column("error", "text", "with which error it was refused"),
        Column("unacked", "number", "messages that are delivered and not acknowledged, of the last 200,000 entries"),
        Column("permits", "number", "permits left; nothing where it was made before the capture, or bytes are missing"),
        Column("delivered", "number", "messages that it was sent; of a batch those that are not acknowledged"),
        Column("redelivered", "number", "of these, those that it was sent before, or another, by the broker's count"),
        Column("acked", "number", "messages of these that it acknowledged one by one"),
        Column("acked_up_to", "number", "messages of these that it acknowledged with all before them"),
        Column("median_ns", "duration", "from MESSAGE to ACK of the whole entry: one in the middle, to 2 %"),
        Column("longest_ns", "duration", "the longest"),
        Column("consumer", "text", "its name"),
        Column("active", "text", "yes or no: whether it is the one that is served, by ACTIVE_CONSUMER_CHANGE"),
        Column("by", "text", "who ended it: client or broker"),
        Column("moved_to", "text", "where the broker that closed it sent the client"),
        Column("made", "time", "when SUBSCRIBE was answered"),
        Column("made_after_ns", "duration", "how long that took"),
        Column("ended", "time", "when that was"),
        Column("granted", "number", "permits that FLOWs gave"),
        Column(
            "least_permits",
            "number",
            "the fewest since its first FLOW; a batch may take more than there are",
        ),
        Column("empty_since", "time", "since when it has none"),
        Column("starved_ns", "duration", "how long it had none, in all"),
        Column("longest_starved_ns", "duration", "how long at one time"),
        Column("asked_again", "number", "entries that it asked to be sent again"),
        Column(
            "acks_beside", "number", "ids in ACKs of what was not outstanding: delivered before, acknowledged twice"
        ),
        Column("acks_failed", "number", "ACKs that were answered with an error"),
        Column("most_unacked", "number", "the most of them"),
        Column("seeks", "number", "SEEKs"),
        Column("client", "text", "its address and port"),
        Column("consumer_id", "number", "its number on the connection"),
        Column("version", "text", "how the client calls itself"),
        Column("server", "text", "the other end of the connection: a broker, or a proxy"),
        Column("broker", "text", "the broker that a proxy leads to, as CONNECT says"),
    )
    wants: ClassVar = {
        **of(("CONNECT",), "proxy_to_broker_url"),
        **of(("SUBSCRIBE",), "topic", "subscription", "subType", "consumer_id", "consumer_name"),
        **of(("SUCCESS",)),
        **of(("ERROR",), "error"),
        **of(("FLOW",), "consumer_id", "messagePermits"),
        **of(
            ("MESSAGE",),
            *("consumer_id", "message_id", "redelivery_count", "ack_set"),
            ("metadata", "num_messages_in_batch"),
        ),
        **of(("ACK",), "consumer_id", "ack_type", "message_id"),
        **of(("ACK_RESPONSE",), "consumer_id", "error"),
        **of(("REDELIVER_UNACKNOWLEDGED_MESSAGES",), "consumer_id", "message_ids"),
        **of(("SEEK", "UNSUBSCRIBE"), "consumer_id"),
        **of(("CLOSE_CONSUMER",), "consumer_id", "assignedBrokerServiceUrl", "assignedBrokerServiceUrlTls"),
        **of(("ACTIVE_CONSUMER_CHANGE",), "consumer_id", "is_active"),
        **of(("TOPIC_MIGRATED",), "resource_id", "resource_type", "brokerServiceUrl", "brokerServiceUrlTls"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._out: Outstanding[_Held] = Outstanding()

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """One is over when its number is given to another, or its connection ends."""
        name = told.operation or ""
        if name == "CONNECT":
            self._known.brokers.connect(told)
        elif name in ("SUCCESS", "ERROR"):
            self._answered(told)
        elif name == "TOPIC_MIGRATED":
            self._migrated(told)
        elif not isinstance(told.values.get("consumer_id"), int):
            return ()
        elif name == "SUBSCRIBE":
            self._asked(told)
        else:
            found = self._known.of(told, number(told.values, "consumer_id"))
            found.heard(told)
            _DOES[name](self, found, told)
        return self._given()

    def entry(self, found: _Consumer) -> ReportRow:
        """See MemberLines."""
        self._out.drop(found.reader)
        return _entry(found)

    def _asked(self, told: MessageEvent) -> None:
        values = told.values
        found, fresh = self._known.asks(told, number(values, "consumer_id"))
        if fresh:
            found.losses = told.losses
            found.topic, found.subscription = text(values, "topic"), text(values, "subscription")
            found.kind, found.name = text(values, "subType"), text(values, "consumer_name")

    def _answered(self, told: MessageEvent) -> None:
        found, makes = self._known.asked.take(told.partner) or (None, False)
        if found is None:
            return
        found.last = max(found.last, told.time)
        if told.operation == "ERROR":
            if makes:
                found.refuse(told, REFUSED, text(told.values, "error"))
            else:
                found.note("error", told)
                found.stays()
        elif makes:
            found.ready(told)

    def _flow(self, found: _Consumer, told: MessageEvent) -> None:
        found.permits.flow(number(told.values, "messagePermits"), told.time)

    def _message(self, found: _Consumer, told: MessageEvent) -> None:
        values = told.values
        count, place = messages_in(values), place_of(values.get("message_id"))
        found.permits.sent(count, told.time)
        found.delivered += count
        is_again = number(values, "redelivery_count") > 0
        if place is not None:
            bits = words_of(values.get("ack_set"))
            before = self._out.deliver(found.reader, place, (found, told.time), count, bits)
            found.unacked += count - (before.messages if before else 0)
            found.most = max(found.most, found.unacked)
            self._forget()
            is_again = is_again or before is not None or place in found.back
            found.back.discard(place)
        if is_again:
            found.redelivered += count

    def _forget(self) -> None:
        oldest = self._out.oldest()
        if oldest is not None:
            oldest.thing[0].unacked -= oldest.messages

    def _ack(self, found: _Consumer, told: MessageEvent) -> None:
        ids = structs(told.values.get("message_id"))
        cumulative = told.values.get("ack_type") in _CUMULATIVE
        named: set[Place] = set()
        for each in ids:
            place, kept = place_of(each), words_of(each.get("ack_set"))
            if place is None or (kept is None and place in named):
                continue
            named.add(place)
            if cumulative:
                done = self._out.acked_to(found.reader, place, kept)
                found.cumulatively += self._done(found, done, told.time)
            else:
                one = self._out.acked(found.reader, place, kept)
                done = [] if one is None else [one]
                found.individually += self._done(found, done, told.time)
            found.beside += not done

    def _done(self, found: _Consumer, done: Iterable[Acked[_Held]], time: int) -> int:
        """Entries were acknowledged; how many messages."""
        messages = 0
        for each in done:
            messages += each.messages
            if each.whole:
                found.times.add(time - each.thing[1])
        found.unacked -= messages
        return messages

    def _ack_response(self, found: _Consumer, told: MessageEvent) -> None:
        found.failed += text(told.values, "error") is not None

    def _redeliver(self, found: _Consumer, told: MessageEvent) -> None:
        found.note("redeliver", told)
        ids = structs(told.values.get("message_ids"))
        places = [place for place in map(place_of, ids) if place is not None]
        for place in places:
            taken = self._out.acked(found.reader, place, None)
            found.unacked -= taken.messages if taken else 0
        if not ids:
            places = self._out.drop(found.reader)
            found.unacked = 0
        found.asked_again += len(places)
        if len(found.back) + len(places) <= MOST_BACK:
            found.back.update(places)

    def _seek(self, found: _Consumer, told: MessageEvent) -> None:
        found.note("seek", told)
        found.seeks += 1
        self._known.awaits(told, found, makes=False)

    def _unsubscribe(self, found: _Consumer, told: MessageEvent) -> None:
        found.close(told, UNSUBSCRIBED)
        self._known.awaits(told, found, makes=False)

    def _close(self, found: _Consumer, told: MessageEvent) -> None:
        found.close(told)

    def _active(self, found: _Consumer, told: MessageEvent) -> None:
        found.active = "yes" if told.values.get("is_active") is True else "no"

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Lines name what makes, moves or ends one; see OldReport."""
        return operation not in ("CONNECT", "FLOW", "MESSAGE", "ACK", "ACK_RESPONSE", "ACTIVE_CONSUMER_CHANGE")

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        on = f" on {said['subscription']}" if said["subscription"] else ""
        return says(word, f"consumer {said['consumer_id']}{on}", said, entry.first)


_DOES: Mapping[str, Callable[[Consumers, _Consumer, MessageEvent], None]] = {
    "FLOW": Consumers._flow,
    "MESSAGE": Consumers._message,
    "ACK": Consumers._ack,
    "ACK_RESPONSE": Consumers._ack_response,
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": Consumers._redeliver,
    "SEEK": Consumers._seek,
    "UNSUBSCRIBE": Consumers._unsubscribe,
    "CLOSE_CONSUMER": Consumers._close,
    "ACTIVE_CONSUMER_CHANGE": Consumers._active,
}


def _entry(found: _Consumer) -> ReportRow:
    permits = found.permits
    empty = permits.empty
    permits.over(found.over or found.last)
    values = (
        found.topic,
        found.subscription,
        found.kind,
        found.state,
        found.error,
        found.unacked,
        permits.now,
        found.delivered,
        found.redelivered,
        found.individually,
        found.cumulatively,
        found.times.median,
        found.times.longest,
        found.name,
        found.active,
        found.by,
        found.to,
        found.made,
        found.took,
        found.over,
        permits.granted,
        permits.least,
        empty,
        permits.starved,
        permits.longest,
        found.asked_again,
        found.beside,
        found.failed,
        found.most,
        found.seeks,
        found.client,
        found.number,
        found.version,
        found.server,
        found.broker,
    )
    return ReportRow(values, tuple(found.rows), found.first, found.last)
