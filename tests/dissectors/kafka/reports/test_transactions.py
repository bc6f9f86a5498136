"""Transactions: from their first partition to their end."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.kafka.reports.transactions import TransactionReport
from tests.dissectors.kafka.reports.builder import ReportBuilder

X = {"transactionalId": "x", "producerId": 7, "producerEpoch": 0}


def add(found: ReportBuilder, *partitions: int, epoch: int = 0, error: int = 0, **more: Any) -> int:
    """AddPartitionsToTxn of partitions of t."""
    requested = {
        "v3AndBelowTransactionalId": "x", "v3AndBelowProducerId": 7, "v3AndBelowProducerEpoch": epoch,
        "v3AndBelowTopics": [{"name": "t", "partitions": list(partitions)}],
    }  # fmt: skip
    results = [{"partitionIndex": each, "partitionErrorCode": error} for each in partitions]
    return found.call(
        "AddPartitionsToTxn", requested, {"resultsByTopicV3AndBelow": [{"resultsByPartition": results}]}, **more
    )


def produce(found: ReportBuilder, count: int, partition: int = 0, epoch: int = 0, error: int = 0, **more: Any) -> int:
    """A transactional batch."""
    batch = {"producerId": 7, "producerEpoch": epoch, "count": count, "length": 50}
    data = [{"name": "t", "partitionData": [{"index": partition, "records": [batch]}]}]
    reported = {"responses": [{"name": "t", "partitionResponses": [{"index": partition, "errorCode": error}]}]}
    return found.call("Produce", {"transactionalId": "x", "topicData": data}, reported, **more)


def end(found: ReportBuilder, committed: bool = True, error: int = 0, epoch: int = 0, **more: Any) -> int:
    """EndTxn."""
    requested = X | {"committed": committed, "producerEpoch": epoch}
    return found.call("EndTxn", requested, {"errorCode": error}, **more)


@pytest.mark.parametrize(("committed", "state"), [(True, "committed"), (False, "aborted")])
def test_a_transaction(committed: bool, state: str) -> None:
    found = ReportBuilder(TransactionReport)
    found.call("InitProducerId", {"transactionalId": "x", "transactionTimeoutMs": 60_000}, {"producerId": 7})
    begin = add(found, 0, 1)
    produce(found, 3)
    produce(found, 2, 1)
    found.call("AddOffsetsToTxn", X | {"groupId": "g"}, {})
    offsets = [{"name": "in", "partitions": [{"partitionIndex": 0}, {"partitionIndex": 1}]}]
    found.call("TxnOffsetCommit", X | {"groupId": "g", "topics": offsets}, {"topics": []})
    last = end(found, committed, took=5)
    (row,) = found.finish()
    assert (row["transaction"], row["producer"], row["epoch"], row["state"]) == ("x", 7, 0, state)
    assert (row["partitions"], row["batches"], row["records"], row["bytes"]) == ("t[0-1]", 2, 5, 100)
    assert (list(row["groups"]), row["offsets"], row["timeout_ns"]) == (["g"], 2, 60_000_000_000)
    assert (row["end_ns"], row["length_ns"], row["errors"]) == (5_000_000, 15_000_000, [])
    assert found.said(begin) == [f"begins: transaction x, {state} after 15 ms, 5 records to t[0-1]"]
    assert found.said(last + 1) == [f"{state}: transaction x, {state} after 15 ms, 5 records to t[0-1]"]


def test_one_after_the_other() -> None:
    found = ReportBuilder(TransactionReport)
    for records in (1, 2):
        produce(found, records)
        end(found)
    assert found.only("records", "state") == [(1, "committed"), (2, "committed")]


def test_the_next_one_waits_for_the_markers() -> None:
    found = ReportBuilder(TransactionReport)
    add(found, 0, error=51)
    add(found, 0, error=51)
    add(found, 0)
    markers = [{"producerId": 7, "topics": [{"name": "t", "partitionIndexes": [0]}]}]
    found.send("EndTxn", X | {"committed": True}, partner=100)
    found.send("WriteTxnMarkers", {"markers": markers}, stream=60, after=7)
    (row,) = found.finish()
    assert (row["retries"], row["errors"], row["state"]) == (2, [], "open")
    assert (row["markers"], row["markers_ns"]) == (1, 7_000_000)


def test_another_producer_fences_it() -> None:
    found = ReportBuilder(TransactionReport)
    produce(found, 1)
    found.call("InitProducerId", {"transactionalId": "x"}, {"producerId": 7, "producerEpoch": 1}, stream=2)
    produce(found, 4, epoch=1, stream=2)
    end(found, epoch=1, stream=2)
    produce(found, 1, error=47)
    end(found, error=90)
    assert found.only("epoch", "state", "records", "errors") == [
        (0, "fenced", 1, []),
        (1, "committed", 4, []),
        (0, "fenced", 1, ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"]),
    ]


def test_an_end_that_is_refused() -> None:
    found = ReportBuilder(TransactionReport)
    produce(found, 1)
    end(found, error=48)
    assert found.only("state", "errors") == [("failed", ["INVALID_TXN_STATE"])]


def test_what_is_not_ended_is_open() -> None:
    found = ReportBuilder(TransactionReport)
    add(found, 0)
    assert found.only("state", "ended", "length_ns") == [("open", None, None)]


def test_batches_without_a_transaction_have_none() -> None:
    found = ReportBuilder(TransactionReport)
    batch = {"producerId": 7, "producerEpoch": 0, "count": 1, "length": 50}
    found.send("Produce", {"topicData": [{"name": "t", "partitionData": [{"index": 0, "records": [batch]}]}]})
    assert found.finish() == []
