"""The story of queues: how far a group is, and what came of its pulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dissectors.rocketmq.reports.queues import QueueReport
from tests.dissectors.rocketmq.reports.command_report import BROKER, CommandReportBuilder
from tests.dissectors.telling import MS

OF: dict[str, Any] = {"consumerGroup": "g", "topic": "t", "queueId": 2}
EMPTY, RETRY, MOVED = (19, "PULL_NOT_FOUND"), (20, "PULL_RETRY_IMMEDIATELY"), (21, "PULL_OFFSET_MOVED")


def pull(lines: CommandReportBuilder, at: int, to: int, end: int, flag: int = 2, **more: Any) -> None:
    text = {"nextBeginOffset": to, "minOffset": 0, "maxOffset": end}
    lines.call("PULL_MESSAGE", text, **OF, queueOffset=at, sysFlag=flag, **more)


def commit(lines: CommandReportBuilder, offset: int) -> None:
    lines.tell("UPDATE_CONSUMER_OFFSET", **OF, commitOffset=offset)


def pushed(lines: CommandReportBuilder) -> None:
    """As a push consumer does: it asks how far the group is, pulls, commits by a pull and by itself."""
    lines.call("QUERY_CONSUMER_OFFSET", {"offset": 4}, **OF)
    pull(lines, 4, 10, 10)
    pull(lines, 10, 11, 12, flag=3, commitOffset=6, took=5000)
    commit(lines, 10)
    lines.tell("PULL_MESSAGE", **OF, queueOffset=11, sysFlag=2)


def two_clients(lines: CommandReportBuilder) -> None:
    for stream in (11, 12, 11):
        pull(lines, 0, 0, 0, stream=stream, error=EMPTY)


def all_answers(lines: CommandReportBuilder) -> None:
    for error in (EMPTY, RETRY, MOVED, (1, "SYSTEM_ERROR")):
        pull(lines, 5, 7, 9, error=error)


def committed(lines: CommandReportBuilder) -> None:
    for offset in (5, 3, 4):
        commit(lines, offset)


def popped(lines: CommandReportBuilder) -> None:
    of: dict[str, Any] = {"consumerGroup": "g", "topic": "t", "queueId": -1, "pollTime": 5000}
    lines.call("POP_MESSAGE", {"restNum": 3}, **of)
    lines.call("POP_MESSAGE", {"restNum": 0}, **of, error=(210, "POLLING_TIMEOUT"), took=5000)
    lines.call("POP_MESSAGE", {"restNum": 2}, **of, error=(209, "POLLING_FULL"))


CASES: dict[str, tuple[Callable[[CommandReportBuilder], None], dict[str, Any]]] = {
    "pushed": (
        pushed,
        {"lag": 2, "committed": 10, "pulled": 11, "end": 12, "asked": 3, "found": 2, "held": 1, "waiting": 1}
        | {"longest_held_ns": 5000 * MS, "slowest_ns": MS, "commits": 2, "back": 0, "begin": 4, "server": BROKER},
    ),
    "nothing was committed": (lambda lines: pull(lines, 3, 8, 20), {"lag": 12, "committed": None, "commits": 0}),
    "two clients": (
        two_clients,
        {"turns": 2, "clients": ["10.0.0.1:50011", "10.0.0.2:50012"], "empty": 3, "found": 0, "lag": 0},
    ),
    "all answers": (
        all_answers,
        {"empty": 1, "retry": 1, "moved": 1, "failed": 1, "error": "SYSTEM_ERROR", "pulled": 7, "waiting": 0},
    ),
    "may not wait": (lambda lines: pull(lines, 0, 0, 0, flag=0, took=400), {"held": 0, "slowest_ns": 400 * MS}),
    "failed late": (
        lambda lines: pull(lines, 0, 0, 0, took=400, error=(2, "SYSTEM_BUSY")),
        {"held": 0, "failed": 1, "slowest_ns": 400 * MS},
    ),
    "back": (committed, {"commits": 3, "back": 1}),
    "popped": (
        popped,
        {"queue": -1, "lag": 2, "found": 1, "empty": 1, "full": 1, "held": 1, "longest_held_ns": 5000 * MS},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_queue(case: str) -> None:
    tell, expected = CASES[case]
    lines = CommandReportBuilder(QueueReport)
    tell(lines)
    (line,) = lines.finish()
    assert {name: line[name] for name in expected} == expected


def test_queues_are_distinguished() -> None:
    lines = CommandReportBuilder(QueueReport)
    for name, other in (("topic", "u"), ("consumerGroup", "h"), ("queueId", 3)):
        lines.tell("UPDATE_CONSUMER_OFFSET", **{**OF, name: other}, commitOffset=1)
    lines.tell("UPDATE_CONSUMER_OFFSET", consumerGroup="g", commitOffset=1)
    assert lines.only("topic", "group", "queue") == [("u", "g", 2), ("t", "h", 2), ("t", "g", 3)]


def test_what_is_reported_of_a_message() -> None:
    lines = CommandReportBuilder(QueueReport)
    pushed(lines)
    lines.finish()
    (entry,) = lines.entries
    assert QueueReport.describe(entry, 2) == "pulls t[2] for group g, committed up to 10, 2 messages behind"
