"""Reports over recorded captures: what they say, that it does not depend on the reading, and what a defect costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from analyzer.decode.bodies import decode_body
from analyzer.decode.content import read_header
from analyzer.insight import reports
from analyzer.insight.checks import endings
from analyzer.insight.reports import ReportReading, parts_of, reports_by_name
from analyzer.messages import defects
from analyzer.session import Session
from dissectors.api import Role
from dissectors.correlator import ConnectionEnd, MessageEvent, subscribe
from dissectors.registry import dissectors
from dissectors.report import OpenRow, Report, ReportType, column
from dissectors.slotted import make_slotted
from dissectors.zookeeper.reports import reports as zookeeper_reports
from tests.effort import steps

ROOT = Path(__file__).parents[3]
GOLDEN, CAPTURES = ROOT / "tests" / "golden" / "zookeeper", ROOT / "captures"
WATCH, EXPIRED = GOLDEN / "cl_java395_watch.pcap.zst", GOLDEN / "cl_kazoo_expired.pcap.zst"
FOLLOWER, BOOT = GOLDEN / "en395_txns_follower.pcap.zst", GOLDEN / "en336_boot.pcap.zst"
LATE, ENSEMBLE = GOLDEN / "late_start.pcap.zst", CAPTURES / "zookeeper-ensemble.pcap.zst"


def report(name: str) -> ReportType:
    return reports_by_name(dissectors())[name]


def told(path: Path, name: str, jobs: int = 1, **options: Any) -> list[dict[str, Any]]:
    """The rows of one report, with their messages."""
    with Session([path], **options).load() as session:
        session.jobs = jobs
        reading = ReportReading(session, [report(name)])
        (table,) = reading.run()
        assert not reading.problems
        return [table.report.cells(each) | {"rows": each.rows, "first": each.first} for each in table.entries]


def columns(path: Path, name: str, *wanted: str) -> list[tuple[Any, ...]]:
    return [tuple(line[each] for each in wanted) for line in told(path, name)]


def test_sessions_that_were_closed_and_one_that_nobody_knows() -> None:
    assert columns(EXPIRED, "sessions", "session", "state", "by", "connections", "requests") == [
        ("0x1000040ed7b0001", "closed", "client", 2, 1),
        ("0x1000040ed7b0002", "closed", "client", 1, 2),
        ("0x3039", "expired", "server", 1, 0),
        ("0x1000040ed7b0003", "closed", "client", 1, 2),
    ]


def test_every_event_fires_a_watch_that_was_seen_being_set() -> None:
    with Session([WATCH]).load() as session:
        events = [row for row in range(len(session.rows)) if read_header(session, row).role is Role.PUSH]
    lines = told(WATCH, "watches")
    fired = {row for line in lines for word, row in line["rows"] if word == "fired"}
    assert fired == set(events)
    assert all(line["set"] is not None for line in lines)
    assert Counter(line["state"] for line in lines) == {"fired": 7, "removed": 5, "lost": 5}
    assert all(0 < line["delivery_ns"] < 10_000_000 for line in lines if line["fired"] is not None)


def test_each_transaction_of_a_follower_s_client() -> None:
    with Session([FOLLOWER]).load() as session:
        proposed = {
            decode_body(session, row).values["zxid"]
            for row in range(len(session.rows))
            if read_header(session, row).operation == "PROPOSAL"
        }
    lines = told(FOLLOWER, "commits")
    assert [line["zxid"] for line in lines if line["proposals"]] == [hex(zxid) for zxid in sorted(proposed)]
    mine = [line for line in lines if line["session"] == "0x100002026650000" and line["xid"]]
    assert len(mine) > 10
    for line in mine:
        words = [word for word, _ in line["rows"]]
        assert words[:3] == ["request", "forwarded", "proposal"]
        assert (words.count("proposal"), words.count("ack"), words[-1]) == (2, 2, "reply")
        assert 0 < line["quorum_ns"] < line["client_ns"]


def test_who_won_in_releases_that_name_no_address() -> None:
    assert columns(BOOT, "elections", "kind", "winner", "servers") == [
        ("election", "3", ["4", "2", "3"]),
        ("joining", "3", ["1"]),
    ]


def test_a_leader_is_killed() -> None:
    lines = columns(ENSEMBLE, "elections", "kind", "winner", "servers")
    assert [line for line in lines if line[0] == "election"] == [
        ("election", "2", ["1", "2"]),
        ("election", "3", ["3", "1", "4"]),
    ]
    assert ("joining", "3", ["2"]) in lines
    moved = told(ENSEMBLE, "sessions")[1]
    assert (moved["servers"], moved["state"]) == (["127.0.0.1:2181", "127.0.0.3:2181"], "closed")


def test_a_capture_that_begins_late() -> None:
    ((session, state, requests),) = columns(LATE, "sessions", "session", "state", "requests")
    assert (session, state, requests) == ("stream 0", "closed", 12)
    ((path, since),) = [(line["path"], line["set"]) for line in told(LATE, "watches") if line["fired"] is not None]
    assert (path, since) == ("/late", 3)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [each.name for each in zookeeper_reports()])
@pytest.mark.parametrize("path", [WATCH, FOLLOWER, ENSEMBLE], ids=lambda path: path.name)
def test_it_does_not_matter_how_rows_were_read(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = told(path, name)
    assert whole == told(path, name, block=7)
    assert whole == told(path, name, use_fast_path=False)
    monkeypatch.setattr(reports, "FRAGMENT", 5)
    assert whole == told(path, name)


def test_several_processes_read_ahead_for_the_same_report(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = told(FOLLOWER, "sessions")
    monkeypatch.setattr(reports, "FRAGMENT", 16)
    assert whole == told(FOLLOWER, "sessions", jobs=2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("path", [WATCH, ENSEMBLE], ids=lambda path: path.name)
def test_fields_that_are_picked_are_those_that_are_decoded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picked = {name: told(path, name) for name in reports_by_name(dissectors())}
    for dissector in dissectors():
        monkeypatch.setattr(type(dissector), "projection", None)
    assert picked == {name: told(path, name) for name in reports_by_name(dissectors())}


def test_a_protocol_that_is_not_there_costs_nothing() -> None:
    with Session([CAPTURES / "kafka.pcap"]).load() as session:
        others = [report for report in reports_by_name(dissectors()).values() if report.needs not in ("", "kafka")]
        reading = ReportReading(session, others)
        assert steps(reading.run) < 2000
        assert not any(table.entries for table in reading.tables)


@make_slotted(frozen=False, eq=False)
class Ended(OpenRow):
    """The end of a connection."""

    stream: int = column("number", "which", 0)
    seen: int = column("number", "messages before", 0)


class Ends(Report[Ended]):
    """Hears of messages and of ends."""

    name, about, needs, row = "ends", "when connections end", "zookeeper", Ended
    count = 0

    def receive_any(self, event: MessageEvent) -> None:
        self.count += 1

    on = subscribe([("zookeeper", code, role) for code in (3, 4, -11) for role in Role], receive_any)

    def end_connection(self, end: ConnectionEnd) -> None:
        self.close(Ended(end.time, end.time, stream=end.stream, seen=self.count))


def test_ends_are_received_behind_the_last_message_and_before_later_ones() -> None:
    with Session([EXPIRED]).load() as session:
        found = endings(session, range(len(session.rows)))
        assert [(end.at, end.last, end.ending.stream, end.ending.by_client) for end in found] == [
            (4, 3, 0, True),
            (6, 5, 1, False),
            (12, 11, 2, True),
            (14, 13, 3, False),
            (20, 19, 4, False),
        ]
        (table,) = ReportReading(session, [Ends]).run()
    assert [entry.values for entry in table.entries] == [(0, 2), (1, 2), (2, 6), (3, 6), (4, 10)]


def test_a_connection_that_goes_on_has_no_end() -> None:
    with Session([EXPIRED]).load() as session:
        assert [end.ending.stream for end in endings(session, range(3))] == []
        assert [end.ending.stream for end in endings(session, range(5))] == [0]
        (part,) = parts_of(session, 0, around=1)
    assert part.text == "connects session 0x1000040ed7b0001: open (by the 1 messages on each side)"


class Broken(Ends):
    """Fails at the third message."""

    name = "broken"

    def receive_any(self, event: MessageEvent) -> None:
        self.count += 1
        if self.count == 3:
            raise ValueError("a secret")

    on = subscribe(Ends.on, receive_any)


def test_a_report_that_fails_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)
    with Session([EXPIRED]).load() as session:
        reading = ReportReading(session, [Broken, Ends])
        broken, ends = reading.run()
    assert (len(broken.entries), len(ends.entries)) == (2, 5)
    ((code, text),) = [(finding.code, finding.text) for finding in reading.problems]
    assert code == "bug"
    assert "secret" not in text


class Unmade(Ends):
    """Fails before the first message."""

    def __init__(self, *_: Any) -> None:
        raise ValueError("a secret")


class Other(Ends):
    """Says a text where it promised a number."""

    def end_connection(self, end: ConnectionEnd) -> None:
        self.close(Ended(end.time, end.time, stream=end.stream, seen="many"))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Unmade, Other])
def test_a_report_that_is_none_costs_no_other(kind: ReportType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)
    with Session([EXPIRED]).load() as session:
        reading = ReportReading(session, [kind, Ends])
        failed, ends = reading.run()
    assert (len(failed.entries), len(ends.entries)) == (0, 5)
    assert [finding.code for finding in reading.problems] == ["bug"]


def test_what_picks_fields_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)
    whole = told(WATCH, "watches")

    def fails(*_: object) -> Any:
        raise ValueError("a secret")

    for broken in (fails, lambda *_: fails):
        for dissector in dissectors():
            monkeypatch.setattr(type(dissector), "projection", staticmethod(broken))
        assert whole == told(WATCH, "watches")


def test_no_more_lines_are_retained_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST", 3)
    with Session([EXPIRED]).load() as session:
        (table,) = ReportReading(session, [Ends]).run()
    assert (len(table.entries), table.more) == (3, 2)


def test_two_of_one_name() -> None:
    class Named(Ends):
        name = "watches"

    class Other:
        name = "other"

        def reports(self) -> Iterable[ReportType]:
            return (report("watches"), Named)

    found = reports_by_name([*dissectors(), Other()])  # type: ignore[list-item]
    assert list(found) == [*list(reports_by_name(dissectors()))[:-1], "other.watches", "delays"]


PARTS = [
    (WATCH, 15, "watches", "fires the exist watch on /jw/x that message 7 set 7 ms before; the news took 1.5 ms"),
    (EXPIRED, 12, "sessions", "connects session 0x3039: expired by the server 755 us after it was first seen"),
]


@pytest.mark.parametrize(("path", "row", "name", "text"), PARTS)
def test_the_part_of_one_message(path: Path, row: int, name: str, text: str) -> None:
    with Session([path]).load() as session:
        assert [(part.name, part.text) for part in parts_of(session, row)] == [(name, text)]


@pytest.mark.parametrize("path", [WATCH, EXPIRED, FOLLOWER, ENSEMBLE], ids=lambda path: path.name)
def test_a_message_that_concerns_nobody_is_named_by_no_line(path: Path) -> None:
    with Session([path]).load() as session:
        for each in zookeeper_reports():
            (table,) = ReportReading(session, [each]).run()
            named = {row for entry in table.entries for _, row in entry.rows}
            for row in named:
                requested = (
                    read_header(session, row).operation,
                    read_header(session, row).role,
                    decode_body(session, row).values,
                )
                assert each.concerns(*requested), (each.name, row)


def test_a_read_without_a_watch_reads_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "ReportReading", None)
    with Session([EXPIRED]).load() as session:
        (row,) = [row for row in range(len(session.rows)) if read_header(session, row).operation == "exists"][:1]
        assert parts_of(session, row) == []


def test_only_what_is_around_a_message_is_read_for_it() -> None:
    with Session([WATCH]).load() as session:
        (part,) = parts_of(session, 15, around=3)
    assert part.text == (
        "fires the data or child watch on /jw/x that was set before the capture; the news took 1.5 ms "
        "(by the 3 messages on each side)"
    )
