"""The story of groups: members, what they subscribe to, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dissectors.rocketmq.reports.groups import GroupReport
from tests.dissectors.rocketmq.reports.command_report import BROKER, CommandReportBuilder
from tests.dissectors.telling import MS


def beat(lines: CommandReportBuilder, client: str = "c1", wish: str = "*", **more: Any) -> None:
    of_retry = {"topic": "%RETRY%g", "subString": "*", "expressionType": "TAG"}
    wishes = [of_retry, {"topic": "t", "subString": wish, "expressionType": "TAG"}]
    consumer = {
        "groupName": "g",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": wishes,
    }
    lines.call("HEART_BEAT", body={"clientID": client, "consumerDataSet": [consumer], "producerDataSet": []}, **more)


def nothing_new(lines: CommandReportBuilder, client: str = "c1", **more: Any) -> None:
    lines.call("HEART_BEAT", body={"clientID": client, "withoutSub": True, "consumerDataSet": []}, **more)


def leave(lines: CommandReportBuilder, client: str = "c1", **more: Any) -> None:
    lines.call("UNREGISTER_CLIENT", clientID=client, consumerGroup="g", **more)


def queues(*numbers: int) -> list[dict[str, Any]]:
    return [{"topic": "t", "brokerName": "a", "queueId": number} for number in numbers]


def lock(
    lines: CommandReportBuilder, asked: list[dict[str, Any]], got: list[dict[str, Any]], name: str = "LOCK_BATCH_MQ"
) -> None:
    body = {"consumerGroup": "g", "clientId": "c1", "mqSet": asked}
    lines.call(name, body=body, answer={"lockOKMQSet": got})


def whole(lines: CommandReportBuilder) -> None:
    beat(lines)
    lines.tell("NOTIFY_CONSUMER_IDS_CHANGED", from_client=False, consumerGroup="g")
    lines.call("GET_CONSUMER_LIST_BY_GROUP", consumerGroup="g", answer={"consumerIdList": ["c1", "c2"]})
    nothing_new(lines, after=30_000)
    leave(lines)


def locked(lines: CommandReportBuilder) -> None:
    beat(lines)
    lock(lines, queues(0, 1, 2), queues(0, 1))
    lock(lines, queues(1), [], "UNLOCK_BATCH_MQ")


def lost(lines: CommandReportBuilder) -> None:
    beat(lines)
    beat(lines, stream=12)
    lines.end(11)
    lines.end(12)


def one_connection_left(lines: CommandReportBuilder) -> None:
    beat(lines)
    beat(lines, stream=12)
    lines.end(11)


def came_back(lines: CommandReportBuilder) -> None:
    beat(lines)
    lines.end(11)
    beat(lines, stream=12, after=90_000)


CASES: dict[str, tuple[Callable[[CommandReportBuilder], None], dict[str, Any]]] = {
    "whole": (
        whole,
        {"group": "g", "part": "consumer", "client": "c1", "state": "left", "heartbeats": 2, "notified": 1, "lists": 1}
        | {"members": 2, "longest_silence_ns": 30_004 * MS, "kind": "push", "model": "CLUSTERING", "differs": []}
        | {"subscriptions": ["%RETRY%g *", "t *"], "brokers": [BROKER], "begins": "CONSUME_FROM_LAST_OFFSET"},
    ),
    "in order": (locked, {"locked": 1, "refused": 1, "state": "open"}),
    "lost": (lost, {"state": "lost", "heartbeats": 2, "addresses": ["10.0.0.1:50011", "10.0.0.2:50012"]}),
    "one connection left": (one_connection_left, {"state": "open", "ended": None}),
    "came back": (came_back, {"state": "open", "ended": None, "heartbeats": 2, "longest_silence_ns": None}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_member(case: str) -> None:
    tell, expected = CASES[case]
    lines = CommandReportBuilder(GroupReport)
    tell(lines)
    (line,) = lines.finish()
    assert {name: line[name] for name in expected} == expected


def test_members_that_do_not_subscribe_alike() -> None:
    lines = CommandReportBuilder(GroupReport)
    beat(lines)
    beat(lines, "c2", "TagA", stream=12)
    beat(lines, "c3", stream=13)
    leave(lines, "c3", stream=13)
    assert lines.only("client", "differs") == [("c1", ["t"]), ("c2", ["t"]), ("c3", [])]


def test_who_left_differs_from_nobody() -> None:
    lines = CommandReportBuilder(GroupReport)
    beat(lines)
    beat(lines, "c2", "TagA", stream=12)
    leave(lines, "c2", stream=12)
    assert lines.only("differs") == [([],), ([],)]


def test_producers_have_lines_too() -> None:
    lines = CommandReportBuilder(GroupReport)
    lines.call("HEART_BEAT", body={"clientID": "p", "producerDataSet": [{"groupName": "h"}]})
    lines.call("UNREGISTER_CLIENT", clientID="p", producerGroup="h")
    assert lines.only("group", "part", "state", "kind") == [("h", "producer", "left", None)]


def test_what_is_reported_of_a_message() -> None:
    lines = CommandReportBuilder(GroupReport)
    whole(lines)
    lines.finish()
    (entry,) = lines.entries
    assert GroupReport.describe(entry, 2) == (
        "consumer c1 of group g is told of a change: left, 2 heartbeats, subscribed to %RETRY%g *, t *"
    )
