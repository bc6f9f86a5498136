"""The report of transactions: each from its first partition to its end.

Facts (KIP-98, KIP-890). InitProducerId gives a transactional id its producer id and epoch, and fences the producer that
had it before. A transaction begins with its first AddPartitionsToTxn, AddOffsetsToTxn or, from version 2 of the
protocol on, with its first batch or TxnOffsetCommit, which add the partition implicitly. EndTxn commits or aborts it;
from version 5 on the answer has the epoch of the next one. The coordinator then has the brokers write markers
(WriteTxnMarkers), and answers CONCURRENT_TRANSACTIONS to requests for the next one meanwhile. It aborts a transaction
that is not ended within transaction.timeout.ms, and fences its producer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dissectors.correlator import MILLISECOND, BoundedTable, MergedMessages, MessageEvent, merge_by
from dissectors.kafka.reports.assignments import Partition, format_partitions
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    format_counts,
    list_batches,
    list_errors,
    list_numbers,
    read_error,
    subscribe_to,
)
from dissectors.message import Role
from dissectors.report import OpenRow, Report, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, measure_elapsed, number, structs, text
from dissectors.wire.row_sentence import RowSentence

OPEN, COMMITTED, ABORTED, FENCED, FAILED = "open", "committed", "aborted", "fenced", "failed"
TIMED_OUT = "timed out"
FENCING = frozenset({"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"})
TIMEOUT_ERRORS = FENCING - {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"} | {"INVALID_TXN_STATE"}
"""What a producer hears whose transaction the coordinator has aborted, or whose transactional id another has."""

CONCURRENT = "CONCURRENT_TRANSACTIONS"

MOST_PARTITIONS = 10_000
"""Partitions of a transaction that are remembered."""

TransactionKey = tuple[str, int, int]
"""Transactional id, producer id and epoch."""

_RECORDS = ("topicData", "partitionData", "records")
_ANSWERED = ("responses", "partitionResponses", "errorCode")


@make_slotted(frozen=False, eq=False)
class TransactionRow(OpenRow):
    """One transaction. written: its partitions; ending: when EndTxn came, ns since 1970."""

    transaction: str = column("text", "the transactional id", "")
    producer: int | None = column("number", "the producer id")
    epoch: int | None = column("number", "the producer's epoch")
    client: str | None = column("text", "the client id of the producer")
    host: str | None = column("text", "the address that it speaks from")
    state: str = column(
        "text",
        "committed, aborted, fenced (another producer took its id), timed out (the coordinator aborted it because it "
        "took longer than its timeout), failed (EndTxn was refused), open (not ended when the capture does)",
        OPEN,
    )
    began: int | None = column("time", "when it began", of="first")
    ended: int | None = column("time", "when EndTxn was answered, or when it was fenced")
    length_ns: int | None = column(
        *("duration", "from its beginning to its end"), of=lambda row: measure_elapsed(row.first, row.ended)
    )
    end_ns: int | None = column("duration", "from EndTxn to the answer that counts")
    partitions: str | None = column(
        "text", "partitions that it writes to", of=lambda row: format_partitions(row.written) or None
    )
    batches: int = column("number", "batches", 0)
    records: int = column("number", "records", 0)
    bytes: int = column("number", "bytes of batches, as they are sent", 0)
    groups: dict[str, None] = column("texts", "groups whose offsets it commits", default_factory=dict)
    offsets: int = column("number", "offsets that it commits", 0)
    markers: int = column("number", "markers that were asked for, where the capture has them", 0)
    markers_ns: int | None = column("duration", "from EndTxn to the last request that asks for markers")
    retries: int = column("number", "answers that another transaction of the id was still ending", 0)
    timeout_ns: int | None = column("duration", "after so long the coordinator aborts it")
    errors: list[str] = column(
        *("texts", "errors that it was answered with, but for those"), of=lambda row: format_counts(row.failures)
    )
    written: dict[Partition, None] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    ending: int | None = None

    def write(self, partitions: Iterable[Partition]) -> None:
        """Adds partitions that the transaction writes to."""
        for each in partitions:
            if len(self.written) < MOST_PARTITIONS:
                self.written[each] = None

    def end(self, state: str, event: MessageEvent) -> None:
        """Marks the transaction as over."""
        self.state, self.ended = state, event.time
        self.note(state, event)


def _name_refusal(row: TransactionRow, errors: Iterable[str], event: MessageEvent) -> str | None:
    """How a transaction ended whose producer was refused; None if it did not."""
    if row.timeout_ns and event.time - row.first > row.timeout_ns and not TIMEOUT_ERRORS.isdisjoint(errors):
        return TIMED_OUT
    return None if FENCING.isdisjoint(errors) else FENCED


class TransactionReport(Report[TransactionRow]):
    """A row for each transaction. The last one of each transactional id stays open until the next begins."""

    name = "transactions"
    about = "each transaction: partitions, records, offsets, how it ended, how long it took"
    needs = KAFKA
    shares_name = True
    row = TransactionRow
    sentence = RowSentence(
        "{word}: transaction {transaction=}, {state}( after {length_ns%lasting}), {records%counted ,record}"
        "( to {partitions})"
    )
    selects = (("transaction", "kafka.transaction"),)
    key = ("transaction", "producer", "epoch")

    def _begin(self) -> None:
        self.latest: BoundedTable[str, TransactionKey] = BoundedTable()
        """By transactional id the transaction that began last."""
        self.producers: BoundedTable[int, TransactionKey] = BoundedTable()
        """The same by producer id."""
        self.timeouts: BoundedTable[str, int] = BoundedTable()

    def find_transaction(self, event: MessageEvent, id: str | None, producer: int, epoch: int) -> TransactionRow | None:
        """Returns the open transaction of a transactional id, made if there is none."""
        if id is None:
            return None
        key = id, producer, epoch
        row = self.rows.get(key)
        if row is not None and row.ended is not None:
            self.rows.pop(key)
            self.close(row)
            row = None
        if row is None:
            before = self.rows.get(self.latest.get(id))
            if before is not None and before.ended is None and (before.epoch or 0) < epoch:
                before.end(FENCED, event)
            row = self.find(key, event)
            row.client, row.host, row.timeout_ns = event.client_name, host_of(event.client), self.timeouts.get(id)
            row.note("begins", event)
            if before is None or (before.epoch or 0) <= epoch or before.producer != producer:
                self.latest[id] = self.producers[producer] = key
        row.hear(event)
        return row

    # ---- what begins a transaction, or adds to it

    def init(self, event: MessageEvent) -> None:
        """Notes an InitProducerId request: it gets the id of a producer, or its next epoch."""
        id = text(event.values, "transactionalId")
        if id is not None:
            self.timeouts[id] = number(event.values, "transactionTimeoutMs") * MILLISECOND
        self.await_answer(event, id)

    def answer_init(self, event: MessageEvent) -> None:
        """Handles the answer to InitProducerId: the new epoch aborts an open transaction of an earlier one."""
        id = self.take_request(event)
        row = self.rows.get(self.latest.get(id)) if isinstance(id, str) else None
        if row is not None and row.ended is None and read_error(event.values) is None:
            row.end(FENCED, event)

    def add_partitions(self, event: MessageEvent) -> None:
        """AddPartitionsToTxn of a producer; brokers ask for many at once, to verify what producers wrote."""
        values = event.values
        id = text(values, "v3AndBelowTransactionalId")
        row = self.find_transaction(
            event, id, number(values, "v3AndBelowProducerId", -1), number(values, "v3AndBelowProducerEpoch", -1)
        )
        if row is not None:
            topics = structs(values.get("v3AndBelowTopics"))
            row.write(
                (name, each) for topic in topics if (name := text(topic, "name"))
                for each in list_numbers(topic.get("partitions"))
            )  # fmt: skip
            self.await_answer(event, row)

    def add_offsets(self, event: MessageEvent) -> None:
        """Notes an AddOffsetsToTxn or a TxnOffsetCommit: offsets of a group."""
        values = event.values
        row = self.find_transaction(
            event,
            text(values, "transactionalId"),
            number(values, "producerId", -1),
            number(values, "producerEpoch", -1),
        )
        if row is not None:
            add_name(row.groups, text(values, "groupId"))
            row.offsets += sum(len(structs(topic.get("partitions"))) for topic in structs(values.get("topics")))
            self.await_answer(event, row)

    def receive_produce(self, event: MessageEvent) -> None:
        """Handles the batches of a transactional producer."""
        id = text(event.values, "transactionalId")
        for topic, partition, batch in list_batches(event) if id is not None else ():
            producer, epoch = number(batch, "producerId", -1), number(batch, "producerEpoch", -1)
            row = self.find_transaction(event, id, producer, epoch) if producer >= 0 else None
            if row is not None:
                row.write([(topic, partition)])
                row.batches += 1
                row.records += number(batch, "count")
                row.bytes += number(batch, "length")
                self.await_answer(event, row)

    def receive_answer(self, event: MessageEvent) -> None:
        """Handles the answer to a request of a transaction: whether it has an error anywhere."""
        row = self.take_request(event)
        if not isinstance(row, TransactionRow):
            return
        errors = dict.fromkeys(list_errors(event.values))
        row.hear(event)
        row.retries += CONCURRENT in errors
        for error in errors:
            if error != CONCURRENT:
                row.failures[error] += 1
                row.note("refused", event)
        state = _name_refusal(row, errors, event)
        if state is not None and row.ended is None:
            row.end(state, event)

    def receive_answers(self, merged: MergedMessages) -> None:
        """Handles many answers at once without an error."""
        row = self.take_requests(merged)
        if isinstance(row, TransactionRow):
            row.hear_all(merged)

    # ---- what ends one

    def ask_to_end(self, event: MessageEvent) -> None:
        """Notes when EndTxn comes, and what it asks for."""
        values = event.values
        id, producer = text(values, "transactionalId"), number(values, "producerId", -1)
        key = id or "", producer, number(values, "producerEpoch", -1)
        row = self.rows.get(key) or self.find_transaction(event, id, *key[1:])
        if row is not None:
            row.ending = row.ending or event.time
            row.note("ends", event)
            self.await_answer(event, (row, values.get("committed") is True))

    def answer_end(self, event: MessageEvent) -> None:
        """Notes the outcome in the answer to EndTxn."""
        pending = self.take_request(event)
        if pending is None:
            return
        row, committed = pending
        error = read_error(event.values)
        row.hear(event)
        if error == CONCURRENT:
            row.retries += 1
        elif error is not None:
            row.failures[error] += 1
            if row.ended is None:
                row.end(_name_refusal(row, [error], event) or FAILED, event)
        elif row.ended is None:
            row.end_ns = measure_elapsed(row.ending, event.time)
            row.end(COMMITTED if committed else ABORTED, event)

    def receive_markers(self, event: MessageEvent) -> None:
        """WriteTxnMarkers, from the coordinator to a broker."""
        for each in structs(event.values.get("markers")):
            row = self.rows.get(self.producers.get(number(each, "producerId", -1)))
            if row is not None and row.ending is not None:
                row.markers += sum(
                    len(list_numbers(topic.get("partitionIndexes"))) for topic in structs(each.get("topics"))
                )
                row.markers_ns = measure_elapsed(row.ending, event.time)
                row.note("markers", event)

    on = (
        subscribe_to("InitProducerId", REQUESTS, init, "transactionalId", "transactionTimeoutMs")
        | subscribe_to("InitProducerId", ANSWERS, answer_init, "errorCode")
        | subscribe_to(
            *("AddPartitionsToTxn", REQUESTS, add_partitions, "v3AndBelowTransactionalId", "v3AndBelowProducerId"),
            *("v3AndBelowProducerEpoch", "v3AndBelowTopics"),
        )
        | subscribe_to(
            *("AddPartitionsToTxn", ANSWERS, receive_answer, "errorCode"),
            ("resultsByTopicV3AndBelow", "resultsByPartition", "partitionErrorCode"),
        )
        | subscribe_to(
            *("AddOffsetsToTxn TxnOffsetCommit", REQUESTS, add_offsets, "transactionalId", "producerId"),
            *("producerEpoch", "groupId", "topics"),
        )
        | subscribe_to("AddOffsetsToTxn", ANSWERS, receive_answer, "errorCode")
        | subscribe_to("TxnOffsetCommit", ANSWERS, receive_answer, ("topics", "partitions", "errorCode"))
        | subscribe_to(
            *("Produce", REQUESTS, receive_produce, "transactionalId", ("topicData", "name"), ("topicData", "topicId")),
            ("topicData", "partitionData", "index"),
            *((*_RECORDS, name) for name in ("producerId", "producerEpoch", "count", "length")),
            merge=merge_by(
                None, numbers=((*_RECORDS, "count"), (*_RECORDS, "length")), quiet={("transactionalId",): None}
            ),
        )
        | subscribe_to(
            *("Produce", ANSWERS, receive_answer, _ANSWERED),
            merge=merge_by(receive_answers, quiet={_ANSWERED: 0}),
        )
        | subscribe_to("EndTxn", REQUESTS, ask_to_end, "transactionalId", "producerId", "producerEpoch", "committed")
        | subscribe_to("EndTxn", ANSWERS, answer_end, "errorCode")
        | subscribe_to("WriteTxnMarkers", REQUESTS, receive_markers, "markers")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message begins or ends a transaction, or has an error; rows mention no others."""
        if operation == "Produce":
            return bool(values.get("transactionalId") or any(list_errors(values)))
        return operation != "InitProducerId"
