"""The report of pops: each message that a group popped, until when nobody else gets it, and what became of it.

Facts (PopMessageProcessor, AckMessageProcessor, ChangeInvisibleTimeProcessor, PopReviveService). A consumer that pops a
message has it alone for the invisible time, from the pop time on, both by the broker's clock. Within it the consumer
acknowledges it, by its receipt handle, or changes the time; the answer has the new one, and a new handle. A message
that is neither acknowledged nor changed in time is written to a topic of retries, and popped again, with one more in
reconsumeTimes, under the same UNIQ_KEY; in an ordered queue it is popped again from its place. Batches stored as one
message are popped as one. A handle contains the pop time; one of an earlier pop is void.

An acknowledgement counts when it is answered without error. A broker answers late ones without error too, so one after
the time is `late`, by the capture's clock: an estimate, as `expired` is. A change to an earlier end returns the
message, any other one extends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from dissectors.correlator import LIMIT, BoundedTable, MessageEvent, WeighedTable, for_request, keep_time
from dissectors.report import REPORTED, OpenRow, Report, column
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, POPS, ROCKETMQ, read_header, subscribe_to
from dissectors.rocketmq.reports.ids import (
    MOST_IDS,
    AckReceipt,
    format_offset_id,
    parse_handle,
    read_batch_receipts,
    read_properties,
    read_receipt,
    resolve_retry_topic,
)
from dissectors.slotted import make_slotted
from dissectors.values import measure_elapsed, number, struct, structs, text
from dissectors.wire.row_sentence import RowSentence

POPPED, ACKED, LATE, EXPIRED, AGAIN = "popped", "acked", "late", "expired", "popped again"

_MS = 1_000_000
_CHANGE = "CHANGE_MESSAGE_INVISIBLETIME"
_ANSWER_FIELDS = ("popTime", "invisibleTime", "reviveQid")
_LONGEST = (1 << 63) // _MS // 4

_Key = tuple[str | None, str | None, int, int, str]
"""Group, topic (of retries, too), queue, offset there, and the broker's address."""


class _PendingPop(NamedTuple):
    """A POP until its answer comes."""

    group: str | None
    client: str


@make_slotted(frozen=False, eq=False)
class PopRow(OpenRow):
    """A row of the report: one message of one pop.

    lies_in: the topic where it lies. time: the pop time, in ms by the broker's clock. acked_at: when it was acked.
    """

    topic: str | None = column("text", "the topic that was popped from")
    message: str | None = column("text", "its UNIQ_KEY, which the client gave it; else its offset id")
    group: str | None = column("text", "the consumer group")
    state: str = column(
        "text",
        "popped (its time is not over), acked, late (acked when it was over), expired, popped again (by anybody of "
        "the group)",
        POPPED,
    )
    retry_topic: str | None = column(
        *("text", "the topic of retries in which it lies, where that is another"),
        of=lambda pop: pop.lies_in if pop.lies_in != pop.topic else None,
    )
    queue: int = column("number", "the queue in which it lies", 0)
    offset: int = column("number", "where in that queue", 0)
    client: str = column("text", "the address that popped it", "")
    broker: str = column("text", "the address of the broker", "")
    popped: int = column("time", "when the answer with it came", of="first")
    invisible_ns: int = column("duration", "for how long nobody else gets it, as it was popped", 0)
    until: int = column("time", "when that is over, by the last change, counted from the answer that told it", 0)
    revive_queue: int = column("number", "the queue of the broker's own topic in which it waits to be revived", 0)
    again: int = column("number", "how often it was given back before, as the broker counts (reconsumeTimes)", 0)
    extended: int = column("number", "changes by which it has more time", 0)
    handed_back: int = column("number", "changes by which its time is over sooner", 0)
    ack_ns: int | None = column(
        *("duration", "from the answer with it to its acknowledgement"),
        of=lambda pop: measure_elapsed(pop.first, pop.acked_at),
    )
    handle: str | None = column("text", "the last receipt handle that was seen of it")
    error: str | None = column("text", "the first error that an acknowledgement or change was answered with")
    pop: int = column("message", "the answer with it", 0)
    ack: int | None = column("message", "its acknowledgement")
    lies_in: str | None = None
    time: int = 0
    acked_at: int | None = None


class _PendingNaming(NamedTuple):
    """What names pops, until its answer comes. event: without values, which may be many."""

    event: MessageEvent
    found: list[PopRow]


def _weigh_pending(pending: _PendingPop | _PendingNaming) -> int:
    return len(pending.found) if isinstance(pending, _PendingNaming) else 1


class PopReport(Report[PopRow]):
    """The report of pops. A row is closed when its message is popped again, even if it was acknowledged."""

    name = "pops"
    about = "each message that was popped: until when nobody else gets it, and whether it was acknowledged"
    needs = ROCKETMQ
    row = PopRow
    sentence = RowSentence(
        "{word}: message ({message=}|None)( of {topic})( by {group}), {state}(, after {ack_ns%lasting}), "
        "it has {invisible_ns%lasting}(, extended {extended%many time})(, {error})"
    )
    worst = ("again", "ack_ns")

    def _begin(self) -> None:
        self.requests = WeighedTable(_weigh_pending, 2 * LIMIT)
        self.now = 0
        self.named: BoundedTable[tuple[str | None, str], _Key] = BoundedTable(self.limit)
        """By group and what it is called where a message was popped last."""

    def close(self, row: PopRow) -> None:
        """Settles what is still open in a row and emits it."""
        if row.state == POPPED and self.now > row.until:
            row.state = EXPIRED
        super().close(row)

    def receive_request(self, event: MessageEvent) -> None:
        """Notes who sent a POP_MESSAGE."""
        self.await_answer(event, _PendingPop(text(read_header(event.values), "consumerGroup"), event.client))

    def receive_messages(self, pending: _PendingPop, event: MessageEvent) -> None:
        """Makes a row for each message in the answer to a POP."""
        for each in structs(struct(event.values, "body").get("messages")):
            self.add(event, pending, read_header(event.values), each)

    def add(
        self, event: MessageEvent, pending: _PendingPop, header: Mapping[str, Any], each: Mapping[str, Any]
    ) -> None:
        """Adds one of the messages that were popped."""
        own, group, topic = read_properties(each.get("properties")), pending.group, text(each, "topic")
        queue, offset = number(each, "queueId"), number(each, "queueOffset")
        invisible, revive = number(header, "invisibleTime"), number(header, "reviveQid")
        handle = parse_handle(text(own, "POP_CK"))
        if handle is not None:
            queue, offset, invisible, revive = handle.queue, handle.offset, handle.invisible, handle.revive
        lies_in = resolve_retry_topic(topic, group, handle.kind if handle else "0")
        key = group, lies_in, queue, offset, event.server
        place = format_offset_id((text(each, "storeHost") or "", number(each, "commitLogOffset"), 0))
        called = text(own, "UNIQ_KEY") or place
        self.pop_again(event, group, called, key)
        wait = _convert_wait(invisible)
        pop = PopRow(
            event.time, event.time, topic=topic, message=called, group=group, queue=queue, offset=offset,
            client=pending.client, broker=event.server, invisible_ns=wait, until=event.time + wait, revive_queue=revive,
            again=number(each, "reconsumeTimes"), handle=handle.text if handle else None, pop=event.row,
            lies_in=lies_in, time=number(header, "popTime"),
        )  # fmt: skip
        pop.note("popped", event)
        self.rows[key] = pop
        if called is not None:
            self.named[group, called] = key

    def pop_again(self, event: MessageEvent, group: str | None, called: str | None, key: _Key) -> None:
        """Ends earlier pops of the message at this place or with this name."""
        older = {key, None if called is None else self.named.get((group, called))}
        for each in older:
            before = self.rows.pop(each)
            if before is not None:
                if before.state == POPPED:
                    before.state = AGAIN
                    before.note("popped again", event)
                self.close(before)

    def receive_ack(self, event: MessageEvent) -> None:
        """Handles ACK_MESSAGE or CHANGE_MESSAGE_INVISIBLETIME, which name one popped message by its receipt."""
        self.name_pops([read_receipt(read_header(event.values))], event)

    def receive_batch_ack(self, event: MessageEvent) -> None:
        """Handles BATCH_ACK_MESSAGE, which names several popped messages by their receipts."""
        self.name_pops(islice(read_batch_receipts(struct(event.values, "body")), MOST_IDS), event)

    def name_pops(self, receipts: Iterable[AckReceipt], event: MessageEvent) -> None:
        """Notes which pops a request names; its answer says what becomes of them."""
        shown, found = text(read_header(event.values), "extraInfo"), []
        for each in receipts:
            pop = self.rows.get((each.group, each.topic, each.queue, each.offset, event.server))
            if pop is not None and each.time not in (None, pop.time):
                pop.note("old handle", event)
            elif pop is not None:
                pop.handle = shown or pop.handle
                found.append(pop)
        self.await_answer(event, _PendingNaming(event._replace(values={}), found))
        if event.partner is None:
            self.acknowledge(event, found)

    def acknowledge(self, event: MessageEvent, found: Iterable[PopRow]) -> None:
        """Notes that pops are acknowledged."""
        for pop in found:
            pop.note("acked", event)
            if pop.acked_at is None:
                pop.acked_at, pop.ack = event.time, event.row
                pop.state = LATE if event.time > pop.until else ACKED

    def receive_acked(self, naming: _PendingNaming, event: MessageEvent) -> None:
        """Handles the answer to an acknowledgement."""
        if event.error is None:
            self.acknowledge(*naming)
        _mark_failed(event, naming.found)

    def receive_changed(self, naming: _PendingNaming, event: MessageEvent) -> None:
        """Handles the answer to a change."""
        _mark_failed(event, naming.found)
        if event.error is not None:
            return
        header = read_header(event.values)
        until = event.time + _convert_wait(number(header, "invisibleTime"))
        for pop in naming.found:
            sooner = until < pop.until
            pop.note("handed back" if sooner else "extended", event)
            pop.handed_back += sooner
            pop.extended += not sooner
            pop.until, pop.revive_queue, pop.time = until, number(header, "reviveQid"), number(header, "popTime")

    on = keep_time(
        subscribe_to(POPS, ASKS, receive_request, "consumerGroup")
        | subscribe_to(POPS, ANSWERS, for_request(receive_messages, _PendingPop), *_ANSWER_FIELDS, ("body", "messages"))
        | subscribe_to(
            f"ACK_MESSAGE {_CHANGE}", ASKS, receive_ack, "consumerGroup", "topic", "queueId", "offset", "extraInfo"
        )
        | subscribe_to("BATCH_ACK_MESSAGE", ASKS, receive_batch_ack, ("body", "acks"))
        | subscribe_to("ACK_MESSAGE BATCH_ACK_MESSAGE", ANSWERS, for_request(receive_acked, _PendingNaming), REPORTED)
        | subscribe_to(_CHANGE, ANSWERS, for_request(receive_changed, _PendingNaming), *_ANSWER_FIELDS, REPORTED)
    )


def _convert_wait(milliseconds: int) -> int:
    """How long nobody else gets a message, ns."""
    return min(max(milliseconds, 0), _LONGEST) * _MS


def _mark_failed(event: MessageEvent, found: Iterable[PopRow]) -> None:
    """What an error is of."""
    if event.error is not None:
        for pop in found:
            pop.error = pop.error or event.error[1]
            pop.note("refused", event)
