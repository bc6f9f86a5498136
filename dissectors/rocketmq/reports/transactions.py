"""The story of transactions: when each half message was sent, how often the broker checked it, and how it ended.

Facts (TransactionMQProducer, EndTransactionProcessor, TransactionalMessageServiceImpl, BrokerConfig). A producer sends
a half message, which the broker keeps in a topic of its own; then END_TRANSACTION commits it (8), rolls it back (12),
or says that nobody knows yet (0); Java's wants no answer. Of a half message that has not ended after some time, six
seconds by default, the broker asks a client of the producer's group (CHECK_TRANSACTION_STATE), which says
END_TRANSACTION again, from a check; fifteen times by default, then it gives up without a word. Each check writes the
half message anew, at another place; its transactionId, the UNIQ_KEY, stays. What is committed is a message like
others, at yet another place, under that same key.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import REPORTED, Column, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.remembered import Remembered
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, number, of, struct, structs, text
from dissectors.rocketmq.reports.ids import properties
from dissectors.rocketmq.reports.sending import COMMITTED, IS_STORED, ROLLED_BACK, SENDS, is_half, sent
from dissectors.slotted import field, slotted
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

MOST = 65_536
"""Transactions that are remembered."""

MOST_ROWS = 64
"""Messages of a transaction that are named."""

OPEN, UNKNOWN, REFUSED = "open", "unknown", "refused"

_OUTCOMES = {COMMITTED: "committed", ROLLED_BACK: "rolled back"}
_END, _CHECK = "END_TRANSACTION", "CHECK_TRANSACTION_STATE"
_READS = ("PULL_MESSAGE", "LITE_PULL_MESSAGE", "POP_MESSAGE")


@slotted(frozen=False, eq=False)
class _Deal:
    """One transaction. half: when its half message was stored; ended: when it was committed or rolled back."""

    name: str
    first: int
    last: int
    outcome: str = OPEN
    by: str | None = None
    topic: str | None = None
    group: str | None = None
    client: str | None = None
    error: str | None = None
    offset_id: str | None = None
    table: int | None = None
    send: int | None = None
    sent: int | None = None
    half: int | None = None
    end: int | None = None
    ended: int | None = None
    checks: int = 0
    checked: int | None = None
    unknowns: int = 0
    read: int | None = None
    reads: int = 0
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message."""
        self.last = max(self.last, told.time)
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))

    def entry(self) -> ReportRow:
        """Its line."""
        values = (
            *(self.name, self.outcome, self.by, self.topic, self.group, self.client, self.error),
            *(self.sent, self.offset_id, self.table, _after(self.sent, self.half), _after(self.sent, self.ended)),
            *(self.checks, _after(self.sent, self.checked), self.unknowns, self.reads, _after(self.ended, self.read)),
            *(self.send, self.end),
        )
        return ReportRow(values, tuple(self.rows), self.first, self.last)


def _after(first: int | None, then: int | None) -> int | None:
    return None if first is None or then is None else max(then - first, 0)


class Transactions(OldReport):
    """See the module."""

    name = "transactions"
    about = "each RocketMQ transaction: its half message, the broker's checks, its outcome, and who got it"
    needs = ROCKETMQ
    columns = (
        Column("transaction", "text", "its id, the UNIQ_KEY of its message"),
        Column(
            "outcome",
            "text",
            "committed, rolled back, unknown (as was said last), refused (the half message), open (nobody said)",
        ),
        Column("by", "text", "what ended it: the producer, or a check, which the producer's group answered"),
        Column("topic", "text", "of its message"),
        Column("group", "text", "the producer group"),
        Column("client", "text", "the address that sent the half message; else that ended it"),
        Column("error", "text", "the first error that anything in it was answered with"),
        Column("sent", "time", "when the half message's SEND came"),
        Column("offset_id", "text", "where the half message lies: the broker's address and the commit log's offset"),
        Column("table_offset", "number", "where it lies in the queue of half messages"),
        Column("half_ns", "duration", "from SEND to its answer"),
        Column("took_ns", "duration", "from SEND to the END_TRANSACTION that ended it"),
        Column("checks", "number", "how often the broker asked"),
        Column("check_ns", "duration", "from SEND to the first time"),
        Column("unknowns", "number", "how often END_TRANSACTION said that nobody knows yet"),
        Column("delivered", "number", "how often it was pulled or popped"),
        Column("delivery_ns", "duration", "from END_TRANSACTION to the first time"),
        Column("send", "message", "the half message's SEND"),
        Column("end", "message", "the END_TRANSACTION that ended it, or else the last"),
    )
    wants: ClassVar = {
        **of(SENDS[:2], ASKS, "producerGroup", "topic", "sysFlag", "properties"),
        **of(SENDS[:2], ANSWERS, "msgId", "queueOffset", "transactionId", REPORTED),
        **of((_END,), ASKS, "transactionId", "msgId", "topic", "producerGroup", "commitOrRollback",
             "fromTransactionCheck"),
        **of((_END,), ANSWERS, REPORTED),
        **of((_CHECK,), ASKS, "transactionId", "msgId", "offsetMsgId", "tranStateTableOffset", ("body", "messages")),
        **of(_READS, ANSWERS, ("body", "messages")),
    }  # fmt: skip

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._over: list[ReportRow] = []
        self._known: OrderedDict[str, _Deal] = OrderedDict()
        self._asked: Remembered[int, tuple[str, _Deal]] = Remembered()

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """They are told when the capture ends: a check may come late, and a consumer later."""
        answers, name = told.context.role is Role.RESPONSE, told.operation or ""
        if name in _READS:
            self._read(told)
        elif answers:
            self._answer(told)
        elif name == _END:
            self._end(told)
        elif name == _CHECK:
            self._check(told)
        else:
            self._send(told)
        over, self._over = self._over, []
        return over

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        for known in self._known.values():
            yield known.entry()

    def _deal(self, told: MessageEvent, name: str) -> _Deal:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = _Deal(name, told.time, told.time)
            if len(self._known) > MOST:
                self._over.append(self._known.popitem(last=False)[1].entry())
        return known

    def _asks(self, told: MessageEvent, word: str, known: _Deal) -> None:
        known.note(word, told)
        if told.partner is not None:
            self._asked.keep(told.row, (word, known))

    def _send(self, told: MessageEvent) -> None:
        if not is_half(header(told.values)):
            return
        what = sent(told)
        name = text(what.each[0], "UNIQ_KEY")
        if name is None:
            return
        known = self._deal(told, name)
        known.topic, known.group = known.topic or what.topic, known.group or what.group
        if known.sent is None:
            known.send, known.sent, known.client = told.row, told.time, self.ends(told.stream)[0]
        if known.outcome == REFUSED:
            known.outcome = OPEN
        self._asks(told, "half", known)

    def _answer(self, told: MessageEvent) -> None:
        word, known = self._asked.take(told.partner) or ("", None)
        if known is None:
            return
        failed = told.error is not None and told.error[0] not in IS_STORED
        known.error = known.error or (told.error[1] if told.error is not None else None)
        known.note(f"refuses {word}" if failed else f"{word} stored" if word == "half" else "answer", told)
        if word != "half":
            return
        if failed:
            known.outcome = REFUSED
        elif known.half is None:
            said = header(told.values)
            known.half, known.offset_id = told.time, text(said, "msgId")
            known.table = number(said, "queueOffset") if "queueOffset" in said else None

    def _end(self, told: MessageEvent) -> None:
        said = header(told.values)
        name = text(said, "transactionId") or text(said, "msgId")
        if name is None:
            return
        known, checked = self._deal(told, name), said.get("fromTransactionCheck") is True
        known.group = known.group or text(said, "producerGroup")
        known.client = known.client or self.ends(told.stream)[0]
        known.topic = known.topic or (None if checked else text(said, "topic"))
        outcome = _OUTCOMES.get(number(said, "commitOrRollback"))
        known.unknowns += outcome is None
        if known.ended is None:
            known.end, known.outcome = told.row, outcome or UNKNOWN
            known.by = "check" if checked else "producer"
            known.ended = None if outcome is None else told.time
        self._asks(told, outcome or UNKNOWN, known)

    def _check(self, told: MessageEvent) -> None:
        said = header(told.values)
        name = text(said, "transactionId") or text(said, "msgId")
        if name is None:
            return
        known = self._deal(told, name)
        known.checks += 1
        known.checked = told.time if known.checked is None else known.checked
        for each in structs(struct(told.values, "body").get("messages"))[:1]:
            known.topic = known.topic or text(each, "topic")
            known.group = known.group or text(properties(each.get("properties")), "PGROUP")
        known.note("check", told)

    def _read(self, told: MessageEvent) -> None:
        if not self._known:
            return
        for each in structs(struct(told.values, "body").get("messages")):
            known = self._known.get(text(properties(each.get("properties")), "UNIQ_KEY") or "")
            if known is not None:
                known.reads += 1
                known.read = told.time if known.read is None else known.read
                known.note("delivered", told)

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Any) -> bool:
        """Few SENDs are of half messages; see OldReport."""
        if operation in (_END, _CHECK) or role is Role.RESPONSE:
            return True
        return is_half(header(values))

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        parts = [f"{word} of transaction {said['transaction']}: {said['outcome']}"]
        parts[0] += f" by the {said['by']}" if said["by"] and said["outcome"] in _OUTCOMES.values() else ""
        parts += [said["error"]] if said["error"] else []
        parts += [f"in {lasting(said['took_ns'])}"] if said["took_ns"] is not None else []
        parts += [f"checked {count_text(said['checks'], 'time')}"] if said["checks"] else []
        return ", ".join(parts)
