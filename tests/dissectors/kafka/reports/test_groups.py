"""Rebalances: who began them, who came late, what moved, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Role
from dissectors.kafka.reports.assignments import compare_assignments, format_partitions
from dissectors.kafka.reports.groups import GroupReport
from tests.dissectors.kafka.reports.builder import ReportBuilder, assignment, subscription

G = {"groupId": "g", "protocolType": "consumer"}


class Group(ReportBuilder):
    """A group `g` whose member on stream N is `cN-id`."""

    def __init__(self) -> None:
        super().__init__(GroupReport)

    def join(self, stream: int, *, reason: str | None = None, topics: tuple[str, ...] = ("t",), **more: Any) -> int:
        """A member asks to join; the row of the request."""
        values = {**G, "memberId": f"c{stream}-id", "protocols": subscription(*topics)}
        values |= {
            "sessionTimeoutMs": 6000,
            "rebalanceTimeoutMs": 5000,
            "reason": reason,
            "groupInstanceId": more.pop("instance", None),
        }
        return self.send("JoinGroup", values, stream=stream, partner=1_000 + stream, **more)

    def joined(self, row: int, stream: int, generation: int, members: tuple[int, ...] = (), **more: Any) -> None:
        """The answer to that, with all members where it is the leader's."""
        values = {"generationId": generation, "protocolName": "range", "memberId": more.pop("id", f"c{stream}-id")}
        values["members"] = [{"memberId": f"c{each}-id"} for each in members]
        self.report.requests[1_000 + stream] = self.report.requests.pop(row)
        self.send("JoinGroup", values, role=Role.RESPONSE, stream=stream, partner=1_000 + stream, **more)

    def sync(self, stream: int, given: dict[int, list[int]] | None = None) -> None:
        """A member syncs; the leader gives everyone partitions of t."""
        assignments = [
            {"memberId": f"c{each}-id", "assignment": assignment(t=got)} for each, got in (given or {}).items()
        ]
        self.call("SyncGroup", {**G, "memberId": f"c{stream}-id", "assignments": assignments}, {}, stream=stream)

    def rebalance(self, generation: int, given: dict[int, list[int]], late: int = 10) -> None:
        """All join, the first at once and the others later; the first leads."""
        rows = [self.join(stream, after=late if number else 1) for number, stream in enumerate(given)]
        for number, (row, stream) in enumerate(zip(rows, given, strict=True)):
            self.joined(row, stream, generation, tuple(given) if not number else ())
        for number, stream in enumerate(given):
            self.sync(stream, given if not number else None)


def test_the_first_rebalance() -> None:
    group = Group()
    group.rebalance(1, {1: [0, 1], 2: [2, 3]})
    (row,) = group.finish()
    assert (row["state"], row["cause"], row["before"], row["generation"]) == ("complete", "c1 joined", None, 1)
    assert (row["members"], list(row["joined"]), row["late"]) == (2, ["c1", "c2"], "c2, after 10 ms")
    assert row["assignment"] == ["c1: t[0-1]", "c2: t[2-3]"]
    assert (row["join_ns"], row["sync_ns"], row["stood_still_ns"]) == (11_000_000, 5_000_000, 16_000_000)
    assert (row["moved"], row["needless"], row["errors"]) == (0, 0, [])


def test_a_member_joins_and_takes_partitions_over() -> None:
    group = Group()
    group.rebalance(1, {1: [0, 1, 2, 3]})
    group.rebalance(2, {1: [0, 1], 2: [2, 3]})
    _, row = group.finish()
    assert (row["before"], row["generation"], list(row["joined"])) == (1, 2, ["c2"])
    assert row["changes"] == ["c1 -t[2-3]", "c2 +t[2-3]"]
    assert (row["moved"], row["needless"]) == (2, 0)


def test_needless_moves_are_counted() -> None:
    group = Group()
    group.rebalance(1, {1: [0, 1], 2: [2, 3]})
    group.rebalance(2, {1: [2, 3], 2: [0, 1]})
    _, row = group.finish()
    assert (row["moved"], row["needless"]) == (4, 4)


def test_a_member_leaves_with_its_reason() -> None:
    group = Group()
    group.rebalance(1, {1: [0], 2: [1]})
    group.send("LeaveGroup", {"groupId": "g", "members": [{"memberId": "c2-id", "reason": "poll timeout"}]}, stream=2)
    group.rebalance(2, {1: [0, 1]})
    _, row = group.finish()
    assert row["cause"] == "c2 left: poll timeout"
    assert (list(row["left"]), row["members"], row["changes"]) == (["c2 (poll timeout)"], 1, ["c1 +t[1]", "c2 -t[1]"])
    assert row["moved"] == 0


def test_the_last_member_leaves() -> None:
    group = Group()
    group.rebalance(1, {1: [0]})
    group.send("LeaveGroup", {"groupId": "g", "memberId": "c1-id"})
    assert [(row["state"], row["members"]) for row in group.finish()] == [("complete", 1), ("empty", 0)]
    assert list_events(group)[1] == "group g lost its last member"


def test_members_that_nobody_knows_are_not_the_last_ones() -> None:
    group = Group()
    group.send("LeaveGroup", {"groupId": "g", "members": [{"groupInstanceId": "a"}, {"groupInstanceId": "b"}]})
    assert {row["state"] for row in group.finish()} == {"empty"}
    assert list_events(group) == []


def list_events(group: Group) -> list[str]:
    return [text for entry in group.entries for _, _, text in GroupReport.list_events(entry)]


def test_a_member_that_falls_silent() -> None:
    group = Group()
    group.rebalance(1, {1: [0], 2: [1]})
    beat = {"groupId": "g", "memberId": "c1-id", "generationId": 1}
    group.call("Heartbeat", beat, {"errorCode": 0}, after=4000)
    group.call("Heartbeat", beat, {"errorCode": 27}, after=4000)
    group.rebalance(2, {1: [0, 1]})
    _, row = group.finish()
    assert row["cause"] == "c2 was silent for 8 s, its session timeout is 6 s"
    assert list(row["left"]) == ["c2 (did not join again, silent for 8 s)"]
    assert row["errors"] == []


def test_errors_that_follow_are_of_the_rebalance() -> None:
    group = Group()
    group.rebalance(1, {1: [0], 2: [1]})
    for _ in range(2):
        group.call("Heartbeat", {"groupId": "g", "memberId": "c2-id"}, {"errorCode": 22}, stream=2)
    group.call("Heartbeat", {"groupId": "g", "memberId": "c2-id"}, {"errorCode": 25}, stream=2)
    partition = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 25}]}]}
    group.call("OffsetCommit", {"groupId": "g", "memberId": "c2-id"}, partition, stream=2)
    (row,) = group.finish()
    assert row["errors"] == ["ILLEGAL_GENERATION 2x", "UNKNOWN_MEMBER_ID 2x"]
    assert list(row["left"]) == ["c2 (expelled)"]


@pytest.mark.parametrize(
    ("reason", "topics", "cause"),
    [
        ("need to revoke partitions and re-join", ("t",), "c1 asked for it: need to revoke partitions and re-join"),
        (None, ("t", "u"), "c1 subscribes to other topics: t, u"),
        ("group is already rebalancing", ("t",), None),
    ],
)
def test_a_known_member_begins(reason: str | None, topics: tuple[str, ...], cause: str | None) -> None:
    group = Group()
    group.rebalance(1, {1: [0]})
    group.joined(group.join(1, reason=reason, topics=topics), 1, 2, (1,))
    assert group.finish()[-1]["cause"] == cause


def test_a_client_without_id_is_sent_back_once() -> None:
    group = Group()
    group.call(
        "JoinGroup", {**G, "memberId": "", "protocols": subscription("t")}, {"errorCode": 79, "memberId": "c1-id"}
    )
    group.rebalance(1, {1: [0]})
    (row,) = group.finish()
    assert (row["cause"], row["errors"]) == ("c1 joined", [])


def test_a_static_member_comes_back_to_its_generation() -> None:
    group = Group()
    group.rebalance(1, {1: [0]})
    first = group.join(1, instance="i1")
    group.joined(first, 1, 2, (1,))
    group.sync(1, {1: [0]})
    again = group.send("JoinGroup", {**G, "memberId": "", "groupInstanceId": "i1", "protocols": []}, partner=1_001)
    group.joined(again, 1, 2, id="c1-new")
    row = group.finish()[-1]
    assert (row["state"], row["cause"]) == ("unchanged", "static member i1 came back")


def test_a_rebalance_that_is_not_over() -> None:
    group = Group()
    group.joined(group.join(1), 1, 1, (1,))
    (row,) = group.finish()
    assert (row["state"], row["generation"], row["stood_still_ns"]) == ("unfinished", 1, None)


def beat(
    group: ReportBuilder, stream: int, epoch: int, answer: int, given: list[int] | None = None, **more: Any
) -> None:
    """A heartbeat of KIP-848 and its answer."""
    requested = {"groupId": "n", "memberId": f"m{stream}", "memberEpoch": epoch, "subscribedTopicNames": ["t"]}
    parts = None if given is None else {"topicPartitions": [{"topicId": "id-of-t", "partitions": given}]}
    group.call(
        *("ConsumerGroupHeartbeat", requested, {"memberId": f"m{stream}", "memberEpoch": answer, "assignment": parts}),
        stream=stream,
        **more,
    )


def test_a_group_of_heartbeats() -> None:
    group = ReportBuilder(GroupReport)
    beat(group, 1, 0, 1, [0, 1])
    beat(group, 2, 0, 2, [], after=500)
    beat(group, 1, 1, 2, [0], after=500)
    beat(group, 2, 2, 2, [1], after=500)
    beat(group, 2, -1, -1)
    beat(group, 1, 2, 3, [0, 1], after=500)
    first, second, third = group.finish()
    assert (first["kind"], first["cause"], first["generation"]) == ("consumer (KIP-848)", "c1 joined", 1)
    assert (second["cause"], second["before"], second["generation"]) == ("c2 joined", 1, 2)
    assert second["changes"] == ["c1 -id-of-t[1]", "c2 +id-of-t[1]"]
    assert second["stood_still_ns"] == 502_000_000
    assert (third["cause"], list(third["left"]), third["state"]) == ("c2 left", ["c2 (left)"], "complete")
    assert third["changes"] == ["c1 +id-of-t[1]", "c2 -id-of-t[1]"]


@pytest.mark.parametrize(
    ("partitions", "text"),
    [
        ([], ""),
        ([("t", 0)], "t[0]"),
        ([("t", 2), ("t", 1), ("t", 0), ("t", 5), ("a", 3)], "a[3], t[0-2, 5]"),
        ([("t", 2 * n) for n in range(9)], "t[0, 2, 4, 6, 8, 10, 12, 14, ...]"),
        ([(f"t{n}", 0) for n in range(9)], "t0[0], t1[0], t2[0], t3[0], t4[0], t5[0], t6[0], t7[0], 1 more topics"),
    ],
)
def test_partitions_in_a_text(partitions: list[tuple[str, int]], text: str) -> None:
    assert format_partitions(partitions) == text


def test_partitions_of_who_left_have_not_moved() -> None:
    a, b = frozenset({("t", 0)}), frozenset({("t", 1)})
    change = compare_assignments({("t", 0): "a", ("t", 1): "b"}, {"a": a, "b": b}, {"a": a | b})
    assert (change.moved, change.needless, change.gained["a"], change.lost["b"]) == (0, 0, b, b)


def diagnose(group: Group) -> list[tuple[str, str]]:
    group.finish()
    return [(finding.code, finding.text) for _, finding in GroupReport.diagnose(group.entries)]


def test_a_member_that_was_killed_is_told_from_one_that_pauses() -> None:
    group = Group()
    group.rebalance(1, {1: [0], 2: [1]})
    beat = {"groupId": "g", "memberId": "c1-id", "generationId": 1}
    group.call("Heartbeat", beat, {"errorCode": 0}, after=4000)
    group.end(2)
    group.call("Heartbeat", beat, {"errorCode": 27}, after=4000)
    group.rebalance(2, {1: [0, 1]})
    ((_, text),) = diagnose(group)
    assert "c2 (did not join again, silent for 8 s; it closed its connection 4 s before)" in text


@pytest.mark.parametrize(("stream", "after", "count"), [(2, 5000, 1), (2, 1000, 0), (3, 5000, 0)])
def test_a_member_that_leaves_and_comes_back_had_not_polled(stream: int, after: int, count: int) -> None:
    """Its client left for it, if that was max.poll.interval.ms behind the last rebalance."""
    group = Group()
    group.rebalance(1, {1: [0], 2: [1]})
    group.send("LeaveGroup", {"groupId": "g", "members": [{"memberId": "c2-id"}]}, stream=2, after=after)
    group.rebalance(2, {1: [0, 1]})
    row = group.join(stream, client="c2", after=1000)
    group.joined(row, stream, 3, id="c2-new")
    found = [text for code, text in diagnose(group) if code == "member-expelled"]
    assert len(found) == count
    assert all("it did not poll within max.poll.interval.ms, which is 5 s" in text for text in found)


def test_joins_and_leaves_are_no_problem() -> None:
    group = Group()
    group.rebalance(1, {1: [0]})
    group.rebalance(2, {1: [0], 2: [1]})
    group.send("LeaveGroup", {"groupId": "g", "members": [{"memberId": "c2-id", "reason": "the consumer is closed"}]})
    group.rebalance(3, {1: [0, 1]})
    assert diagnose(group) == []


def test_a_member_that_fell_silent_is_a_problem() -> None:
    group = Group()
    group.rebalance(1, {1: [0], 2: [1]})
    beat = {"groupId": "g", "memberId": "c1-id", "generationId": 1}
    group.call("Heartbeat", beat, {"errorCode": 0}, after=4000)
    group.call("Heartbeat", beat, {"errorCode": 27}, after=4000)
    group.rebalance(2, {1: [0, 1]})
    ((code, text),) = diagnose(group)
    assert code == "member-expelled"
    assert text.startswith("group g lost c2 (did not join again, silent for 8 s); the group stood still for ")


def test_a_group_that_rebalances_all_the_time_is_a_problem() -> None:
    group = Group()
    for generation in range(1, 8):
        group.rebalance(generation, {1: [0], generation + 1: [1]})
    codes = [code for code, _ in diagnose(group)]
    assert codes.count("rebalance-storm") == 1
