"""Reports of captures of real brokers and clients, by what was done there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.insight.reports import ReportReading
from analyzer.session import Session
from dissectors.kafka.reports.groups import GroupReport
from dissectors.kafka.reports.members import MemberReport
from dissectors.kafka.reports.progress import ProgressReport
from dissectors.kafka.reports.transactions import TransactionReport
from dissectors.report import ReportType

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka"


def rows(name: str, report: ReportType) -> list[dict[str, Any]]:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        reading = ReportReading(session, [report])
        (table,) = reading.run()
        assert reading.problems == []
        return [report.cells(entry) for entry in table.entries]


def test_a_second_member_joins_and_leaves_again() -> None:
    """Two consumers of the Java client with each assignor; from the third on, both close at the end."""
    found = [row for row in rows("k4_java_classic", GroupReport) if row["group"] == "jg-StickyAssignor"]
    assert [(row["state"], row["cause"], row["generation"], row["members"]) for row in found] == [
        ("complete", "StickyAssignor-0 joined", 1, 1),
        ("complete", "StickyAssignor-1 joined", 2, 2),
        ("complete", "StickyAssignor-1 left: the consumer is being closed", 3, 1),
        ("empty", "StickyAssignor-0 left: the consumer is being closed", None, 0),
    ]
    assert [(row["moved"], row["needless"], row["errors"]) for row in found[:3]] == [(0, 0, []), (2, 0, []), (0, 0, [])]
    assert found[2]["changes"] == ["StickyAssignor-0 +jg[0, 3]", "StickyAssignor-1 -jg[0, 3]"]


def test_a_cooperative_group_moves_partitions_in_two_steps() -> None:
    found = [row for row in rows("k4_java_classic", GroupReport) if row["group"] == "jg-CooperativeStickyAssignor"]
    _, revoked, assigned, *_ = found
    assert (revoked["changes"], revoked["moved"]) == (["CooperativeStickyAssignor-0 -jg[0, 3]"], 0)
    assert (assigned["changes"], assigned["moved"]) == (["CooperativeStickyAssignor-1 +jg[0, 3]"], 2)
    assert assigned["cause"] == "CooperativeStickyAssignor-0 asked for it: need to revoke partitions and re-join"


def test_members_that_close_say_so() -> None:
    found = {(row["client"], row["state"], row["reason"]) for row in rows("k4_java_classic", MemberReport)}
    assert ("StickyAssignor-1", "left", "the consumer is being closed") in found
    assert ("RangeAssignor-0", "silent", None) in found


def test_a_group_has_read_to_the_end() -> None:
    found = rows("k4_java_classic", ProgressReport)
    assert {(row["topic"], row["partition"], row["high_watermark"], row["lag"]) for row in found} == {
        ("jg", 0, 4, 0),
        ("jg", 1, 11, 0),
        ("jg", 2, 3, 0),
        ("jg", 3, 2, 0),
    }
    assert all(row["committed"] == row["position"] and not row["errors"] for row in found)


def test_transactions_of_a_producer_that_is_fenced() -> None:
    """Committed, aborted, one with offsets, and one that a second producer of the same id fences."""
    found = rows("k4_java_txn", TransactionReport)
    assert [(row["epoch"], row["state"], row["records"]) for row in found] == [
        (0, "committed", 3),
        (1, "aborted", 6),
        (2, "committed", 2),
        (4, "committed", 1),
        (3, "fenced", 1),
    ]
    assert list(found[2]["groups"]) == ["jtx-g"]
    assert found[-1]["errors"] == ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"]
