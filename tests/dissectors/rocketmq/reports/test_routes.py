"""The story of routes: what a topic's line says, and how answers that differ are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dissectors.rocketmq.reports.routes import RouteReport
from tests.dissectors.rocketmq.reports.command_report import NAME_SERVER, CommandReportBuilder
from tests.dissectors.telling import MS

MISSING = (17, "TOPIC_NOT_EXIST")


def broker(
    name: str = "a", port: int = 10911, reads: int = 4, perm: int = 6, slave: str | None = None
) -> dict[str, Any]:
    """A broker with a master, perhaps with a slave."""
    addresses = {"0": f"10.0.2.1:{port}"} | ({} if slave is None else {"1": slave})
    return {
        "brokerDatas": [{"brokerName": name, "cluster": "c", "brokerAddrs": addresses}],
        "queueDatas": [{"brokerName": name, "readQueueNums": reads, "writeQueueNums": 4, "perm": perm}],
    }


def both(*routes: dict[str, Any]) -> dict[str, Any]:
    return {key: [each for route in routes for each in route[key]] for key in ("brokerDatas", "queueDatas")}


def route(lines: CommandReportBuilder, answer: Any = None, topic: str = "t", stream: int = 1, **more: Any) -> int:
    return lines.call("GET_ROUTEINFO_BY_TOPIC", answer=answer, topic=topic, stream=stream, **more)


def told(*answers: Any) -> Callable[[CommandReportBuilder], None]:
    """An answer for each: a route, or an error."""

    def tell(lines: CommandReportBuilder) -> None:
        for each in answers:
            if isinstance(each, tuple):
                route(lines, error=each)
            else:
                route(lines, each)

    return tell


COLUMNS = ("state", "brokers", "read_queues", "perm", "asked", "missing", "changes", "change")
A = ["a 0=10.0.2.1:10911"]
CASES: dict[str, tuple[Callable[[CommandReportBuilder], object], tuple[Any, ...]]] = {
    "known": (told(broker(), broker()), ("known", A, 4, "read, write", 2, 0, 0, None)),
    "missing": (told(MISSING, MISSING), ("missing", [], None, None, 2, 2, 0, None)),
    "made": (told(MISSING, broker()), ("known", A, 4, "read, write", 2, 1, 1, "made")),
    "gone": (told(broker(), MISSING, MISSING), ("missing", A, 4, "read, write", 3, 2, 1, "gone")),
    "refused": (told((1, "SYSTEM_ERROR")), ("refused", [], None, None, 1, 0, 0, None)),
    "a broker more": (
        told(broker(), both(broker(), broker("b", 10921))),
        ("known", [*A, "b 0=10.0.2.1:10921"], 8, "read, write", 2, 0, 1, "b new"),
    ),
    "a broker less": (
        told(both(broker(), broker("b", 10921)), broker()),
        ("known", A, 4, "read, write", 2, 0, 1, "b gone"),
    ),
    "a slave less": (
        told(broker(slave="10.0.2.2:10911"), broker()),
        ("known", A, 4, "read, write", 2, 0, 1, "a without 1=10.0.2.2:10911"),
    ),
    "another master": (
        told(broker(), broker(port=10921)),
        (
            *("known", ["a 0=10.0.2.1:10921"], 4, "read, write", 2, 0, 1),
            "a with 0=10.0.2.1:10921; a without 0=10.0.2.1:10911",
        ),
    ),
    "other queues": (
        told(broker(), broker(reads=8, perm=4)),
        ("known", A, 8, "read", 2, 0, 1, "a 8 to read, 4 to write (read), was 4 to read, 4 to write (read, write)"),
    ),
    "not the same on all": (
        told(both(broker(), broker("b", 10921, perm=4))),
        ("known", [*A, "b 0=10.0.2.1:10921"], 8, None, 1, 0, 0, None),
    ),
    "no answer": (
        lambda lines: lines.tell("GET_ROUTEINFO_BY_TOPIC", stream=1, topic="t"),
        ("unanswered", [], None, None, 1, 0, 0, None),
    ),
    "an answer that says nothing": (told(None), ("known", [], None, None, 1, 0, 0, None)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_topic(case: str) -> None:
    tell, expected = CASES[case]
    lines = CommandReportBuilder(RouteReport)
    tell(lines)
    assert lines.only(*COLUMNS) == [expected]


def test_a_topic_that_is_not_there_yet() -> None:
    lines = CommandReportBuilder(RouteReport)
    route(lines, error=MISSING)
    route(lines, broker(), topic="TBW102", took=5)
    route(lines, error=MISSING, stream=2)
    route(lines, broker(), stream=2)
    route(lines, broker(), topic="TBW102", stream=2)
    assert lines.only("topic", "server", "fallbacks", "clients", "slowest_ns") == [
        ("t", NAME_SERVER, 1, 2, MS),
        ("TBW102", NAME_SERVER, 0, 2, 5 * MS),
    ]


def test_what_is_reported_of_a_message() -> None:
    lines = CommandReportBuilder(RouteReport)
    route(lines, broker())
    row = route(lines, broker(reads=8))
    lines.finish()
    (entry,) = lines.entries
    assert RouteReport.describe(entry, row + 1) == (
        "changed: topic t is known at a 0=10.0.2.1:10911, asked for 2 times by 1 client, at last: "
        "a 8 to read, 4 to write (read, write), was 4 to read, 4 to write (read, write)"
    )


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RouteReport, "limit", 3)
    lines = CommandReportBuilder(RouteReport)
    for number in range(10):
        lines.tell("GET_ROUTEINFO_BY_TOPIC", stream=1, topic=str(number))
    assert [entry.values[0] for entry in lines.entries] == [str(number) for number in range(7)]
