"""Partitions: leaders, replicas, traffic, and how long clients took to follow a move."""

from __future__ import annotations

from typing import Any

from dissectors.kafka.reports.partitions import PartitionReport
from tests.dissectors.kafka.reports.builder import ReportBuilder


def metadata(found: ReportBuilder, leader: int, epoch: int, in_sync: list[int], **more: Any) -> None:
    """Metadata of t[0]."""
    partition = {"partitionIndex": 0, "leaderId": leader, "leaderEpoch": epoch, "replicaNodes": [1, 2, 3]}
    partition |= {"isrNodes": in_sync, "offlineReplicas": more.pop("offline", [])}
    found.call("Metadata", {}, {"topics": [{"name": "t", "partitions": [partition]}]}, **more)


def produce(found: ReportBuilder, error: int = 0, **more: Any) -> None:
    """A batch of three records to t[0], and the answer."""
    data = [{"index": 0, "records": [{"count": 3, "length": 60}]}]
    reported = [{"index": 0, "errorCode": error, "currentLeader": more.pop("current", None)}]
    answer = {"responses": [{"name": "t", "partitionResponses": reported}]}
    found.call("Produce", {"topicData": [{"name": "t", "partitionData": data}]}, answer, **more)


def test_a_partition_and_its_traffic() -> None:
    found = ReportBuilder(PartitionReport)
    metadata(found, 1, 5, [3, 1, 2])
    produce(found)
    fetched = [{"partitionIndex": 0, "errorCode": 0, "records": [{"count": 2, "length": 40}]}]
    for replica in (-1, 2):
        found.call("Fetch", {"replicaId": replica}, {"responses": [{"topic": "t", "partitions": fetched}]})
    (row,) = found.finish()
    assert (row["topic"], row["partition"], row["leader"], row["epoch"], row["leaders"]) == (
        "t",
        0,
        1,
        5,
        ["1 (epoch 5)"],
    )
    assert (row["replicas"], row["in_sync"], row["moves"]) == (3, ["1", "2", "3"], 0)
    assert (row["produced"], row["produced_bytes"], row["fetched"], row["fetched_bytes"]) == (3, 60, 4, 80)
    assert (row["writers"], row["readers"]) == (1, 1)


def test_a_leader_moves_and_clients_follow() -> None:
    found = ReportBuilder(PartitionReport)
    metadata(found, 1, 5, [1, 2, 3])
    produce(found, error=6)
    produce(found, error=6, after=100)
    metadata(found, 2, 6, [2, 3], offline=[1])
    produce(found, after=50)
    (row,) = found.finish()
    assert (row["moves"], row["leader"], row["leaders"]) == (1, 2, ["1 (epoch 5)", "2 (epoch 6)"])
    assert (row["isr_changes"], row["least_in_sync"], list(row["offline"])) == (1, 2, ["1"])
    assert (row["sent_away"], row["follow_ns"], row["errors"]) == (2, 154_000_000, ["NOT_LEADER_OR_FOLLOWER 2x"])


def test_an_answer_tells_the_new_leader() -> None:
    found = ReportBuilder(PartitionReport)
    metadata(found, 1, 5, [1])
    produce(found, error=6, current={"leaderId": 3, "leaderEpoch": 7})
    assert found.only("leader", "epoch", "moves") == [(3, 7, 1)]


def test_old_metadata_changes_nothing() -> None:
    found = ReportBuilder(PartitionReport)
    metadata(found, 2, 6, [1])
    metadata(found, 1, 5, [1])
    assert found.only("leader", "epoch", "moves") == [(2, 6, 0)]


def test_a_partition_without_a_leader() -> None:
    found = ReportBuilder(PartitionReport)
    metadata(found, 1, 5, [1])
    metadata(found, -1, 6, [1])
    metadata(found, 1, 7, [1])
    assert found.only("leader", "moves", "leaders") == [(1, 1, ["1 (epoch 5)", "-1 (epoch 6)", "1 (epoch 7)"])]
