"""The story of transactions: what was done in each, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.insight.reports import ReportReading
from analyzer.session import Session
from dissectors.pulsar.reports.transactions import TransactionReport
from tests.dissectors.pulsar.reports.command_report import CommandReportBuilder
from tests.dissectors.telling import MS

GOLDEN = Path(__file__).parents[3] / "golden" / "pulsar"
ID: dict[str, Any] = {"txnid_most_bits": 3, "txnid_least_bits": 7}
PLACE = {"ledgerId": 1, "entryId": 2}


def begin(lines: CommandReportBuilder, ttl: int = 1000, **told: Any) -> None:
    lines.call("NEW_TXN", "NEW_TXN_RESPONSE", told or ID, tc_id=3, txn_ttl_millis=ttl)


def work(lines: CommandReportBuilder, **told: Any) -> None:
    lines.call("ADD_PARTITION_TO_TXN", "ADD_PARTITION_TO_TXN_RESPONSE", ID, partitions=["t"], **ID)
    lines.call("SEND", "SEND_RECEIPT", num_messages=5, **ID)
    lines.call("SEND", "SEND_RECEIPT", num_messages=5)
    subscription = [{"topic": "t", "subscription": "s"}]
    lines.call("ADD_SUBSCRIPTION_TO_TXN", "ADD_SUBSCRIPTION_TO_TXN_RESPONSE", ID, subscription=subscription, **ID)
    lines.call("ACK", "ACK_RESPONSE", told, message_id=[PLACE, PLACE], **ID)


def end(lines: CommandReportBuilder, action: str, after: int = 1, **told: Any) -> None:
    lines.call("END_TXN", "END_TXN_RESPONSE", told or ID, txn_action=action, after=after, **ID)


def by_the_broker(lines: CommandReportBuilder, action: str, after: int = 1) -> None:
    lines.call(
        "END_TXN_ON_PARTITION", "END_TXN_ON_PARTITION_RESPONSE", ID, topic="t", txn_action=action, after=after, **ID
    )


def both(*steps: Callable[[CommandReportBuilder], object]) -> Callable[[CommandReportBuilder], object]:
    def tell(lines: CommandReportBuilder) -> None:
        for step in steps:
            step(lines)

    return tell


def conflict(lines: CommandReportBuilder) -> None:
    work(lines, error="TransactionConflict")


COLUMNS = ("outcome", "by", "error")
OUTCOMES: dict[str, tuple[Callable[[CommandReportBuilder], object], tuple[object, ...]]] = {
    "committed": (both(begin, work, lambda b: end(b, "COMMIT")), ("committed", "client", None)),
    "aborted": (both(begin, work, lambda b: end(b, "ABORT")), ("aborted", "client", None)),
    "aborted for a conflict": (
        both(begin, conflict, lambda b: end(b, "ABORT")),
        ("conflict", "client", "TransactionConflict"),
    ),
    "a conflict that was overcome": (
        both(begin, conflict, lambda b: end(b, "COMMIT")),
        ("committed", "client", "TransactionConflict"),
    ),
    "told to brokers first": (
        both(begin, lambda b: by_the_broker(b, "COMMIT"), lambda b: end(b, "COMMIT")),
        ("committed", "client", None),
    ),
    "its time is over": (
        both(begin, work, lambda b: by_the_broker(b, "ABORT", after=1001)),
        ("timed out", "broker", None),
    ),
    "its time is over, and the client comes too late": (
        both(begin, lambda b: end(b, "COMMIT", 1001, error="TransactionNotFound")),
        ("timed out", "client", "TransactionNotFound"),
    ),
    "unknown in its time": (
        both(begin, lambda b: end(b, "COMMIT", error="TransactionNotFound")),
        ("failed", "client", "TransactionNotFound"),
    ),
    "not answered": (
        both(begin, lambda b: b.tell("END_TXN", txn_action="COMMIT", **ID)),
        ("ending", "client", None),
    ),
    "open": (both(begin, work), ("open", None, None)),
    "overdue": (both(begin, lambda b: b.tell("SEND", after=1001, **ID)), ("overdue", None, None)),
    "not given": (lambda b: begin(b, error="ServiceNotReady"), ("failed", None, "ServiceNotReady")),
    "begun before the capture": (both(work, lambda b: by_the_broker(b, "ABORT")), ("aborted", "broker", None)),
}  # fmt: skip


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_how_it_ends(outcome: str) -> None:
    tell, expected = OUTCOMES[outcome]
    lines = CommandReportBuilder(TransactionReport)
    tell(lines)
    assert lines.only(*COLUMNS) == [expected]


def test_what_is_counted() -> None:
    lines = CommandReportBuilder(TransactionReport)
    both(begin, work, lambda b: by_the_broker(b, "COMMIT"), lambda b: end(b, "COMMIT"))(lines)
    columns = ("transaction", "client", "coordinator", "sends", "sent", "acks", "topics", "subscriptions")
    assert lines.only(*columns) == [("(3,7)", "10.0.0.0:50001", 3, 1, 5, 2, ["t"], ["s of t"])]
    text = TransactionReport.cells(lines.entries[0])
    assert (text["timeout_ns"], text["made_ns"], text["told"], text["ended_there"]) == (1000 * MS, MS, 1, 1)
    assert text["took_ns"] == 15 * MS
    assert TransactionReport.describe(lines.entries[0], 4) == (
        "send of transaction (3,7): committed by the client, in 15 ms, 5 messages sent, 2 acknowledged in it"
    )


def test_a_number_that_a_coordinator_gives_again_is_another_transaction() -> None:
    lines = CommandReportBuilder(TransactionReport)
    both(begin, lambda b: end(b, "ABORT"), begin)(lines)
    assert lines.only("outcome") == [("aborted",), ("open",)]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionReport, "limit", 3)
    lines = CommandReportBuilder(TransactionReport)
    for number in range(10):
        lines.tell("SEND", txnid_least_bits=number)
        lines.tell("NEW_TXN")
    assert len(lines.entries) == 2 * 7
    assert len(lines.only("outcome")) == 20


def test_a_real_capture() -> None:
    with Session([GOLDEN / "go4_txn.pcap.zst"]).load() as session:
        (chapter,) = ReportReading(session, [TransactionReport]).run()
    text = [TransactionReport.cells(entry) for entry in chapter.entries]
    assert [(each["transaction"], each["outcome"]) for each in text] == [("(0,7)", "committed"), ("(0,8)", "aborted")]
    assert [(each["sent"], each["acks"], each["told"], each["ended_there"]) for each in text] == [(1, 1, 2, 2)] * 2
