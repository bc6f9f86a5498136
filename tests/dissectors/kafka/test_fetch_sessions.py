"""Fetch sessions: what an incremental Fetch asks for, from the requests before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.kafka import fetch_sessions
from dissectors.kafka.dissector import Kafka
from dissectors.name_binding import Exchange, SessionContents

Asked = tuple[dict[str, Any] | None, dict[str, Any] | None]


def asked(session: int, epoch: int, parts: str = "", removed: str = "", answer: dict[str, Any] | None = None) -> Asked:
    """A Fetch; `parts` as `a0@5 b1@0`, `gone` as `a0`."""
    topics = [
        {"topic": part[0], "partitions": [{"partition": int(part[1]), "fetchOffset": int(part[3:])}]}
        for part in parts.split()
    ]
    forgotten = [{"topic": part[0], "partitions": [int(part[1])]} for part in removed.split()]
    request = {"sessionId": session, "sessionEpoch": epoch, "topics": topics, "forgottenTopicsData": forgotten}
    return request, answer


def opening(session: int, parts: str) -> Asked:
    return asked(0, 0, parts, answer={"errorCode": 0, "sessionId": session})


def stand(exchanges: Sequence[Asked]) -> SessionContents | None:
    """Of the last of these."""
    numbered = [
        Exchange(number, lambda values=request: values, lambda values=answer: values)  # type: ignore[misc]
        for number, (request, answer) in enumerate(exchanges, 1)
    ]
    return Kafka().sessions.read_contents(Context(Role.REQUEST, 1, 12), reversed(numbered))


CASES: list[tuple[str, list[Asked], str, int | None]] = [
    ("nothing has changed", [opening(7, "a0@5 b1@0"), asked(7, 1)], "a0@5 b1@0", 1),
    ("an offset", [opening(7, "a0@5 b1@0"), asked(7, 1, "a0@9"), asked(7, 2)], "a0@9 b1@0", 1),
    ("one more, one less", [opening(7, "a0@5 b1@0"), asked(7, 1, "c2@1", "b1")], "a0@5 c2@1", 1),
    ("forgotten and named at once", [opening(7, "a0@5"), asked(7, 1, "a0@9", "a0")], "a0@9", 1),
    ("forgotten twice", [opening(7, "a0@5"), asked(7, 1, "", "a0"), asked(7, 2, "", "a0")], "", 1),
    ("began before the capture", [asked(7, 4, "a0@1"), asked(7, 5, "b1@2")], "a0@1 b1@2", None),
    ("another session between", [opening(7, "a0@5"), asked(9, 3, "z0@0"), asked(7, 1)], "a0@5", 1),
    ("the last of two", [opening(7, "a0@5"), asked(7, -1), opening(8, "b1@2"), asked(8, 1)], "b1@2", 3),
    ("the same id again", [opening(7, "a0@5"), asked(7, -1, "a0@5"), asked(7, 1, "b1@2")], "b1@2", None),
    (
        "replaced by a full fetch of its own",
        [opening(7, "a0@5"), asked(7, 0, "b1@2", answer={"errorCode": 0, "sessionId": 8}), asked(8, 1)],
        "b1@2",
        2,
    ),
    ("refused", [opening(7, "a0@5"), asked(7, 1, "b1@2", answer={"errorCode": 71}), asked(7, 1)], "a0@5", 1),
    ("an opening that failed", [asked(0, 0, "a0@5", answer={"errorCode": 1, "sessionId": 7}), asked(7, 1)], "", None),
    ("unreadable between", [opening(7, "a0@5"), (None, None), ({}, {}), asked(7, 1)], "a0@5", 1),
]


@pytest.mark.parametrize(
    ("exchanges", "stored", "since"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_requested(exchanges: list[Asked], stored: str, since: int | None) -> None:
    found = stand(exchanges)
    assert found is not None
    request = exchanges[-1][0]
    assert request is not None
    assert (found.id, found.epoch, found.since) == (request["sessionId"], request["sessionEpoch"], since)
    assert " ".join(f"{each.topic}{each.partition}@{each.offset}" for each in found.partitions) == stored


@pytest.mark.parametrize(
    "last",
    [asked(0, 0, "a0@5"), asked(0, -1, "a0@5"), asked(7, 0, "a0@5"), asked(7, -1), (None, None), ({}, None)],
    ids=str,
)
def test_a_request_that_says_all_itself(last: Asked) -> None:
    assert stand([opening(7, "a0@5"), last]) is None
    assert stand([]) is None


def test_of_another_operation() -> None:
    assert Kafka().sessions.read_contents(Context(Role.REQUEST, 3, 12), iter(())) is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MOST", 2)
    found = stand([opening(7, "a0@5 b1@0 c2@1"), asked(7, 1, "a0@6")])
    assert found is not None
    assert [(each.topic, each.offset) for each in found.partitions] == [("a", 6), ("b", 0)]
