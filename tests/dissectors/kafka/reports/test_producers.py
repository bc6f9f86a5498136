"""Producers: how they fill their batches, what they send again, and the advice."""

from __future__ import annotations

import lz4.frame
import pytest

from dissectors.kafka.records.headers import CONTENT
from dissectors.kafka.reports.producers import ENOUGH, ProducerReport
from tests.dissectors.kafka.reports.builder import ReportBuilder


def request(*batches: dict[str, object], partition: int = 0, **more: object) -> dict[str, object]:
    """A Produce request of batches to a partition of t."""
    return {"acks": -1, "timeoutMs": 30_000, **more, "topicData": [
        {"name": "t", "partitionData": [{"index": partition, "records": list(batches)}]}
    ]}  # fmt: skip


def batch(sequence: int = 0, count: int = 1, **more: object) -> dict[str, object]:
    """A batch of producer 7."""
    fields = {"producerId": 7, "producerEpoch": 0, "baseSequence": sequence, "count": count, "length": 100}
    return fields | {"compression": "none", "baseTimestamp": 1000, "maxTimestamp": 1004, **more}


def answer(error: int = 0, partition: int = 0, **more: object) -> dict[str, object]:
    """What a broker answers."""
    return {"responses": [{"name": "t", "partitionResponses": [{"index": partition, "errorCode": error}]}], **more}


def test_a_producer() -> None:
    found = ReportBuilder(ProducerReport)
    found.call("Produce", request(batch(0, 3)), answer(), took=4)
    found.call("Produce", request(batch(3, 2), partition=1, transactionalId="x"), answer(partition=1), took=6)
    (row,) = found.finish()
    assert (row["client"], row["host"], row["producer"], list(row["epochs"])) == ("c1", "10.0.0.1", 7, ["0"])
    assert (row["transaction"], list(row["acks"]), row["timeout_ns"]) == ("x", ["all"], 30_000_000_000)
    assert (list(row["topics"]), row["partitions"], row["requests"], row["batches"]) == (["t"], 2, 2, 2)
    assert (row["records"], row["bytes"], row["records_a_batch"], row["bytes_a_batch"]) == (5, 200, "2.50", 100)
    assert (row["linger_ns"], row["answer_ns"], row["compression"]) == (4_000_000, 5_000_000, ["none"])
    assert (row["retries"], row["errors"], row["advice"]) == ([], [], None)


def test_producers_are_distinguished() -> None:
    found = ReportBuilder(ProducerReport)
    found.send("Produce", request(batch()))
    found.send("Produce", request(batch(producerId=8)))
    found.send("Produce", request(batch(producerId=-1, baseSequence=-1)), client="old")
    found.send("Produce", request(acks=0), client="old")
    assert found.only("client", "producer", "requests") == [("c1", 7, 1), ("c1", 8, 1), ("old", None, 2)]


def test_what_is_sent_again_and_after_what() -> None:
    found = ReportBuilder(ProducerReport)
    found.call("Produce", request(batch(0)), answer(6))
    found.call("Produce", request(batch(0)), answer())
    found.send("Produce", request(batch(1)))
    found.call("Produce", request(batch(1)), answer())
    found.call("Produce", request(batch(1)), answer())
    (row,) = found.finish()
    assert row["retries"] == ["NOT_LEADER_OR_FOLLOWER", "no answer"]
    assert row["errors"] == ["t[0] NOT_LEADER_OR_FOLLOWER"]


@pytest.mark.parametrize(
    ("count", "advice"),
    [
        (1, "1.00 records a batch: raise linger.ms"),
        (5, None),
    ],
)
def test_advice_about_small_batches(count: int, advice: str | None) -> None:
    found = ReportBuilder(ProducerReport)
    for number in range(ENOUGH):
        found.send("Produce", request(batch(number * count, count), acks=0))
    assert found.only("advice") == [(advice,)]


def test_advice_needs_some_batches() -> None:
    found = ReportBuilder(ProducerReport)
    for number in range(ENOUGH - 1):
        found.send("Produce", request(batch(number), acks=0))
    assert found.only("advice") == [(None,)]


@pytest.mark.parametrize(
    ("plain", "is_advised"), [(b"some text, some text, some text, " * 20, False), (bytes(range(64)), True)]
)
def test_the_ratio_is_of_a_sample(plain: bytes, is_advised: bool) -> None:
    found = ReportBuilder(ProducerReport)
    packed = lz4.frame.compress(plain)
    for number in range(ENOUGH):
        found.send("Produce", request(batch(number * 9, 9, compression="lz4", **{CONTENT: packed}), acks=0))
    (row,) = found.finish()
    assert row["ratio"] == f"{len(packed) / len(plain):.2f}"
    assert ("larger batches compress better" in (row["advice"] or "")) is is_advised


def test_broken_content_has_no_ratio() -> None:
    found = ReportBuilder(ProducerReport)
    found.send("Produce", request(batch(compression="lz4", **{CONTENT: b"nothing"})))
    assert found.only("ratio", "compression") == [(None, ["lz4"])]


def test_throttling() -> None:
    found = ReportBuilder(ProducerReport)
    for number in range(ENOUGH):
        found.call("Produce", request(batch(number * 9, 9)), answer(throttleTimeMs=10))
    assert found.only("throttle_ns", "advice") == [(ENOUGH * 10_000_000, "the broker throttles it: see its quota")]
