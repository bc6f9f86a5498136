"""The story of pops: each message that a group popped, until when nobody else gets it, and what became of it.

Facts (PopMessageProcessor, AckMessageProcessor, ChangeInvisibleTimeProcessor, PopReviveService). Who pops a message has
it alone for the invisible time, from the pop time on, both by the broker's clock. Within it the consumer acknowledges
it, by its receipt handle, or changes the time; the answer tells the new one, and with it a new handle. What is neither
acknowledged nor changed in time is written to a topic of retries, and popped again, with one more in reconsumeTimes,
under the same UNIQ_KEY; of a queue in order it is popped again from where it lies. Batches stored as one message are
popped as one. A handle has the pop time in it; one of an earlier pop means nothing any more.

An acknowledgement counts when it is answered without error; a broker says so, too, of one that came too late, so what
came behind the time is told as `late`, by the capture's clock: an estimate, as `expired` is. A change by which the time
is over sooner than before hands the message back, another one extends it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from dissectors.api import Role
from dissectors.old_report import REPORTED, Column, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.remembered import Remembered, Weighed
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, number, of, struct, structs, text
from dissectors.rocketmq.reports.handles import handle_of, receipt, receipts
from dissectors.rocketmq.reports.ids import MOST_IDS, id_of, properties, retry_topic
from dissectors.slotted import field, slotted
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

MOST = 65_536
"""Pops that are remembered; the oldest is told first."""

MOST_ROWS = 64
"""Messages on the wire that a line names."""

POPPED, ACKED, LATE, EXPIRED, AGAIN = "popped", "acked", "late", "expired", "popped again"

_POPS = ("POP_MESSAGE", "POP_LITE_MESSAGE")
_ACK, _BATCH_ACK, _CHANGE = "ACK_MESSAGE", "BATCH_ACK_MESSAGE", "CHANGE_MESSAGE_INVISIBLETIME"
_MS = 1_000_000
_LONGEST = (1 << 63) // _MS // 4

_Key = tuple[str | None, str | None, int, int, str]
"""Group, topic (of retries, too), queue, offset there, and the broker's address."""


class _Asked(NamedTuple):
    """A POP until its answer comes."""

    group: str | None
    client: str


@slotted(frozen=False, eq=False)
class _Pop:
    """One message of one pop. until: when its time is over, by the capture's clock; time: the pop time, ms by the
    broker's; again: as the broker counts.
    """

    key: _Key
    called: str | None
    topic: str | None
    client: str
    row: int
    first: int
    last: int
    invisible: int
    until: int
    revive: int
    again: int
    time: int
    handle: str | None
    state: str = POPPED
    extended: int = 0
    back: int = 0
    error: str | None = None
    acked: int | None = None
    ack: int | None = None
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message on the wire."""
        self.last = max(self.last, told.time)
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))

    def entry(self, now: int) -> ReportRow:
        """Its line, by the time until which was heard of anything."""
        state = EXPIRED if self.state == POPPED and now > self.until else self.state
        group, topic, queue, offset, broker = self.key
        values = (
            *(self.topic, self.called, group, state, topic if topic != self.topic else None, queue, offset),
            *(self.client, broker, self.first, self.invisible, self.until, self.revive, self.again),
            *(self.extended, self.back, None if self.acked is None else max(self.acked - self.first, 0)),
            *(self.handle, self.error, self.row, self.ack),
        )
        return ReportRow(values, tuple(self.rows), self.first, self.last)


class _Naming(NamedTuple):
    """What names pops, until its answer comes. told: without values, which may be many."""

    told: MessageEvent
    found: list[_Pop]


class Pops(OldReport):
    """See the module."""

    name = "pops"
    about = "each message that was popped: until when nobody else gets it, and whether it was acknowledged"
    needs = ROCKETMQ
    columns = (
        Column("topic", "text", "the topic that was popped from"),
        Column("message", "text", "its UNIQ_KEY, which the client gave it; else its offset id"),
        Column("group", "text", "the consumer group"),
        Column(
            "state",
            "text",
            "popped (its time is not over), acked, late (acked when it was over), expired, popped again (by anybody of "
            "the group)",
        ),
        Column("retry_topic", "text", "the topic of retries in which it lies, where that is another"),
        Column("queue", "number", "the queue in which it lies"),
        Column("offset", "number", "where in that queue"),
        Column("client", "text", "the address that popped it"),
        Column("broker", "text", "the address of the broker"),
        Column("popped", "time", "when the answer with it came"),
        Column("invisible_ns", "duration", "for how long nobody else gets it, as it was popped"),
        Column("until", "time", "when that is over, by the last change, counted from the answer that told it"),
        Column("revive_queue", "number", "the queue of the broker's own topic in which it waits to be revived"),
        Column("again", "number", "how often it was given back before, as the broker counts (reconsumeTimes)"),
        Column("extended", "number", "changes by which it has more time"),
        Column("handed_back", "number", "changes by which its time is over sooner"),
        Column("ack_ns", "duration", "from the answer with it to its acknowledgement"),
        Column("handle", "text", "the last receipt handle that was seen of it"),
        Column("error", "text", "the first error that an acknowledgement or change was answered with"),
        Column("pop", "message", "the answer with it"),
        Column("ack", "message", "its acknowledgement"),
    )
    wants: ClassVar = {
        **of(_POPS, ASKS, "consumerGroup"),
        **of(_POPS, ANSWERS, "popTime", "invisibleTime", "reviveQid", ("body", "messages")),
        **of((_ACK, _CHANGE), ASKS, "consumerGroup", "topic", "queueId", "offset", "extraInfo"),
        **of((_BATCH_ACK,), ASKS, ("body", "acks")),
        **of((_ACK, _BATCH_ACK), ANSWERS, REPORTED),
        **of((_CHANGE,), ANSWERS, "popTime", "invisibleTime", "reviveQid", REPORTED),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._over: list[ReportRow] = []
        self._now = 0
        self._open: OrderedDict[_Key, _Pop] = OrderedDict()
        self._called: Remembered[tuple[str | None, str], _Key] = Remembered(MOST)
        self._asked: Remembered[int, _Asked] = Remembered()
        self._naming: Weighed[int, _Naming] = Weighed(lambda asked: len(asked.found))
        """By row of an ACK or a change what it names."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """One is over when it is popped again; what was acknowledged, too, may be so once more."""
        self._now = max(self._now, told.time)
        does = _DOES.get((told.operation or "", told.context.role is Role.RESPONSE))
        if does is not None:
            does(self, told)
        over, self._over = self._over, []
        return over

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        for pop in self._open.values():
            yield pop.entry(self._now)

    def _ask(self, told: MessageEvent) -> None:
        if told.partner is not None:
            group = text(header(told.values), "consumerGroup")
            self._asked.keep(told.row, _Asked(group, self.ends(told.stream)[0]))

    def _got(self, told: MessageEvent) -> None:
        asked, said = self._asked.take(told.partner), header(told.values)
        if asked is None:
            return
        for each in structs(struct(told.values, "body").get("messages")):
            self._pop(told, asked, said, each)

    def _pop(self, told: MessageEvent, asked: _Asked, said: Mapping[str, Any], each: Mapping[str, Any]) -> None:
        own, group = properties(each.get("properties")), asked.group
        queue, offset = number(each, "queueId"), number(each, "queueOffset")
        invisible, revive = number(said, "invisibleTime"), number(said, "reviveQid")
        handle = handle_of(text(own, "POP_CK"))
        if handle is not None:
            queue, offset, invisible, revive = handle.queue, handle.offset, handle.invisible, handle.revive
        topic = text(each, "topic")
        key = group, retry_topic(topic, group, handle.kind if handle else "0"), queue, offset, self.ends(told.stream)[1]
        place = id_of((text(each, "storeHost") or "", number(each, "commitLogOffset"), 0))
        called = text(own, "UNIQ_KEY") or place
        self._again(told, group, called, key)
        wait = min(max(invisible, 0), _LONGEST) * _MS
        pop = _Pop(
            *(key, called, topic, asked.client, told.row, told.time, told.time, wait, told.time + wait, revive),
            *(number(each, "reconsumeTimes"), number(said, "popTime"), handle.text if handle else None),
        )
        pop.note("popped", told)
        self._open[key] = pop
        if called is not None:
            self._called.keep((group, called), key)
        if len(self._open) > MOST:
            self._over.append(self._open.popitem(last=False)[1].entry(self._now))

    def _again(self, told: MessageEvent, group: str | None, called: str | None, key: _Key) -> None:
        """What was popped before is over: what lies there, or has that name."""
        older = {key, None if called is None else self._called.get((group, called))}
        for each in older:
            before = None if each is None else self._open.pop(each, None)
            if before is not None:
                if before.state == POPPED:
                    before.state = AGAIN
                    before.note("popped again", told)
                self._over.append(before.entry(self._now))

    def _acks(self, told: MessageEvent) -> None:
        named = (
            list(islice(receipts(struct(told.values, "body")), MOST_IDS))
            if told.operation == _BATCH_ACK
            else [receipt(header(told.values))]
        )
        broker, shown = self.ends(told.stream)[1], text(header(told.values), "extraInfo")
        found = []
        for each in named:
            pop = self._open.get((each.group, each.topic, each.queue, each.offset, broker))
            if pop is not None and each.time not in (None, pop.time):
                pop.note("old handle", told)
            elif pop is not None:
                pop.handle = shown or pop.handle
                found.append(pop)
        if told.partner is None:
            self._done(told, found)
        else:
            self._naming.keep(told.row, _Naming(told._replace(values={}), found))

    def _done(self, told: MessageEvent, found: Iterable[_Pop]) -> None:
        for pop in found:
            pop.note("acked", told)
            if pop.acked is None:
                pop.acked, pop.ack = told.time, told.row
                pop.state = LATE if told.time > pop.until else ACKED

    def _acked(self, told: MessageEvent) -> None:
        asked, found = self._naming.take(told.partner) or (None, [])
        if asked is not None and told.error is None:
            self._done(asked, found)
        self._fail(told, found)

    def _changed(self, told: MessageEvent) -> None:
        _, found = self._naming.take(told.partner) or (None, [])
        self._fail(told, found)
        if told.error is not None:
            return
        said = header(told.values)
        wait = min(max(number(said, "invisibleTime"), 0), _LONGEST) * _MS
        for pop in found:
            sooner = told.time + wait < pop.until
            pop.note("handed back" if sooner else "extended", told)
            pop.back += sooner
            pop.extended += not sooner
            pop.until, pop.revive, pop.time = told.time + wait, number(said, "reviveQid"), number(said, "popTime")

    def _fail(self, told: MessageEvent, found: Iterable[_Pop]) -> None:
        for pop in found if told.error is not None else ():
            pop.error = pop.error or (told.error[1] if told.error is not None else None)
            pop.note("refused", told)

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        about = f" of {said['topic']}" if said["topic"] else ""
        by = f" by {said['group']}" if said["group"] else ""
        parts = [f"{word}: message {said['message']}{about}{by}, {said['state']}"]
        parts += [f"after {lasting(said['ack_ns'])}"] if said["ack_ns"] is not None else []
        parts += [f"it has {lasting(said['invisible_ns'])}"]
        parts += [f"extended {count_text(said['extended'], 'time')}"] if said["extended"] else []
        parts += [said["error"]] if said["error"] else []
        return ", ".join(parts)


_DOES: Mapping[tuple[str, bool], Callable[[Pops, MessageEvent], None]] = {
    **dict.fromkeys(((name, False) for name in _POPS), Pops._ask),
    **dict.fromkeys(((name, True) for name in _POPS), Pops._got),
    **dict.fromkeys(((name, False) for name in (_ACK, _BATCH_ACK, _CHANGE)), Pops._acks),
    **dict.fromkeys(((name, True) for name in (_ACK, _BATCH_ACK)), Pops._acked),
    (_CHANGE, True): Pops._changed,
}
