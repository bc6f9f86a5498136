"""Members: from when they joined until they left, and how."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.kafka.reports.members import MemberReport
from tests.dissectors.kafka.reports.builder import ReportBuilder, assignment

ME = {"groupId": "g", "memberId": "c1-id"}
JOINED = {"generationId": 1, "memberId": "c1-id"}


def member(**more: Any) -> ReportBuilder:
    """A report with a member that has joined; its session timeout is 6 s."""
    found = ReportBuilder(MemberReport)
    found.send("ApiVersions", {"clientSoftwareName": "librdkafka", "clientSoftwareVersion": "2.6"})
    found.call("JoinGroup", {**ME, "sessionTimeoutMs": 6000, "rebalanceTimeoutMs": 300_000, **more}, JOINED)
    return found


def test_a_member_to_the_end() -> None:
    found = member()
    found.call("SyncGroup", ME, {"assignment": assignment(t=[0, 1])})
    found.call("Heartbeat", ME, {}, after=3000)
    found.call("OffsetCommit", ME, {"topics": []}, after=500)
    (row,) = found.finish()
    assert (row["group"], row["member"], row["client"], row["host"]) == ("g", "c1-id", "c1", "10.0.0.1")
    assert (row["software"], row["state"], row["joined"], row["ended"]) == ("librdkafka 2.6", "open", 3_000_000, None)
    assert (row["timeout_ns"], row["rebalance_timeout_ns"]) == (6_000_000_000, 300_000_000_000)
    assert (row["heartbeats"], row["commits"], row["joins"], row["partitions"]) == (1, 1, 1, "t[0-1]")
    assert (row["silence_ns"], row["late"], row["errors"]) == (3_001_000_000, 0, [])


def test_who_is_silent_for_too_long_is_expelled() -> None:
    found = member()
    found.call("Heartbeat", ME, {"errorCode": 25}, after=7000)
    (row,) = found.finish()
    assert (row["state"], row["late"], row["silence_ns"]) == ("expelled", 1, 7_000_000_000)
    assert row["errors"] == ["UNKNOWN_MEMBER_ID"]


@pytest.mark.parametrize(
    ("reason", "missed"),
    [("the consumer is being closed", None), ("consumer poll timeout has expired.", "yes"), (None, None)],
)
def test_a_member_leaves(reason: str | None, missed: str | None) -> None:
    found = member()
    found.send("LeaveGroup", {"groupId": "g", "members": [{"memberId": "c1-id", "reason": reason}]})
    (row,) = found.finish()
    assert (row["state"], row["reason"], row["missed_poll"]) == ("left", reason, missed)


def test_an_old_leave_names_the_member_itself() -> None:
    found = member()
    found.send("LeaveGroup", ME)
    assert found.only("state") == [("left",)]


def test_a_static_member_is_replaced_or_fenced() -> None:
    found = member(groupInstanceId="i")
    found.call("JoinGroup", {**ME, "memberId": "", "groupInstanceId": "i"}, {"memberId": "new"})
    found.call("Heartbeat", {"groupId": "g", "memberId": "new", "groupInstanceId": "i"}, {"errorCode": 82})
    assert found.only("member", "instance", "state") == [("c1-id", "i", "replaced"), ("new", "i", "fenced")]


def test_who_is_refused_is_no_member() -> None:
    found = ReportBuilder(MemberReport)
    found.call("JoinGroup", {"groupId": "g", "memberId": ""}, {"errorCode": 79, "memberId": "x"})
    found.call("JoinGroup", {"groupId": "g", "memberId": "x"}, {"errorCode": 30})
    assert found.finish() == []


def test_heartbeats_that_rebalance_are_no_errors() -> None:
    found = member()
    found.call("Heartbeat", ME, {"errorCode": 27})
    assert found.only("state", "errors") == [("open", [])]


def test_a_member_of_heartbeats() -> None:
    found = ReportBuilder(MemberReport)
    requested = {"groupId": "g", "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60_000}
    given = {"topicPartitions": [{"topicId": "T", "partitions": [0]}]}
    found.call("ConsumerGroupHeartbeat", requested, {"memberId": "m", "memberEpoch": 1, "assignment": given})
    found.call(
        "ConsumerGroupHeartbeat", requested | {"memberEpoch": 1}, {"memberId": "m", "memberEpoch": 1}, after=2000
    )
    found.call("ConsumerGroupHeartbeat", requested | {"memberEpoch": -1}, {"memberId": "m", "memberEpoch": -1})
    (row,) = found.finish()
    assert (row["state"], row["heartbeats"], row["partitions"], row["joins"]) == ("left", 3, "T[0]", 1)
    assert row["silence_ns"] == 2_000_000_000
