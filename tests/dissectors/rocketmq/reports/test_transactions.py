"""Transactions: half messages, what their producers say of them, and how often they were asked."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Role
from dissectors.rocketmq.reports.transactions import TransactionReport
from tests.dissectors.rocketmq.reports.message_report import ReportBuilder, offset_id, stored
from tests.dissectors.telling import MS


class Deals(ReportBuilder):
    def __init__(self) -> None:
        super().__init__(TransactionReport)

    def half(self, key: str = "K", **more: Any) -> int:
        return self.send(key, 100, 5, header={"sysFlag": 4}, **more)

    def ends(self, phase: int, key: str = "K", *, checked: bool = False) -> int:
        header: dict[str, Any] = {"transactionId": key, "msgId": key, "topic": "orders", "producerGroup": "PG"}
        header |= {"commitOrRollback": phase, "fromTransactionCheck": checked}
        return self.tell("END_TRANSACTION", header, role=Role.ONEWAY)

    def check(self, key: str = "K") -> int:
        body = {"messages": [stored(key, 900, 9, properties={"PGROUP": "PG"})]}
        header = {"transactionId": key, "msgId": key, "topic": "RMQ_SYS_TRANS_HALF_TOPIC"}
        return self.tell("CHECK_TRANSACTION_STATE", header, body, role=Role.ONEWAY, from_client=False, after=1000)


def test_from_the_half_message_to_a_consumer() -> None:
    reported = Deals()
    sent = reported.half()
    end = reported.ends(8)
    got = reported.pull(stored("K", 300, 2), stream=2) + 1
    (line,) = reported.finish()
    assert (line["transaction"], line["outcome"], line["by"]) == ("K", "committed", "producer")
    assert (line["topic"], line["group"], line["client"]) == ("orders", "PG", "10.0.0.1:50000")
    assert (line["offset_id"], line["table_offset"]) == (offset_id(100), 5)
    assert (line["half_ns"], line["took_ns"], line["delivery_ns"]) == (MS, 2 * MS, 2 * MS)
    assert (line["checks"], line["unknowns"], line["delivered"]) == (0, 0, 1)
    assert (line["send"], line["end"]) == (sent, end)
    assert reported.said(end) == ["committed of transaction K: committed by the producer, in 2 ms"]
    assert reported.said(got) == ["delivered of transaction K: committed by the producer, in 2 ms"]


@pytest.mark.parametrize(
    ("ends", "outcome", "by", "unknowns"),
    [
        ([], "open", None, 0),
        ([(0, False)], "unknown", "producer", 1),
        ([(12, False)], "rolled back", "producer", 0),
        ([(0, False), (0, True), (8, True)], "committed", "check", 2),
        ([(8, False), (12, True)], "committed", "producer", 0),
        ([(7, False)], "unknown", "producer", 1),
    ],
)
def test_outcomes(ends: list[tuple[int, bool]], outcome: str, by: str | None, unknowns: int) -> None:
    reported = Deals()
    reported.half()
    for phase, checked in ends:
        reported.ends(phase, checked=checked)
    assert reported.only("outcome", "by", "unknowns") == [(outcome, by, unknowns)]


def test_checks_are_counted() -> None:
    reported = Deals()
    reported.half()
    reported.check()
    reported.ends(0, checked=True)
    last = reported.check()
    assert reported.only("checks", "check_ns", "outcome") == [(2, 1001 * MS, "unknown")]
    assert reported.said(last) == ["check of transaction K: unknown, checked 2 times"]


def test_one_that_began_before_the_capture() -> None:
    reported = Deals()
    reported.check()
    reported.ends(12, checked=True)
    assert reported.only("outcome", "topic", "group", "sent", "took_ns") == [
        ("rolled back", "orders", "PG", None, None)
    ]


def test_a_half_message_that_is_refused_and_sent_again() -> None:
    reported = Deals()
    reported.half(error=(14, "SERVICE_NOT_AVAILABLE"))
    assert reported.now("outcome") == ["refused"]
    reported.half()
    assert reported.only("outcome", "error", "offset_id") == [("open", "SERVICE_NOT_AVAILABLE", offset_id(100))]


def test_one_that_is_stored_not_quite_safely_is_open() -> None:
    reported = Deals()
    reported.half(error=(10, "FLUSH_DISK_TIMEOUT"))
    assert reported.only("outcome", "error") == [("open", "FLUSH_DISK_TIMEOUT")]


def test_an_end_may_be_answered_with_an_error() -> None:
    reported = Deals()
    reported.half()
    reported.call("END_TRANSACTION", {"transactionId": "K", "commitOrRollback": 8}, error=(1, "SYSTEM_ERROR"))
    assert reported.only("outcome", "error") == [("committed", "SYSTEM_ERROR")]


def test_other_messages_are_none() -> None:
    reported = Deals()
    reported.send("K")
    reported.pull(stored("K", 100, 0))
    assert reported.finish() == []
    half = {"header": {"properties": "TRAN_MSG\x01true\x02UNIQ_KEY\x01K\x02"}}
    assert TransactionReport.concerns("SEND_MESSAGE", Role.REQUEST, half)
    assert not TransactionReport.concerns("SEND_MESSAGE", Role.REQUEST, {"header": {"sysFlag": 8}})


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionReport, "limit", 2)
    reported = Deals()
    for key in "ABCD":
        reported.half(key)
    assert [TransactionReport.cells(each)["transaction"] for each in reported.entries] == ["A", "B"]
