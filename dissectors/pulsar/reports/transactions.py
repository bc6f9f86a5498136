"""The story of transactions: who began each, what was sent and acknowledged in it, and how it ended.

Facts (TransactionMetadataStoreService, TransactionTimeoutTracker, TransactionCoordinatorClientImpl). A client asks a
coordinator for a transaction, and says how many milliseconds it may take. Each topic that it sends to is added before
the first message, and each subscription before the first acknowledgement. END_TXN commits or aborts it; the coordinator
then tells the brokers of these topics and subscriptions (END_TXN_ON_PARTITION, END_TXN_ON_SUBSCRIPTION), and answers
when they have. One whose time is over is aborted by the coordinator, without a word to the client. A message that
another transaction has acknowledged is a TransactionConflict. The number of a transaction has two halves: its
coordinator, and its number there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.pulsar.reports.asked import PULSAR, number, of, structs, text
from dissectors.pulsar.reports.deal import Deal
from dissectors.remembered import Remembered
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

MOST = 65_536
"""Transactions that are remembered."""

_HALVES = ("txnid_most_bits", "txnid_least_bits")
_NEW, _TOPIC, _SUBSCRIPTION, _END = "NEW_TXN", "ADD_PARTITION_TO_TXN", "ADD_SUBSCRIPTION_TO_TXN", "END_TXN"
_ON_TOPIC, _ON_SUBSCRIPTION = "END_TXN_ON_PARTITION", "END_TXN_ON_SUBSCRIPTION"
_SENDS, _ACKS = "SEND", "ACK"
_ANSWERED = (_NEW, _TOPIC, _SUBSCRIPTION, _END, _ON_TOPIC, _ON_SUBSCRIPTION)
_WORDS = {
    _NEW: "new",
    _TOPIC: "topic",
    _SUBSCRIPTION: "subscription",
    _END: "end",
    _ON_TOPIC: "end there",
    _ON_SUBSCRIPTION: "end there",
    _SENDS: "send",
    _ACKS: "ack",
}

_Id = tuple[int, int]


class Transactions(OldReport):
    """See the module."""

    name = "transactions"
    about = "each Pulsar transaction: what was sent and acknowledged in it, its outcome, and how long it took"
    needs = PULSAR
    columns = (
        Column("transaction", "text", "coordinator and number"),
        Column(
            "outcome",
            "text",
            "committed, aborted, conflict (aborted for one), timed out, failed, ending (not answered), open, overdue "
            "(open, and its time is over)",
        ),
        Column("by", "text", "who ended it: client or broker"),
        Column("client", "text", "who asked for it"),
        Column("coordinator", "number", "the coordinator that was asked"),
        Column("error", "text", "the first error that anything in it was answered with"),
        Column("took_ns", "duration", "from NEW_TXN to the answer to END_TXN, or to its last message"),
        Column("timeout_ns", "duration", "the time that the client asked for"),
        Column("made_ns", "duration", "how long NEW_TXN took"),
        Column("end_ns", "duration", "how long END_TXN took"),
        Column("sends", "number", "SENDs in it"),
        Column("sent", "number", "messages in these; those of a batch count"),
        Column("acks", "number", "message ids that were acknowledged in it"),
        Column("topics", "texts", "topics that were added"),
        Column("subscriptions", "texts", "subscriptions that were added, with their topics"),
        Column("told", "number", "topics and subscriptions that were told of its end; inside of a broker no packet is"),
        Column("ended_there", "number", "of these, how many answered that it is"),
        Column("ended", "time", "when END_TXN was answered"),
    )
    wants: ClassVar = {
        **of([_NEW], "tc_id", "txn_ttl_millis"),
        **of([_TOPIC], *_HALVES, "partitions"),
        **of([_SUBSCRIPTION, _ON_SUBSCRIPTION], *_HALVES, "subscription", "txn_action"),
        **of([_ON_TOPIC], *_HALVES, "topic", "txn_action"),
        **of([_END], *_HALVES, "txn_action"),
        **of([_SENDS], *_HALVES, "num_messages"),
        **of([_ACKS], *_HALVES, "message_id"),
        **of((f"{name}_RESPONSE" for name in _ANSWERED), *_HALVES, "error"),
        **of(["ACK_RESPONSE", "SEND_ERROR", "ERROR"], "error"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._open: OrderedDict[_Id, Deal] = OrderedDict()
        self._asked: Remembered[int, tuple[str, Deal]] = Remembered()
        self._nameless: OrderedDict[int, Deal] = OrderedDict()
        """By row of its NEW_TXN one that may never have a number."""
        self._now = 0

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """They are told when the capture ends: a broker may be told of the end behind the client."""
        self._now = max(self._now, told.time)
        if told.context.role is Role.RESPONSE:
            return self._answer(told)
        if told.operation == _NEW:
            return self._begin(told)
        id_ = transaction_of(told.values)
        if id_ is None:
            return ()
        known, forgotten = self._deal(id_, told)
        self._request(known, told)
        return forgotten

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        for known in (*self._nameless.values(), *self._open.values()):
            yield known.entry(self._now)

    def _deal(self, id_: _Id, told: MessageEvent, new: Deal | None = None) -> tuple[Deal, list[ReportRow]]:
        """One that a message is of, and what is forgotten for it."""
        known = self._open.get(id_)
        forgotten: list[ReportRow] = []
        if known is None:
            name = f"({id_[0]},{id_[1]})"
            known = self._open[id_] = new or Deal(name, told.time, told.time)
            known.name = name
            if len(self._open) > MOST:
                forgotten.append(self._open.popitem(last=False)[1].entry(self._now))
        return known, forgotten

    def _begin(self, told: MessageEvent) -> list[ReportRow]:
        known = Deal("", told.time, told.time)
        known.note("new", told)
        ttl = number(told.values, "txn_ttl_millis")
        known.ask(told, self.ends(told.stream)[0], number(told.values, "tc_id"), ttl)
        self._nameless[told.row] = known
        if len(self._nameless) > MOST:
            return [self._nameless.popitem(last=False)[1].entry(self._now)]
        return []

    def _request(self, known: Deal, told: MessageEvent) -> None:
        name, values = told.operation or "", told.values
        if name == _SENDS:
            known.sends += 1
            known.messages += max(number(values, "num_messages", 1), 1)
        elif name == _ACKS:
            known.acks += len(structs(values.get("message_id")))
        elif name == _TOPIC:
            topics = values.get("partitions")
            for topic in topics if isinstance(topics, list) else ():
                known.add(known.topics, topic if isinstance(topic, str) else None)
        elif name == _SUBSCRIPTION:
            for each in structs(values.get("subscription")):
                known.add(known.subscriptions, _subscription(each))
        else:
            self._end(known, name, told)
        known.note(_WORDS.get(name, name), told)
        self._asked.keep(told.row, (name, known))

    def _end(self, known: Deal, name: str, told: MessageEvent) -> None:
        known.told += name != _END
        known.end(text(told.values, "txn_action"), "client" if name == _END else "broker", told.time)

    def _answer(self, told: MessageEvent) -> list[ReportRow]:
        new = None if told.partner is None else self._nameless.get(told.partner)
        if new is not None and told.partner is not None:
            return self._made(new, told.partner, told)
        name, known = self._asked.take(told.partner) or ("", None)
        if known is None:
            return []
        failed = known.fail(told)
        if failed or name in _ANSWERED:
            known.note(f"refuses {_WORDS[name]}" if failed else "answer", told)
        if not failed and name == _END:
            known.ended = told.time
        known.parts += not failed and name in (_ON_TOPIC, _ON_SUBSCRIPTION)
        return []

    def _made(self, new: Deal, row: int, told: MessageEvent) -> list[ReportRow]:
        del self._nameless[row]
        failed = new.fail(told)
        new.note("refuses new" if failed else "made", told)
        id_ = transaction_of(told.values)
        if failed or id_ is None:
            return [new.entry(self._now)]
        new.made = told.time
        older = self._open.pop(id_, None)
        _, forgotten = self._deal(id_, told, new)
        return forgotten if older is None else [older.entry(self._now), *forgotten]

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Few SENDs and ACKs are part of a transaction; see OldReport."""
        return role is Role.RESPONSE or operation == _NEW or transaction_of(values) is not None

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        parts = [f"{word} of transaction {said['transaction']}: {said['outcome']}"]
        parts[0] += f" by the {said['by']}" if said["by"] else ""
        parts += [said["error"]] if said["error"] else []
        parts += [f"in {lasting(said['took_ns'])}"] if said["took_ns"] is not None else []
        parts.append(f"{count_text(said['sent'], 'message')} sent, {said['acks']} acknowledged in it")
        return ", ".join(parts)


def transaction_of(values: Mapping[str, Any]) -> _Id | None:
    """The transaction that a message is part of; a half that is 0 may be left out."""
    if not any(half in values for half in _HALVES):
        return None
    return number(values, _HALVES[0]), number(values, _HALVES[1])


def _subscription(value: Mapping[str, Any]) -> str | None:
    """A subscription, with its topic."""
    names = [text(value, name) for name in ("subscription", "topic")]
    return " of ".join(name for name in names if name) or None
