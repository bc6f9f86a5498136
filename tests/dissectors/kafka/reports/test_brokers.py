"""Brokers: answer times, the quorum of controllers, registration, and followers."""

from __future__ import annotations

from dissectors.kafka.reports.brokers import BrokerReport
from tests.dissectors.kafka.reports.builder import ReportBuilder


def test_answers_and_their_times() -> None:
    found = ReportBuilder(BrokerReport)
    found.call("Produce", {}, {"throttleTimeMs": 5}, took=2)
    found.call("Produce", {}, {}, took=8, stream=2)
    found.call("Fetch", {}, {"responses": []}, took=500)
    found.call("OffsetCommit", {}, {"errorCode": 16}, stream=51)
    first, second = found.finish()
    assert (first["address"], first["connections"], first["requests"]) == ("10.0.1.1:9092", 2, 3)
    assert (first["answer_ns"], first["slowest_ns"], first["throttled_ns"]) == (5_000_000, 8_000_000, 5_000_000)
    assert (second["address"], second["errors"]) == ("10.0.1.2:9092", ["NOT_COORDINATOR"])


def test_metadata_names_brokers() -> None:
    found = ReportBuilder(BrokerReport)
    brokers = [{"nodeId": 1, "host": "a", "port": 9092, "rack": "r"}, {"nodeId": 2, "host": "b", "port": 9093}]
    found.call("Metadata", {}, {"brokers": brokers, "controllerId": 2})
    assert found.only("address", "broker", "rack", "controller") == [
        ("10.0.1.1:9092", 1, "r", None),
        ("b:9093", 2, None, "named"),
    ]


def test_votes_and_leaders_of_the_quorum() -> None:
    found = ReportBuilder(BrokerReport)
    candidate = [{"partitions": [{"candidateId": 3, "candidateEpoch": 4}]}]
    found.send("Vote", {"topics": candidate})
    found.send("BeginQuorumEpoch", {"topics": [{"partitions": [{"leaderId": 3, "leaderEpoch": 4}]}]})
    (row,) = found.finish()
    assert (row["address"], row["broker"], row["controller"], row["votes"]) == ("broker 3", 3, "leads", 1)
    assert list(row["controller_epochs"]) == ["4 (candidate)", "4"]


def test_registration_and_fencing() -> None:
    found = ReportBuilder(BrokerReport)
    found.send("BrokerRegistration", {"brokerId": 2, "rack": "r"})
    for is_fenced in (True, False, True):
        found.call("BrokerHeartbeat", {"brokerId": 2}, {"isFenced": is_fenced})
    assert found.only("broker", "rack", "registrations", "heartbeats", "fenced") == [(2, "r", 1, 3, 2)]


def test_followers_and_their_lag() -> None:
    found = ReportBuilder(BrokerReport)
    topics = [{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 90}]}]
    log = [{"topic": "__cluster_metadata", "partitions": [{"partition": 0, "fetchOffset": 0}]}]
    answer = {"responses": [{"topic": "t", "partitions": [{"partitionIndex": 0, "highWatermark": 100}]}]}
    found.call("Fetch", {"replicaState": {"replicaId": 2}, "topics": topics}, answer)
    found.call("Fetch", {"replicaState": {"replicaId": 2}, "topics": log}, {"responses": []})
    (row,) = found.finish()
    assert (row["broker"], row["follower_fetches"], row["metadata_fetches"], row["follower_lag"]) == (2, 2, 1, 10)
