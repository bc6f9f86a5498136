"""Pops: the time in which nobody else gets a message, and what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.rocketmq.reports.pops import PopReport
from tests.dissectors.rocketmq.reports.message_report import ReportBuilder, stored
from tests.dissectors.telling import MS

CHANGE = "CHANGE_MESSAGE_INVISIBLETIME"


def book() -> ReportBuilder:
    return ReportBuilder(PopReport)


def test_from_the_pop_to_the_acknowledgement() -> None:
    reported = book()
    popped = reported.pop(stored("K", 100, 7)) + 1
    acked = reported.ack(7)
    (line,) = reported.finish()
    assert (line["topic"], line["message"], line["group"], line["state"]) == ("orders", "K", "CG", "acked")
    assert (line["retry_topic"], line["queue"], line["offset"], line["revive_queue"]) == (None, 0, 7, 3)
    assert (line["invisible_ns"], line["until"], line["ack_ns"]) == (5000 * MS, 5002 * MS, MS)
    assert (line["handle"], line["pop"], line["ack"]) == ("0 1000 5000 3 0 broker-a 0 7", popped, acked)
    assert reported.said(acked) == ["acked: message K of orders by CG, acked, after 1 ms, it has 5 s"]


@pytest.mark.parametrize(
    ("after", "acks", "state"),
    [(4000, False, "popped"), (6000, False, "expired"), (4000, True, "acked"), (6000, True, "late")],
)
def test_its_time_may_be_over(after: int, acks: bool, state: str) -> None:
    reported = book()
    reported.pop(stored("K", 100, 7))
    reported.time += after * MS
    if acks:
        reported.ack(7)
    else:
        reported.pop()
    assert reported.only("state") == [(state,)]


def test_changes_extend_it_or_hand_it_back() -> None:
    reported = book()
    reported.pop(stored("K", 100, 7), stored("L", 200, 8))
    reported.ack(7, name=CHANGE, answer={"popTime": 1500, "invisibleTime": 60_000, "reviveQid": 4})
    reported.ack(8, name=CHANGE, answer={"popTime": 1500, "invisibleTime": 10, "reviveQid": 4})
    reported.ack(7)  # by the old handle
    reported.ack(8, time=1500)
    assert reported.only("message", "state", "extended", "handed_back", "revive_queue") == [
        ("K", "popped", 1, 0, 4),
        ("L", "acked", 0, 1, 4),
    ]
    assert [word for word, _ in reported.entries[0].rows] == ["popped", "extended", "old handle"]


@pytest.mark.parametrize("name", ["ACK_MESSAGE", CHANGE])
def test_one_that_is_refused_changes_nothing(name: str) -> None:
    reported = book()
    reported.pop(stored("K", 100, 7))
    reported.ack(7, name=name, error=(13, "MESSAGE_ILLEGAL"))
    assert reported.only("state", "error", "extended") == [("popped", "MESSAGE_ILLEGAL", 0)]


def test_many_are_acknowledged_together() -> None:
    reported = book()
    reported.pop(*(stored(f"K{at}", at, at) for at in range(10, 14)))
    acks = [{"c": "CG", "t": "orders", "r": "0", "q": 0, "so": 10, "pt": 1000, "b": "DA=="}]
    reported.call("BATCH_ACK_MESSAGE", {}, body={"acks": acks})
    assert reported.only("offset", "state") == [(10, "popped"), (11, "popped"), (12, "acked"), (13, "acked")]


def test_what_is_popped_again_ends_what_was_before() -> None:
    reported = book()
    reported.pop(stored("K", 100, 7))
    handle = {"POP_CK": "0 9000 5000 3 1 broker-a 0 2"}
    again = reported.pop(stored("K", 900, 2, reconsumeTimes=1, properties=handle), time=9000, stream=2) + 1
    reported.ack(2, time=9000, topic="%RETRY%CG_orders", kind="1")
    assert reported.only("state", "retry_topic", "again", "client") == [
        ("popped again", None, 0, "10.0.0.1:50000"),
        ("acked", "%RETRY%CG_orders", 1, "10.0.0.2:50000"),
    ]
    assert len(reported.said(again)) == 2


def test_in_order_it_is_popped_where_it_lies() -> None:
    reported = book()
    for time in (1000, 2000):
        reported.pop(stored(None, 100, 7), time=time)
    reported.ack(7, time=2000)
    assert reported.only("state") == [("popped again",), ("acked",)]


@pytest.mark.parametrize("invisible", [-1, 1 << 62, "5", None])
def test_any_time_is_bounded(invisible: Any) -> None:
    reported = book()
    reported.pop(stored("K", 100, 7), invisible=invisible)
    (line,) = reported.finish()
    assert 0 <= line["invisible_ns"] < 1 << 62
    assert line["until"] < 1 << 63


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PopReport, "limit", 2)
    reported = book()
    reported.pop(*(stored(f"K{at}", at, at) for at in range(4)))
    assert [PopReport.cells(each)["message"] for each in reported.entries] == ["K0", "K1"]
