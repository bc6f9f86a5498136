"""The report of transactions: when each half message was sent, how often the broker checked it, and how it ended.

Facts (TransactionMQProducer, EndTransactionProcessor, TransactionalMessageServiceImpl, BrokerConfig). A producer sends
a half message, which the broker stores in a topic of its own. Then END_TRANSACTION commits it (8), rolls it back (12),
or leaves it unknown (0); Java's is one-way. If a half message has not ended after some time, six seconds by default,
the broker asks a client of the producer's group (CHECK_TRANSACTION_STATE), which sends END_TRANSACTION again, marked as
from a check. After fifteen checks, by default, the broker gives up silently. Each check writes the half message anew,
at another place; its transactionId, the UNIQ_KEY, stays. A committed message is an ordinary one, at yet another place,
under the same key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import MessageEvent, for_request
from dissectors.message import Role
from dissectors.report import REPORTED, OpenRow, Report, column
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, ROCKETMQ, read_header, subscribe_to
from dissectors.rocketmq.reports.ids import read_properties
from dissectors.rocketmq.reports.messages import (
    IS_STORED,
    OUTCOMES,
    SINGLE_SENDS,
    is_half_message,
    read_send,
)
from dissectors.slotted import make_slotted
from dissectors.values import measure_elapsed, number, struct, structs, text
from dissectors.wire.row_sentence import RowSentence

OPEN, UNKNOWN, REFUSED = "open", "unknown", "refused"

_END, _CHECK = "END_TRANSACTION", "CHECK_TRANSACTION_STATE"


@make_slotted(frozen=False, eq=False)
class TransactionRow(OpenRow):
    """A row of the report: one transaction.

    stored: when its half message was stored. ended: when it was committed or rolled back. checked, read: when it was
    checked and delivered for the first time.
    """

    transaction: str = column("text", "its id, the UNIQ_KEY of its message", "")
    outcome: str = column(
        "text",
        "committed, rolled back, unknown (as was said last), refused (the half message), open (nobody said)",
        OPEN,
    )
    by: str | None = column("text", "what ended it: the producer, or a check, which the producer's group answered")
    topic: str | None = column("text", "of its message")
    group: str | None = column("text", "the producer group")
    client: str | None = column("text", "the address that sent the half message; else that ended it")
    error: str | None = column("text", "the first error that anything in it was answered with")
    sent: int | None = column("time", "when the half message's SEND came")
    offset_id: str | None = column(
        "text", "where the half message lies: the broker's address and the commit log's offset"
    )
    table_offset: int | None = column("number", "where it lies in the queue of half messages")
    half_ns: int | None = column(
        "duration", "from SEND to its answer", of=lambda row: measure_elapsed(row.sent, row.stored)
    )
    took_ns: int | None = column(
        *("duration", "from SEND to the END_TRANSACTION that ended it"),
        of=lambda row: measure_elapsed(row.sent, row.ended),
    )
    checks: int = column("number", "how often the broker asked", 0)
    check_ns: int | None = column(
        "duration", "from SEND to the first time", of=lambda row: measure_elapsed(row.sent, row.checked)
    )
    unknowns: int = column("number", "how often END_TRANSACTION said that nobody knows yet", 0)
    delivered: int = column("number", "how often it was pulled or popped", 0)
    delivery_ns: int | None = column(
        *("duration", "from END_TRANSACTION to the first time"), of=lambda row: measure_elapsed(row.ended, row.read)
    )
    send: int | None = column("message", "the half message's SEND")
    end: int | None = column("message", "the END_TRANSACTION that ended it, or else the last")
    stored: int | None = None
    ended: int | None = None
    checked: int | None = None
    read: int | None = None


class TransactionReport(Report[TransactionRow]):
    """The report of transactions. Rows stay open until the capture ends: checks and deliveries may come late."""

    name = "transactions"
    about = "each RocketMQ transaction: its half message, the broker's checks, its outcome, and who got it"
    needs = ROCKETMQ
    row = TransactionRow
    sentence = RowSentence(
        "{word} of transaction {transaction=}: {outcome}"
        '({?outcome in ["committed", "rolled back"]: ( by the {by})})(, {error})'
        "(, in {took_ns%lasting})(, checked {checks%many time})"
    )
    worst = ("checks", "took_ns")
    key = ("transaction",)

    def ask(self, known: TransactionRow, word: str, event: MessageEvent) -> None:
        """Notes a request of a transaction, and awaits its answer."""
        known.note(word, event)
        self.await_answer(event, (word, known))

    def receive_send(self, event: MessageEvent) -> None:
        """Handles a SEND, which may be that of a half message."""
        if not is_half_message(read_header(event.values)):
            return
        what = read_send(event)
        name = text(what.each[0], "UNIQ_KEY")
        if name is None:
            return
        known = self.find(name, event)
        known.topic, known.group = known.topic or what.topic, known.group or what.group
        if known.sent is None:
            known.send, known.sent, known.client = event.row, event.time, event.client
        if known.outcome == REFUSED:
            known.outcome = OPEN
        self.ask(known, "half", event)

    def receive_answer(self, pending: tuple[str, TransactionRow], event: MessageEvent) -> None:
        """Handles the answer to a half message, or to an end."""
        word, known = pending
        failed = event.error is not None and event.error[0] not in IS_STORED
        known.error = known.error or (event.error[1] if event.error is not None else None)
        known.note(f"refuses {word}" if failed else f"{word} stored" if word == "half" else "answer", event)
        if word != "half":
            return
        if failed:
            known.outcome = REFUSED
        elif known.stored is None:
            header = read_header(event.values)
            known.stored, known.offset_id = event.time, text(header, "msgId")
            known.table_offset = number(header, "queueOffset") if "queueOffset" in header else None

    def receive_end(self, event: MessageEvent) -> None:
        """Handles END_TRANSACTION: the producer commits a transaction or rolls it back."""
        header = read_header(event.values)
        name = text(header, "transactionId") or text(header, "msgId")
        if name is None:
            return
        known, checked = self.find(name, event), header.get("fromTransactionCheck") is True
        known.group = known.group or text(header, "producerGroup")
        known.client = known.client or event.client
        known.topic = known.topic or (None if checked else text(header, "topic"))
        outcome = OUTCOMES.get(number(header, "commitOrRollback"))
        known.unknowns += outcome is None
        if known.ended is None:
            known.end, known.outcome = event.row, outcome or UNKNOWN
            known.by = "check" if checked else "producer"
            known.ended = None if outcome is None else event.time
        self.ask(known, outcome or UNKNOWN, event)

    def receive_check(self, event: MessageEvent) -> None:
        """Handles CHECK_TRANSACTION_STATE: the broker asks the producer how a transaction ended."""
        header = read_header(event.values)
        name = text(header, "transactionId") or text(header, "msgId")
        if name is None:
            return
        known = self.find(name, event)
        known.checks += 1
        known.checked = event.time if known.checked is None else known.checked
        for each in structs(struct(event.values, "body").get("messages"))[:1]:
            known.topic = known.topic or text(each, "topic")
            known.group = known.group or text(read_properties(each.get("properties")), "PGROUP")
        known.note("check", event)

    def receive_messages(self, event: MessageEvent) -> None:
        """Notes the messages of a pull or pop."""
        if not len(self.rows):
            return
        for each in structs(struct(event.values, "body").get("messages")):
            known = self.rows.get(text(read_properties(each.get("properties")), "UNIQ_KEY") or "")
            if known is not None:
                known.delivered += 1
                known.read = event.time if known.read is None else known.read
                known.note("delivered", event)

    on = (
        subscribe_to(SINGLE_SENDS, ASKS, receive_send, "producerGroup", "topic", "sysFlag", "properties")
        | subscribe_to(
            SINGLE_SENDS, ANSWERS, for_request(receive_answer), "msgId", "queueOffset", "transactionId", REPORTED
        )
        | subscribe_to(
            *(_END, ASKS, receive_end, "transactionId", "msgId", "topic", "producerGroup", "commitOrRollback"),
            "fromTransactionCheck",
        )
        | subscribe_to(_END, ANSWERS, for_request(receive_answer), REPORTED)
        | subscribe_to(
            *(_CHECK, ASKS, receive_check, "transactionId", "msgId", "offsetMsgId", "tranStateTableOffset"),
            ("body", "messages"),
        )
        | subscribe_to("PULL_MESSAGE LITE_PULL_MESSAGE POP_MESSAGE", ANSWERS, receive_messages, ("body", "messages"))
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message may be part of a transaction; few SENDs are of half messages."""
        return operation in (_END, _CHECK) or role is Role.RESPONSE or is_half_message(read_header(values))
