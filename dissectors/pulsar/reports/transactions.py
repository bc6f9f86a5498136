"""The report of transactions: who began each, what was sent and acknowledged in it, and how it ended.

Facts (TransactionMetadataStoreService, TransactionTimeoutTracker, TransactionCoordinatorClientImpl). A client asks a
coordinator for a transaction, with a timeout in milliseconds. Each topic is added before the first message to it, and
each subscription before the first acknowledgement. END_TXN commits or aborts it; the coordinator then tells the brokers
of these topics and subscriptions (END_TXN_ON_PARTITION, END_TXN_ON_SUBSCRIPTION), and answers when they are done. The
coordinator aborts a transaction whose timeout is over, without notice to the client. To acknowledge a message that
another transaction has acknowledged is a TransactionConflict. The number of a transaction has two halves: its
coordinator, and its number there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import BoundedTable, MessageEvent, keep_time
from dissectors.message import Role
from dissectors.pulsar.reports.fields import PULSAR, read_text, subscribe_to
from dissectors.report import OpenRow, Report, add_name, column
from dissectors.slotted import make_slotted
from dissectors.values import number, structs
from dissectors.wire.row_sentence import RowSentence

MOST_NAMED = 32
"""Topics and subscriptions that a row names."""

OPEN, OVERDUE, COMMITTED, ABORTED = "open", "overdue", "committed", "aborted"
CONFLICT, EXPIRED, FAILED, ENDING = "conflict", "timed out", "failed", "ending"

_MS = 1_000_000
_DONE = {"COMMIT": COMMITTED, "ABORT": ABORTED}
_UNKNOWN = frozenset({"TransactionNotFound", "InvalidTxnStatus"})
"""What a coordinator says of a transaction that it has ended by itself."""

_HALVES = ("txnid_most_bits", "txnid_least_bits")
_WORDS = {
    "NEW_TXN": "new",
    "ADD_PARTITION_TO_TXN": "topic",
    "ADD_SUBSCRIPTION_TO_TXN": "subscription",
    "END_TXN": "end",
    "END_TXN_ON_PARTITION": "end there",
    "END_TXN_ON_SUBSCRIPTION": "end there",
    "SEND": "send",
    "ACK": "ack",
}
_UNANSWERED = ("SEND", "ACK")
"""Of which a row names no answer but an error."""

_ANSWERS = " ".join(f"{name}_RESPONSE" for name in _WORDS if name not in _UNANSWERED)
_SENT = tuple(role for role in Role if role is not Role.RESPONSE)

_Id = tuple[int, int]


@make_slotted(frozen=False, eq=False)
class TransactionRow(OpenRow):
    """A row of the report: one transaction.

    made_at: when it got its number. action: how the client, or else the broker, ended it; ending: when that was asked.
    """

    transaction: str | None = column("text", "coordinator and number")
    outcome: str = column(
        "text",
        "committed, aborted, conflict (aborted for one), timed out, failed, ending (not answered), open, overdue "
        "(open, and its time is over)",
        OPEN,
    )
    by: str | None = column("text", "who ended it: client or broker")
    client: str | None = column("text", "who asked for it")
    coordinator: int | None = column("number", "the coordinator that was asked")
    error: str | None = column("text", "the first error that anything in it was answered with")
    took_ns: int | None = column(
        "duration", "from NEW_TXN to the answer to END_TXN, or to its last message", of=lambda row: row.took
    )
    timeout_ns: int | None = column("duration", "the time that the client asked for")
    made_ns: int | None = column(
        "duration", "how long NEW_TXN took", of=lambda row: _subtract_times(row.requested_at, row.made_at)
    )
    end_ns: int | None = column(
        "duration", "how long END_TXN took", of=lambda row: _subtract_times(row.ending, row.ended)
    )
    sends: int = column("number", "SENDs in it", 0)
    sent: int = column("number", "messages in these; those of a batch count", 0)
    acks: int = column("number", "message ids that were acknowledged in it", 0)
    topics: dict[str, None] = column("texts", "topics that were added", default_factory=dict)
    subscriptions: dict[str, None] = column(
        "texts", "subscriptions that were added, with their topics", default_factory=dict
    )
    told: int = column(
        "number", "topics and subscriptions that were told of its end; inside of a broker no packet is", 0
    )
    ended_there: int = column("number", "of these, how many answered that it is", 0)
    ended: int | None = column("time", "when END_TXN was answered")
    requested_at: int | None = None
    made_at: int | None = None
    action: str | None = None
    ending: int | None = None

    most_rows = 32

    def fail(self, event: MessageEvent) -> bool:
        """Returns whether an answer reports an error; the first one is kept."""
        error = read_text(event.values, "error")
        self.error = self.error or error
        return error is not None

    def end(self, action: str | None, by: str, time: int) -> None:
        """Notes that it is to end; the client's request takes precedence over the broker's."""
        if self.by != "client":
            self.action, self.by = action, by
            self.ending = time if self.ending is None or by == "client" else self.ending

    def settle(self, now: int) -> None:
        """Says how it stands at a time, as far as messages tell."""
        begun = self.made_at or self.requested_at
        due = None if self.timeout_ns is None or begun is None else begun + self.timeout_ns
        late = due is not None and (self.ending or now) >= due
        done = _DONE.get(self.action or "")
        if self.by == "client" and self.ended is not None:
            conflict = done == ABORTED and self.error == "TransactionConflict"
            self.outcome = CONFLICT if conflict else done or FAILED
        elif self.by == "client":
            self.outcome = EXPIRED if late and self.error in _UNKNOWN else FAILED if self.error else ENDING
        elif self.by is not None:
            self.outcome = EXPIRED if late and self.action == "ABORT" else done or ENDING
        elif self.error is not None and self.made_at is None:
            self.outcome = FAILED
        else:
            self.outcome = OVERDUE if late else OPEN

    @property
    def took(self) -> int | None:
        """Duration in ns from its beginning to the last message about its end."""
        return _subtract_times(self.requested_at or self.made_at, self.ended or self.ending or self.last)


class TransactionReport(Report[TransactionRow]):
    """The report of transactions.

    Rows stay open until the capture ends: brokers may hear of a transaction's end after the client.
    """

    name = "transactions"
    about = "each Pulsar transaction: what was sent and acknowledged in it, its outcome, and how long it took"
    needs = PULSAR
    row = TransactionRow
    sentence = RowSentence(
        "{word} of transaction ({transaction=}|None): {outcome}( by the {by})(, {error})(, in {took_ns%lasting}), "
        "{sent%counted message} sent, {acks=} acknowledged in it"
    )

    def _begin(self) -> None:
        self.nameless: BoundedTable[int, TransactionRow] = BoundedTable(self.limit, evict=self.close)
        """By row of its NEW_TXN one that may never have a number."""
        self.now = 0

    def close(self, row: TransactionRow) -> None:
        """Settles what is still open in a row and emits it."""
        row.settle(self.now)
        super().close(row)

    def finish(self) -> None:
        """Closes all rows that are open when the capture ends."""
        for row in self.nameless.values():
            self.close(row)
        super().finish()

    def make(self, key: _Id, event: MessageEvent) -> TransactionRow:
        """Makes the row of a key that has none yet, from its first message."""
        return TransactionRow(event.time, event.time, transaction=_format_id(key))

    def receive_new(self, event: MessageEvent) -> None:
        """Makes a row for NEW_TXN, which has no number yet."""
        made = TransactionRow(event.time, event.time, client=event.client, requested_at=event.time)
        made.note("new", event)
        made.coordinator = number(event.values, "tc_id")
        made.timeout_ns = number(event.values, "txn_ttl_millis") * _MS or None
        self.nameless[event.row] = made

    def receive_request(self, event: MessageEvent) -> None:
        """Handles a request that is part of a transaction."""
        id_ = read_transaction(event.values)
        if id_ is None:
            return
        known, name = self.find(id_, event), event.operation or ""
        self.count(known, name, event)
        known.note(_WORDS.get(name, name), event)
        self.requests[event.row] = name, known

    def count(self, known: TransactionRow, name: str, event: MessageEvent) -> None:
        """Counts what a request adds to its transaction."""
        values = event.values
        if name == "SEND":
            known.sends += 1
            known.sent += max(number(values, "num_messages", 1), 1)
        elif name == "ACK":
            known.acks += len(structs(values.get("message_id")))
        elif name == "ADD_PARTITION_TO_TXN":
            topics = values.get("partitions")
            for topic in topics if isinstance(topics, list) else ():
                add_name(known.topics, topic if isinstance(topic, str) else None, MOST_NAMED)
        elif name == "ADD_SUBSCRIPTION_TO_TXN":
            for each in structs(values.get("subscription")):
                add_name(known.subscriptions, _format_subscription(each), MOST_NAMED)
        else:
            by_client = name == "END_TXN"
            known.told += not by_client
            known.end(read_text(values, "txn_action"), "client" if by_client else "broker", event.time)

    def receive_answer(self, event: MessageEvent) -> None:
        """Handles the answer to a request of a transaction."""
        new = self.nameless.pop(event.partner)
        if new is not None:
            self.number(new, event)
            return
        name, known = self.take_request(event) or ("", None)
        if known is None:
            return
        failed = known.fail(event)
        if failed or name not in _UNANSWERED:
            known.note(f"refuses {_WORDS[name]}" if failed else "answer", event)
        if not failed and name == "END_TXN":
            known.ended = event.time
        known.ended_there += not failed and name.startswith("END_TXN_ON")

    def number(self, new: TransactionRow, event: MessageEvent) -> None:
        """Takes the id of a transaction from the answer to NEW_TXN."""
        failed = new.fail(event)
        new.note("refuses new" if failed else "made", event)
        id_ = read_transaction(event.values)
        if failed or id_ is None:
            self.close(new)
            return
        new.made_at, new.transaction = event.time, _format_id(id_)
        older = self.rows.pop(id_)
        if older is not None:
            self.close(older)
        self.rows[id_] = new

    on = keep_time(
        subscribe_to("NEW_TXN", receive_new, "tc_id", "txn_ttl_millis", roles=_SENT)
        | subscribe_to("ADD_PARTITION_TO_TXN", receive_request, *_HALVES, "partitions", roles=_SENT)
        | subscribe_to(
            *("ADD_SUBSCRIPTION_TO_TXN END_TXN_ON_SUBSCRIPTION", receive_request, *_HALVES),
            *("subscription", "txn_action"),
            roles=_SENT,
        )
        | subscribe_to("END_TXN_ON_PARTITION", receive_request, *_HALVES, "topic", "txn_action", roles=_SENT)
        | subscribe_to("END_TXN", receive_request, *_HALVES, "txn_action", roles=_SENT)
        | subscribe_to("SEND", receive_request, *_HALVES, "num_messages", roles=_SENT)
        | subscribe_to("ACK", receive_request, *_HALVES, "message_id", roles=_SENT)
        | subscribe_to(_ANSWERS, receive_answer, *_HALVES, "error", roles=(Role.RESPONSE,))
        | subscribe_to("ACK_RESPONSE SEND_ERROR ERROR", receive_answer, "error", roles=(Role.RESPONSE,))
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message may be part of a transaction; few SENDs and ACKs are."""
        return role is Role.RESPONSE or operation == "NEW_TXN" or read_transaction(values) is not None


def _format_id(id_: _Id) -> str:
    return f"({id_[0]},{id_[1]})"


def _subtract_times(first: int | None, then: int | None) -> int | None:
    return None if first is None or then is None else then - first


def read_transaction(values: Mapping[str, Any]) -> _Id | None:
    """Returns the transaction that a message is part of; a half that is 0 may be left out."""
    if not any(half in values for half in _HALVES):
        return None
    return number(values, _HALVES[0]), number(values, _HALVES[1])


def _format_subscription(value: Mapping[str, Any]) -> str | None:
    """A subscription, with its topic."""
    names = [read_text(value, name) for name in ("subscription", "topic")]
    return " of ".join(name for name in names if name) or None
