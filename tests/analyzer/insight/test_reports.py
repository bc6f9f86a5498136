"""Stories over recorded captures: what they tell, that it does not depend on the reading, and what a defect costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from analyzer import defects
from analyzer.insight import reports
from analyzer.insight.endings import endings
from analyzer.insight.reports import Telling, parts_of, tales
from analyzer.session import Session
from dissectors.api import Role
from dissectors.registry import dissectors
from dissectors.report import Column, ConnectionEnd, MessageEvent, Report, ReportRow, said_of
from dissectors.zookeeper.reports import reports as zookeeper_stories
from tests.effort import steps

ROOT = Path(__file__).parents[3]
GOLDEN, CAPTURES = ROOT / "tests" / "golden" / "zookeeper", ROOT / "captures"
WATCH, EXPIRED = GOLDEN / "cl_java395_watch.pcap.zst", GOLDEN / "cl_kazoo_expired.pcap.zst"
FOLLOWER, BOOT = GOLDEN / "en395_txns_follower.pcap.zst", GOLDEN / "en336_boot.pcap.zst"
LATE, ENSEMBLE = GOLDEN / "late_start.pcap.zst", CAPTURES / "zookeeper-ensemble.pcap.zst"


def story(name: str) -> type[Report]:
    return tales(dissectors())[name]


def told(path: Path, name: str, **options: Any) -> list[dict[str, Any]]:
    """The lines of one story, with their messages."""
    with Session([path], **options).load() as session:
        telling = Telling(session, [story(name)])
        (chapter,) = telling.run()
        assert not telling.problems
        return [said_of(chapter.story, each) | {"rows": each.rows, "first": each.first} for each in chapter.entries]


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
        events = [row for row in range(len(session.rows)) if session.header(row).role is Role.PUSH]
    lines = told(WATCH, "watches")
    fired = {row for line in lines for word, row in line["rows"] if word == "fired"}
    assert fired == set(events)
    assert all(line["set"] is not None for line in lines)
    assert Counter(line["state"] for line in lines) == {"fired": 7, "removed": 5, "lost": 5}
    assert all(0 < line["delivery_ns"] < 10_000_000 for line in lines if line["fired"] is not None)


def test_each_transaction_of_a_follower_s_client() -> None:
    with Session([FOLLOWER]).load() as session:
        proposed = {
            session.body(row).values["zxid"]
            for row in range(len(session.rows))
            if session.header(row).operation == "PROPOSAL"
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


@pytest.mark.parametrize("name", [each.name for each in zookeeper_stories()])
@pytest.mark.parametrize("path", [WATCH, FOLLOWER, ENSEMBLE], ids=lambda path: path.name)
def test_it_does_not_matter_how_rows_were_read(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = told(path, name)
    assert whole == told(path, name, block=7)
    assert whole == told(path, name, use_bulk=False)
    monkeypatch.setattr(reports, "PORTION", 5)
    assert whole == told(path, name)


@pytest.mark.parametrize("path", [WATCH, ENSEMBLE], ids=lambda path: path.name)
def test_fields_that_are_picked_are_those_that_are_decoded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picked = {name: told(path, name) for name in tales(dissectors())}
    for dissector in dissectors():
        monkeypatch.setattr(type(dissector), "picker", lambda self, context, paths: None)
    assert picked == {name: told(path, name) for name in tales(dissectors())}


def test_a_protocol_that_is_not_there_costs_nothing() -> None:
    with Session([CAPTURES / "kafka.pcap"]).load() as session:
        telling = Telling(session, list(tales(dissectors()).values()))
        assert steps(telling.run) < 2000
        assert not any(chapter.entries for chapter in telling.chapters)


class Ends(Report):
    """Hears of messages and of ends."""

    name, about, needs = "ends", "when connections end", "zookeeper"
    columns = (Column("stream", "number", "which"), Column("seen", "number", "messages before"))
    wants: ClassVar[Mapping[Any, Any]] = {
        ("zookeeper", code, role): frozenset() for code in (3, 4, -11) for role in Role
    }

    def see(self, told: MessageEvent) -> Iterator[ReportRow]:
        self.count = getattr(self, "count", 0) + 1
        return iter(())

    def ended(self, ending: ConnectionEnd) -> Iterator[ReportRow]:
        yield ReportRow((ending.stream, self.count), (), ending.time, ending.time)


def test_ends_are_heard_behind_the_last_message_and_before_later_ones() -> None:
    with Session([EXPIRED]).load() as session:
        found = endings(session, range(len(session.rows)))
        assert [(end.at, end.last, end.ending.stream, end.ending.by_client) for end in found] == [
            (4, 3, 0, True),
            (6, 5, 1, False),
            (12, 11, 2, True),
            (14, 13, 3, False),
            (20, 19, 4, False),
        ]
        (chapter,) = Telling(session, [Ends]).run()
    assert [entry.values for entry in chapter.entries] == [(0, 2), (1, 2), (2, 6), (3, 6), (4, 10)]


def test_the_end_of_a_connection_that_goes_on_is_not_heard() -> None:
    with Session([EXPIRED]).load() as session:
        assert [end.ending.stream for end in endings(session, range(3))] == []
        assert [end.ending.stream for end in endings(session, range(5))] == [0]
        (part,) = parts_of(session, 0, around=1)
    assert part.text == "connects session 0x1000040ed7b0001: open (by the 1 messages on each side)"


class Broken(Ends):
    """Fails at the third message."""

    name = "broken"

    def see(self, told: MessageEvent) -> Iterator[ReportRow]:
        self.count = getattr(self, "count", 0) + 1
        if self.count == 3:
            raise ValueError("a secret")
        return iter(())


def test_a_story_that_fails_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)
    with Session([EXPIRED]).load() as session:
        telling = Telling(session, [Broken, Ends])
        broken, ends = telling.run()
    assert (len(broken.entries), len(ends.entries)) == (2, 5)
    ((code, text),) = [(finding.code, finding.text) for finding in telling.problems]
    assert code == "bug"
    assert "secret" not in text


class Unmade(Ends):
    """Fails before the first message."""

    def __init__(self, ends: Any) -> None:
        raise ValueError("a secret")


class Short(Ends):
    """Forgets a column."""

    def ended(self, ending: ConnectionEnd) -> Iterator[ReportRow]:
        yield ReportRow((ending.stream,), (), ending.time, ending.time)


class Other(Ends):
    """Says a text where it promised a number."""

    def ended(self, ending: ConnectionEnd) -> Iterator[ReportRow]:
        yield ReportRow((ending.stream, "many"), (), ending.time, ending.time)


@pytest.mark.parametrize("kind", [Unmade, Short, Other])
def test_a_story_that_is_none_costs_no_other(kind: type[Report], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)
    with Session([EXPIRED]).load() as session:
        telling = Telling(session, [kind, Ends])
        failed, ends = telling.run()
    assert (len(failed.entries), len(ends.entries)) == (0, 5)
    assert [finding.code for finding in telling.problems] == ["bug"]


def test_what_picks_fields_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(defects.DEBUG, raising=False)
    whole = told(WATCH, "watches")

    def fails(*_: object) -> Any:
        raise ValueError("a secret")

    for broken in (fails, lambda *_: fails):
        for dissector in dissectors():
            monkeypatch.setattr(type(dissector), "picker", broken)
        assert whole == told(WATCH, "watches")


def test_no_more_lines_are_kept_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST", 3)
    with Session([EXPIRED]).load() as session:
        (chapter,) = Telling(session, [Ends]).run()
    assert (len(chapter.entries), chapter.more) == (3, 2)


def test_two_of_one_name() -> None:
    class Named(Ends):
        name = "watches"

    class Other:
        name = "other"

        def reports(self) -> Iterable[type[Report]]:
            return (story("watches"), Named)

    found = tales([*dissectors(), Other()])  # type: ignore[list-item]
    assert list(found) == [*tales(dissectors()), "other.watches"]


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
        for each in zookeeper_stories():
            (chapter,) = Telling(session, [each]).run()
            named = {row for entry in chapter.entries for _, row in entry.rows}
            for row in named:
                asked = session.header(row).operation, session.header(row).role, session.body(row).values
                assert each.concerns(*asked), (each.name, row)


def test_a_read_without_a_watch_reads_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "Telling", None)
    with Session([EXPIRED]).load() as session:
        (row,) = [row for row in range(len(session.rows)) if session.header(row).operation == "exists"][:1]
        assert parts_of(session, row) == []


def test_only_what_is_around_a_message_is_read_for_it() -> None:
    with Session([WATCH]).load() as session:
        (part,) = parts_of(session, 15, around=3)
    assert part.text == (
        "fires the data or child watch on /jw/x that was set before the capture; the news took 1.5 ms "
        "(by the 3 messages on each side)"
    )
