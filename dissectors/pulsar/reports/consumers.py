"""The report of consumers: who had one, on which subscription, what it was sent and acknowledged, and how it ended.

Facts (ServerCnx.handleSubscribe, Consumer, PersistentSubscription). A SEEK makes the broker close all consumers of the
subscription, which then subscribe again. REDELIVER_UNACKNOWLEDGED_MESSAGES without ids returns all unacknowledged
messages. redelivery_count counts for Shared and Key_Shared alone. An ACK has an answer if the client asked for one; the
C++ client names an entry once for each of its messages. fields.py explains how permits are counted,
dissectors/outstanding.py how acknowledgements are.

Estimates. Unacknowledged messages are those that were delivered on this connection and not acknowledged there; the
broker counts them for Shared and Key_Shared alone. Acknowledgements of a transaction count at once, even if it is
aborted later. A consumer that was created before the capture has no number of permits; its acknowledgements of earlier
messages are counted in `acks_beside`.
"""

from __future__ import annotations

from collections.abc import Iterable

from dissectors.correlator import MessageEvent
from dissectors.outstanding import Acknowledgement, Outstanding
from dissectors.pulsar.reports.fields import (
    PULSAR,
    ConsumerPermits,
    Place,
    count_messages,
    read_ack_set,
    read_place,
    read_text,
    subscribe_to,
)
from dissectors.pulsar.reports.members import (
    OPEN,
    REFUSED,
    SENTENCE,
    UNSUBSCRIBED,
    ConnectionMember,
    DurationStatistics,
    MemberReport,
    for_member,
)
from dissectors.report import column
from dissectors.slotted import field, make_slotted
from dissectors.values import number, structs
from dissectors.wire.row_sentence import RowSentence

MOST_BACK = 65_536
"""Entries of a consumer that are remembered because it asked for them again."""

CUMULATIVE = ("Cumulative", 1)
"""The type of an ACK that acknowledges all up to a place, by name and number."""


@make_slotted(frozen=False, eq=False)
class ConsumerRow(ConnectionMember):
    """back: entries that it asked to be sent again, until they are. losses: its connection's when it was made."""

    topic: str | None = column("text", "nothing where it was made before the capture")
    subscription: str | None = column("text", "the same")
    type: str | None = column("text", "Exclusive, Shared, Failover or Key_Shared")
    state: str = column("text", "open (at the end), closed, unsubscribed, lost (its connection ended), refused", OPEN)
    error: str | None = column("text", "with which error it was refused")
    unacked: int = column("number", "messages that are delivered and not acknowledged, of the last 200,000 entries", 0)
    permits: int | None = column(
        *("number", "permits left; nothing where it was made before the capture, or bytes are missing"),
        of="budget.now",
    )
    delivered: int = column("number", "messages that it was sent; of a batch those that are not acknowledged", 0)
    redelivered: int = column("number", "of these, those that it was sent before, or another, by the broker's count", 0)
    acked: int = column("number", "messages of these that it acknowledged one by one", 0)
    acked_up_to: int = column("number", "messages of these that it acknowledged with all before them", 0)
    median_ns: int | None = column(
        "duration", "from MESSAGE to ACK of the whole entry: one in the middle, to 2 %", of="times.median"
    )
    longest_ns: int | None = column("duration", "the longest", of="times.longest")
    consumer: str | None = column("text", "its name")
    active: str | None = column("text", "yes or no: whether it is the one that is served, by ACTIVE_CONSUMER_CHANGE")
    by: str | None = column("text", "who ended it: client or broker")
    moved_to: str | None = column("text", "where the broker that closed it sent the client")
    made: int | None = column("time", "when SUBSCRIBE was answered")
    made_after_ns: int | None = column("duration", "how long that took")
    ended: int | None = column("time", "when that was")
    granted: int = column("number", "permits that FLOWs gave", of="budget.granted")
    least_permits: int | None = column(
        "number", "the fewest since its first FLOW; a batch may take more than there are", of="budget.least"
    )
    empty_since: int | None = column("time", "since when it has none")
    starved_ns: int = column("duration", "how long it had none, in all", of="budget.starved")
    longest_starved_ns: int = column("duration", "how long at one time", of="budget.longest")
    asked_again: int = column("number", "entries that it asked to be sent again", 0)
    acks_beside: int = column(
        "number", "ids in ACKs of what was not outstanding: delivered before, acknowledged twice", 0
    )
    acks_failed: int = column("number", "ACKs that were answered with an error", 0)
    most_unacked: int = column("number", "the most of them", 0)
    seeks: int = column("number", "SEEKs", 0)
    client: str = column("text", "its address and port", "")
    consumer_id: int = column("number", "its number on the connection", of="number")
    version: str | None = column("text", "how the client calls itself")
    server: str = column("text", "the other end of the connection: a broker, or a proxy", "")
    broker: str | None = column("text", "the broker that a proxy leads to, as CONNECT says")
    losses: int = 0
    budget: ConsumerPermits = field(default_factory=lambda: ConsumerPermits(known=False))
    back: set[Place] = field(default_factory=set)
    times: DurationStatistics = field(default_factory=DurationStatistics)

    @property
    def reader(self) -> tuple[int, int]:
        """The key of its outstanding entries."""
        return self.stream, self.number


class ConsumerReport(MemberReport[ConsumerRow]):
    """The report of consumers: one row for each consumer on a connection."""

    name = "consumers"
    about = "each consumer on a connection: its subscription, its permits, what it was sent and acknowledged"
    needs = PULSAR
    row = ConsumerRow
    worst = ("acks_failed", "unacked", "longest_ns")
    selects = (("topic", "pulsar.topic"), ("client", "address"), ("consumer_id", "pulsar.consumer_id"))
    unnamed = ("CONNECT", "FLOW", "MESSAGE", "ACK", "ACK_RESPONSE", "ACTIVE_CONSUMER_CHANGE")
    sentence = RowSentence("{word} consumer {consumer_id=}( on {subscription})" + SENTENCE)
    noun = "consumer"
    resource = ("Consumer", 1)

    def _begin(self) -> None:
        super()._begin()
        self.outstanding: Outstanding[tuple[ConsumerRow, int]] = Outstanding(_forget_entry)
        """Whose an entry is, and when it was delivered."""

    def close(self, row: ConsumerRow) -> None:
        """Settles what is still open in a row and emits it."""
        self.outstanding.drop(row.reader)
        row.empty_since = row.budget.empty
        row.budget.end_starving(row.ended or row.last)
        super().close(row)

    def find_member(self, event: MessageEvent) -> ConsumerRow | None:
        """Finds a message's consumer.

        Where bytes are missing before the message, the number of permits is forgotten.
        """
        found = super().find_member(event)
        if found is not None and found.budget.known and event.losses != found.losses:
            found.budget.forget()
        return found

    def ask(self, member: ConsumerRow, event: MessageEvent) -> None:
        """Reads what SUBSCRIBE says of a new consumer."""
        values = event.values
        member.losses, member.budget = event.losses, ConsumerPermits(known=True)
        member.topic, member.subscription = read_text(values, "topic"), read_text(values, "subscription")
        member.type, member.consumer = read_text(values, "subType"), read_text(values, "consumer_name")

    def receive_answer(self, event: MessageEvent) -> None:
        """Handles SUCCESS or ERROR, the answer to the request that a consumer waits for."""
        found, makes = self.take_request(event) or (None, False)
        if found is None:
            return
        found.hear(event)
        if event.operation == "ERROR":
            if makes:
                found.refuse(event, REFUSED, read_text(event.values, "error"))
            else:
                found.note("error", event)
                found.stay()
        elif makes:
            found.begin(event)

    def receive_flow(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Adds the permits of a FLOW."""
        found.budget.grant(number(event.values, "messagePermits"), event.time)

    def receive_message(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Counts a MESSAGE and takes its permits."""
        values = event.values
        count, place = count_messages(values), read_place(values.get("message_id"))
        found.budget.take(count, event.time)
        found.delivered += count
        is_again = number(values, "redelivery_count") > 0
        if place is not None:
            bits = read_ack_set(values.get("ack_set"))
            before = self.outstanding.deliver(found.reader, place, (found, event.time), count, bits)
            found.unacked += count - (before.messages if before else 0)
            found.most_unacked = max(found.most_unacked, found.unacked)
            is_again = is_again or before is not None or place in found.back
            found.back.discard(place)
        if is_again:
            found.redelivered += count

    def receive_ack(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Removes what an ACK names from the outstanding entries."""
        cumulative = event.values.get("ack_type") in CUMULATIVE
        named: set[Place] = set()
        for each in structs(event.values.get("message_id")):
            place, unacknowledged = read_place(each), read_ack_set(each.get("ack_set"))
            if place is None or (unacknowledged is None and place in named):
                continue
            named.add(place)
            if cumulative:
                done = self.outstanding.acknowledge_to(found.reader, place, unacknowledged)
                found.acked_up_to += _acknowledge_entries(found, done, event.time)
            else:
                one = self.outstanding.acknowledge(found.reader, place, unacknowledged)
                done = [] if one is None else [one]
                found.acked += _acknowledge_entries(found, done, event.time)
            found.acks_beside += not done

    def receive_ack_response(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Counts an ACK_RESPONSE with an error."""
        found.acks_failed += read_text(event.values, "error") is not None

    def receive_redeliver(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Handles REDELIVER_UNACKNOWLEDGED_MESSAGES: these messages are no longer unacknowledged."""
        found.note("redeliver", event)
        ids = structs(event.values.get("message_ids"))
        places = [place for place in map(read_place, ids) if place is not None]
        for place in places:
            taken = self.outstanding.acknowledge(found.reader, place)
            found.unacked -= taken.messages if taken else 0
        if not ids:
            places = self.outstanding.drop(found.reader)
            found.unacked = 0
        found.asked_again += len(places)
        if len(found.back) + len(places) <= MOST_BACK:
            found.back.update(places)

    def receive_seek(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Counts a SEEK, by which the consumer moves to another position, and awaits its answer."""
        found.note("seek", event)
        found.seeks += 1
        self.await_answer(event, (found, False))

    def receive_unsubscribe(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Ends a consumer by UNSUBSCRIBE."""
        found.close(event, UNSUBSCRIBED)
        self.await_answer(event, (found, False))

    def receive_close(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Notes CLOSE_CONSUMER of either side."""
        found.close(event)

    def receive_change(self, found: ConsumerRow, event: MessageEvent) -> None:
        """Notes from ACTIVE_CONSUMER_CHANGE whether the consumer is served."""
        found.active = "yes" if event.values.get("is_active") is True else "no"

    on = (
        subscribe_to("CONNECT", MemberReport.connect, "proxy_to_broker_url")
        | subscribe_to(
            *("SUBSCRIBE", MemberReport.ask_for, "topic", "subscription", "subType", "consumer_id"), "consumer_name"
        )
        | subscribe_to("SUCCESS", receive_answer)
        | subscribe_to("ERROR", receive_answer, "error")
        | subscribe_to("FLOW", for_member(receive_flow), "consumer_id", "messagePermits")
        | subscribe_to(
            *("MESSAGE", for_member(receive_message), "consumer_id", "message_id", "redelivery_count", "ack_set"),
            ("metadata", "num_messages_in_batch"),
        )
        | subscribe_to("ACK", for_member(receive_ack), "consumer_id", "ack_type", "message_id")
        | subscribe_to("ACK_RESPONSE", for_member(receive_ack_response), "consumer_id", "error")
        | subscribe_to("REDELIVER_UNACKNOWLEDGED_MESSAGES", for_member(receive_redeliver), "consumer_id", "message_ids")
        | subscribe_to("SEEK", for_member(receive_seek), "consumer_id")
        | subscribe_to("UNSUBSCRIBE", for_member(receive_unsubscribe), "consumer_id")
        | subscribe_to(
            *("CLOSE_CONSUMER", for_member(receive_close), "consumer_id", "assignedBrokerServiceUrl"),
            "assignedBrokerServiceUrlTls",
        )
        | subscribe_to("ACTIVE_CONSUMER_CHANGE", for_member(receive_change), "consumer_id", "is_active")
        | subscribe_to(
            *("TOPIC_MIGRATED", MemberReport.migrate, "resource_id", "resource_type", "brokerServiceUrl"),
            "brokerServiceUrlTls",
        )
    )


def _forget_entry(thing: tuple[ConsumerRow, int], messages: int) -> None:
    thing[0].unacked -= messages


def _acknowledge_entries(
    found: ConsumerRow, done: Iterable[Acknowledgement[tuple[ConsumerRow, int]]], time: int
) -> int:
    """Entries were acknowledged; how many messages."""
    messages = 0
    for each in done:
        messages += each.messages
        if each.whole:
            found.times.add(time - each.thing[1])
    found.unacked -= messages
    return messages
