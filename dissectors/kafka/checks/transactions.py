"""A check of transactions that were not ended in time.

Facts (KIP-98, KIP-890). The coordinator aborts a transaction that is not ended within transaction.timeout.ms, and
raises the epoch of its producer. Later requests of the producer are refused with the same errors as if another producer
had taken its transactional id. Another producer is visible by its InitProducerId.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import MILLISECOND, BoundedTable, MessageEvent, for_request, merge_by
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports.fields import ANSWERS, REQUESTS, read_error, subscribe_to
from dissectors.kafka.reports.transactions import TIMEOUT_ERRORS
from dissectors.slotted import make_slotted
from dissectors.values import number, text
from dissectors.wire.times import lasting


@make_slotted(frozen=False, eq=False)
class _Producer:
    """Who has a transactional id. stream: its connection to the coordinator. timeout: ns.

    began: when its transaction did, ns since 1970; None between two.
    """

    stream: int
    timeout: int
    began: int | None = None


class TransactionTimeouts(Check):
    """Finds transactions that the coordinator aborted because they took too long."""

    def _begin(self) -> None:
        self.producers: BoundedTable[str, _Producer] = BoundedTable()

    def init(self, event: MessageEvent) -> None:
        """Notes an InitProducerId request: a producer takes a transactional id."""
        id = text(event.values, "transactionalId")
        if id is not None:
            self.producers[id] = _Producer(event.stream, number(event.values, "transactionTimeoutMs") * MILLISECOND)

    def add(self, event: MessageEvent) -> None:
        """Notes a request that begins a transaction, or adds to it."""
        id = text(event.values, "v3AndBelowTransactionalId") or text(event.values, "transactionalId")
        known = None if id is None else self.producers.get(id)
        if known is not None and known.began is None:
            known.began = event.time

    def end(self, event: MessageEvent) -> None:
        """Notes an EndTxn request of a known producer, whose answer ends the transaction."""
        id = text(event.values, "transactionalId")
        if id in self.producers:
            self.await_answer(event, id)

    def answer_end(self, id: str, event: MessageEvent) -> None:
        """Handles the answer to EndTxn."""
        known, error = self.producers.get(id), read_error(event.values)
        if known is None or known.began is None:
            return
        took = event.time - known.began
        if error in TIMEOUT_ERRORS and known.stream == event.stream and 0 < known.timeout < took:
            sentence = (
                f"transaction {id} was not ended within its transaction.timeout.ms of {lasting(known.timeout)}, but "
                f"after {lasting(took)}, so the coordinator has aborted it and fenced its producer"
            )
            self.emit(Finding(Severity.WARNING, "transaction-timeout", sentence, subject=f"transaction {id}"))
        if error is None:
            known.began = None

    on = (
        subscribe_to("InitProducerId", REQUESTS, init, "transactionalId", "transactionTimeoutMs")
        | subscribe_to("AddPartitionsToTxn", REQUESTS, add, "v3AndBelowTransactionalId")
        | subscribe_to("AddOffsetsToTxn TxnOffsetCommit", REQUESTS, add, "transactionalId")
        | subscribe_to(
            "Produce", REQUESTS, add, "transactionalId", merge=merge_by(None, quiet={("transactionalId",): None})
        )
        | subscribe_to("EndTxn", REQUESTS, end, "transactionalId")
        | subscribe_to("EndTxn", ANSWERS, for_request(answer_end), "errorCode")
    )
