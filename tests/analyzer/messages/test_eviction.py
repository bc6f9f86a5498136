"""Rows leave memory, and what is there is what would be there without that; nothing grows with what has left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import analyzer.capture.records
import analyzer.messages.eviction
from analyzer.capture.packets import PacketBlock
from analyzer.capture.sources import MappedFile, Spool
from analyzer.capture.store import POSITION
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import list_pieces, read_header, read_message
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.packets import list_packets
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.insight.counts import count_messages, find_unanswered
from analyzer.insight.diagnosis import diagnose
from analyzer.insight.statistics import Study
from analyzer.messages.stream_findings import StreamFindings
from analyzer.query import search as finding
from analyzer.session import Analysis, Session
from analyzer.tcp.streams import SILENCE_NS
from tests.analyzer.capture.writers import T0, Frame
from tests.analyzer.replayed import Replayed
from tests.analyzer.wire import CLIENT, SERVER, Talk, data_segments, frames, in_parts, opening, segments, write

pytestmark = pytest.mark.xdist_group("eviction")

MIXED = Path(__file__).parents[3] / "captures" / "mixed.pcapng"
GOLDEN = Path(__file__).parents[2] / "golden"
OF_PARTNERS = {"partner", "partner_id", "latency_ns", "info"}
"""What is said by the other half of an exchange, too: of an answer's line, what was asked."""
LIMIT = 3_000_000

Said = list[dict[str, Any]]


def told(session: Analysis, rows: range, *, streaming: bool = False) -> Said:
    return list(RowReader(session, streaming=streaming).read_objects(ROW_KEYS, np.arange(rows.start, rows.stop)))


def hold_equal(own: Said, whole: Said, first: int) -> int:
    """Rows but for partners before row `first`; returns how many had one."""
    alone = 0
    for mine, theirs in zip(own, whole, strict=True):
        if theirs["partner"] is not None and theirs["partner"] <= first and mine["partner"] is None:
            assert mine["partner_id"] is None
            assert mine["latency_ns"] is None
            alone += 1
            mine, theirs = ({key: row[key] for key in row if key not in OF_PARTNERS} for row in (mine, theirs))
        assert mine == theirs
    return alone


# ---- a limit


@pytest.fixture(scope="module")
def limited() -> Iterator[tuple[Replayed, list[int]]]:
    """What is replayed so often that most of it has left, and what was held behind each block."""
    with Replayed(MIXED, 36, 2000) as session:
        stored = []
        for _ in session.grow():
            session.eviction.evict(session.eviction.find_due_row(LIMIT))
            stored.append(session.eviction.memory_bytes)
        yield session, stored


@pytest.fixture(scope="module")
def whole() -> Iterator[Replayed]:
    with Replayed(MIXED, 36, 2000) as session:
        yield session.load()


@pytest.mark.slow
def test_what_is_there_is_what_would_be_there_without_a_limit(
    limited: tuple[Replayed, list[int]], whole: Replayed
) -> None:
    session, _ = limited
    assert len(session.rows) == len(whole.rows)
    assert len(session.rows) > 2 * (len(session.rows) - session.rows.first) > 4 * analyzer.messages.eviction.LEAST
    rows = range(session.rows.first, len(session.rows))
    assert hold_equal(told(session, rows), told(whole, rows), session.rows.first) > 0


def test_memory_stays_below_the_limit(limited: tuple[Replayed, list[int]]) -> None:
    session, stored = limited
    assert max(stored) < LIMIT
    engine = session.engine
    rows = len(session.rows) - session.rows.first
    assert len(engine.pieces) - engine.pieces.first < 2 * rows
    assert len(engine.serial_rows) - engine.serial_rows.first < 2 * rows
    assert len(engine.connections) < 50
    assert engine.repeats.first > 0
    assert session.replay.released > engine.packet // 2


def test_rows_that_have_left_cannot_be_read(limited: tuple[Replayed, list[int]]) -> None:
    session, _ = limited
    assert session.rows.cell("length", session.rows.first) > 0
    for read in (read_message, read_header, decode_tree, list_pieces, list_packets):
        with pytest.raises(IndexError):
            read(session, session.rows.first - 1)


def test_questions_about_all_rows_are_answered_by_those_in_memory(limited: tuple[Replayed, list[int]]) -> None:
    session, _ = limited
    first, count = session.rows.first, len(session.rows)
    assert sum(each.messages for each in count_messages(session).protocols) == count - first
    assert Study(RowReader(session), with_errors=False).total.messages == count - first
    assert {found.row for found in diagnose(session) if found.row is not None} <= set(range(first, count))
    assert finding.find_row(finding.parse_filter("kafka"), RowReader(session), -1) in range(first, count)
    resolver = NameResolver(session)
    assert resolver.learn(first) == set()
    assert resolver.learn(count)
    alone = session.rows.column("marks")[first:] & analyzer.messages.index.RowMark.PARTNER_LEFT != 0
    assert not np.isin(np.flatnonzero(alone) + first, find_unanswered(session, np.arange(first, count))).any()


# ---- everything leaves at once


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.capture.records, "USUAL_BLOCK", 1)
    monkeypatch.setattr(analyzer.capture.records, "LARGEST_BLOCK", 1)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row has to stay, and no packet before the first that is needed."""
    monkeypatch.setattr(analyzer.messages.eviction, "LEAST", 0)
    monkeypatch.setattr(analyzer.messages.eviction, "REACH", 0)


class Guarded(Session):
    """A session on one mapped file, of which nothing is read that was released."""

    def __init__(self, path: Path, patch: pytest.MonkeyPatch) -> None:
        super().__init__([path], block=50)
        self._at: list[tuple[int, int]] = []
        self.safe = 0
        gather, window, feed = MappedFile.gather, MappedFile.window, self.engine.feed

        def guarded_gather(source: MappedFile, positions: Any, width: int) -> Any:
            assert isinstance(source, Spool) or not len(positions) or positions.min() >= self.safe
            return gather(source, positions, width)

        def guarded_window(source: MappedFile, position: int, length: int) -> memoryview:
            assert isinstance(source, Spool) or not length or position >= self.safe
            return window(source, position, length)

        def fed(block: PacketBlock) -> range:
            self._at += zip(block.number.tolist(), (block.at & POSITION).tolist(), strict=True)
            return feed(block)

        patch.setattr(MappedFile, "gather", guarded_gather)
        patch.setattr(MappedFile, "window", guarded_window)
        patch.setattr(self.engine, "feed", fed)
        patch.setattr(self.packets, "release", self._release)

    def _release(self, packet: int) -> None:
        self.safe = max([self.safe, *(at for number, at in self._at if number < packet)])


@pytest.mark.usefixtures("at_once")
def test_rows_are_the_same_though_all_leave_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that are not whole by then go on in the annex: no byte is read in what was given back."""
    with Session([MIXED]).load() as session:
        expected = told(session, range(len(session.rows)), streaming=True)
    with Guarded(MIXED, monkeypatch) as session:
        alone = 0
        for rows in session.grow():
            alone += hold_equal(told(session, rows, streaming=True), expected[rows.start : rows.stop], rows.start)
            session.eviction.find_due_row(None)
            session.eviction.evict(len(session.rows))
            monkeypatch.setattr(session, "_at", session._at[-200:])
        assert alone > 10
        assert session.safe > MIXED.stat().st_size // 2
        assert session.source.store.appended > 0
        assert len(session.rows) == len(expected)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", ["zookeeper/cl_kazoo_expired", "kafka/k4_sweep_rest", "pulsar/java4_errors"])
def test_names_leave_with_their_rows(name: str) -> None:
    path = GOLDEN / f"{name}.pcap.zst"
    with Session([path]).load() as session:
        expected = told(session, range(len(session.rows)), streaming=True)
        names = len(session.engine.names)
    with Session([path], block=16) as session:
        for rows in session.grow():
            hold_equal(told(session, rows, streaming=True), expected[rows.start : rows.stop], rows.start)
            session.eviction.evict(len(session.rows))
        assert len(session.engine.names) < names


# ---- what could grow without rows


def talk(number: int) -> Talk:
    message = b"\0\3\0\1" + number.to_bytes(4) + b"\0\2me\0\0\0\0"
    writes = ((CLIENT, len(message).to_bytes(4) + message), (SERVER, b"\0\0\0\x10" + number.to_bytes(4) + bytes(12)))
    return Talk(writes * 3, ends=(("10.0.0.1", 1024 + number), ("10.0.0.2", 9092)))


def followed(path: Path, limit: int | None = None) -> Session:
    session = Session([path], block=64)
    for _ in session.grow():
        session.eviction.evict(session.eviction.find_due_row(limit))
    return session


def test_a_silent_connection_is_forgotten(tmp_path: Path) -> None:
    """Without a FIN; when it goes on after all, it is another stream, whether it was forgotten or not."""
    packets: list[Frame] = []
    for hour in range(6):
        for number in range(50):
            mine = talk(number)
            begin = T0 + hour * 2 * SILENCE_NS + number * 10**9
            packets += frames([*(opening() if hour % 2 else []), *data_segments(mine.writes)], mine, begin)
    path = write(tmp_path / "a.pcap", packets)
    with Session([path]).load() as session:
        expected = told(session, range(len(session.rows)))
        assert len(session.engine.connections) == 50
    with followed(path) as session:
        assert told(session, range(len(session.rows))) == expected
        assert len(session.engine.connections) == 50
        assert len(session.engine.streams) == 300
    packets += frames([*opening(), *data_segments(talk(60).writes)], talk(60), T0 + 20 * SILENCE_NS)
    with followed(write(path, packets)) as session:
        assert len(session.engine.connections) == 1


def test_what_was_followed_by_another_is_forgotten_at_once(tmp_path: Path) -> None:
    """The same addresses again and again, never a FIN; but for the one with something unfinished."""
    packets: list[Frame] = []
    for number in range(200):
        mine = Talk(talk(0).writes, isn=(number * 100_000, number * 200_000))
        data = data_segments(mine.writes)
        packets += frames([*opening(), *(data[:-1] if number != 7 else data[:3])], mine, T0 + number * 10**9)
        if number == 7:
            part = data_segments(((CLIENT, mine.writes[0][1][:9]),))[0]
            packets += frames([replace(part, at=data[3].at)], mine, T0 + number * 10**9 + 500_000_000)
    with Session([write(tmp_path / "a.pcap", packets)]).load() as session:
        assert len(session.engine.streams) == 200
        assert len(session.engine.connections) <= 2


def test_what_is_unfinished_is_forgotten_when_all_of_its_time_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyzer.messages.eviction, "LEAST", 1)
    half = talk(0)
    packets = frames([*opening(), *data_segments(((CLIENT, half.writes[0][1][:10]),))], half)
    for number in range(1, 60):
        packets += frames(segments(talk(number)), talk(number), T0 + number * SILENCE_NS // 10)
    path = write(tmp_path / "a.pcap", packets)
    with Session([path]).load() as session:
        assert session.rows.column("state")[-1] != 0
        whole = len(session.rows)
    with Session([path], block=16) as session:
        for _ in session.grow():
            session.eviction.evict(len(session.rows) - 1)
        assert len(session.rows) == whole - 1
        (text,) = [found.text for found in session.findings if found.code == "left-unfinished"]
        assert text.startswith("1 connections were forgotten with something unfinished")


def test_bytes_that_nobody_reads_are_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long connection of a foreign protocol is one row at its end: its number is right, it begins later."""
    monkeypatch.setattr(analyzer.messages.eviction, "MOST_UNREAD", 100)
    monkeypatch.setattr(analyzer.messages.eviction, "LOOK_PACKETS", 64)
    foreign = Talk(((CLIENT, b"SSH-2.0-OpenSSH_9.6\r\n"), *(((SERVER, b"\xff" * 50),) * 2000)), ends=talk(1).ends)
    path = write(tmp_path / "a.pcap", frames(segments(foreign), foreign))
    with Session([path]).load() as session:
        expected = told(session, range(len(session.rows)))
    with Session([path], block=64) as session:
        most = 0
        for _ in session.grow():
            session.eviction.evict(session.eviction.find_due_row(None))
            pieces = [framer.pieces for each in session.engine.connections.values() for framer in each.framers or ()]
            most = max(most, sum(map(len, pieces)))
        found = told(session, range(len(session.rows)))
        assert most < 300
        assert [row["number"] for row in found] == [row["number"] for row in expected]
        row, theirs = (next(each for each in every if not each["from_client"]) for every in (found, expected))
        assert theirs["length"] == 100_000
        assert row["length"] < 20_000
        assert row["offset"] + row["length"] == theirs["length"]
        assert any(f"{theirs['length'] - row['length']:,} bytes" in each.text for each in session.findings)


def test_findings_that_left_are_counted(tmp_path: Path) -> None:
    packets = [
        each
        for number in range(40)
        for index, each in enumerate(frames(segments(talk(number), in_parts(Random(1), 9)), talk(number)))
        if index != 9
    ]
    with Session([write(tmp_path / "a.pcap", packets)]).load() as session:
        findings: StreamFindings = session.engine.stream_findings
        every = findings.findings
        gaps = [each for each in every if each.code == "gap"]
        assert len(gaps) == 40
        stored = sum(findings.stream_counts.values())
        findings.evict(len(packets) // 2)
        left = [each.text for each in findings.findings if each.code == "gap"]
        assert 1 < len(left) < len(gaps)
        assert left[:-1] == [each.text for each in gaps[-len(left) + 1 :]]
        assert left[-1] == f"{len(gaps) - len(left) + 1} more of this kind are not listed"
        assert sum(findings.stream_counts.values()) < stored
        findings.evict(len(packets) + 1)
        assert f"{len(gaps)} more of this kind are not listed" in [each.text for each in findings.findings]
        assert not findings.stream_counts


# ---- for hours

HOUR = 3600 * 5000
"""Packets."""

PART = HOUR // 6


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is asked of /proc")
def test_memory_does_not_grow_for_hours() -> None:
    """3 million packets, at 5,000 a second by their times: less than 1 MiB an hour by least squares, when warm."""
    with Replayed(MIXED, 1) as session:
        rounds = PART // session.replay.packets + 1
    seen = np.zeros((2 * rounds, 2))
    with Replayed(MIXED, rounds, 8000) as session:
        for place, _ in enumerate(session.grow()):
            session.eviction.evict(session.eviction.find_due_row(2 * LIMIT))
            seen[place] = session.engine.packet, _anonymous()
        assert session.engine.packet >= PART
        assert session.rows.first > len(session.rows) * 9 // 10
    packet, memory = seen[rounds // 5 : rounds].T
    slope = np.polyfit(packet / HOUR, memory, 1)[0]
    assert slope < 1 << 20, f"{slope / 2**20:.2f} MiB an hour"


def _anonymous() -> int:
    """Bytes of memory of this process that no file stands behind."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024
