"""Topics and partitions of requests that name only what has changed: those of their session."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.related import read_session_contents
from analyzer.insight.statistics import Study
from analyzer.query.fields import FieldReader, find_field, session_values, sessions
from analyzer.query.fields.sessions import follow_sessions
from analyzer.session import Analysis, Session
from dissectors.api import Role
from tests.analyzer.replayed import Replayed
from tests.analyzer.roads import answer, opened, request, string

ROOT = Path(__file__).parents[4]
KAFKA = ROOT / "captures" / "kafka.pcap"
SHARE = ROOT / "captures" / "kafka-4.4-share.pcap.zst"
GOLDEN = ROOT / "tests" / "golden" / "kafka"
FETCH, SHARE_FETCH = 1, 78
FIELDS = "kafka.topic", "kafka.partition"


def values(session: Analysis, name: str, rows: Sequence[int], *, streaming: bool = False) -> list[list[object]]:
    field = find_field(name)
    reading = FieldReader(RowReader(session, streaming=streaming), [field])
    return [list(each) for each in reading.read_by_row(field, np.array(rows, np.int64))]


def rows_of(session: Analysis, *codes: int) -> list[int]:
    """The rows of some APIs, as far as they are there."""
    mine = np.isin(session.rows.column("code")[session.rows.first :], codes)
    return [int(row) + session.rows.first for row in np.flatnonzero(mine)]


# ---- real traffic


def test_every_fetch_of_a_consumer_has_topics() -> None:
    with Session([KAFKA]).load() as session:
        rows = rows_of(session, FETCH)
        assert len(rows) == 2 * 109
        text = values(session, "kafka.Fetch.request.topics.topic", rows)
        by_id = values(session, "kafka.Fetch.request.topics.topicId", rows)
        requested = [row for row in rows if session.rows.cell("role", row) == Role.REQUEST]
        assert sum(not name and not key for name, key in zip(text, by_id, strict=True)) == 109 + 84
        for name in FIELDS:
            assert all(values(session, name, rows)), name
        assert len(requested) == 109
        study = Study(RowReader(session), np.array(rows))
        by_topic = study.measure_by("kafka.topic").groups
        assert sum(group.metrics.timed for group in by_topic if group.key != (None,)) == study.total.timed == 109


def test_every_fetch_of_a_share_consumer_has_topics() -> None:
    with Session([SHARE]).load() as session:
        rows = rows_of(session, SHARE_FETCH)
        assert len(rows) == 52
        assert {tuple(each) for each in values(session, "kafka.topic", rows)} == {("js",)}
        assert {tuple(each) for each in values(session, "kafka.partition", rows)} == {(0,), (1,)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name", ["k4_election", "k4_go_franz", "k4_java_classic", "k4_java_txn", "zk39_ibp_1.1", "zk39_ibp_3.9"]
)
def test_it_is_what_show_says_of_the_session(name: str) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        rows = rows_of(session, FETCH)
        reach = follow_sessions(session).find_reach("partitions", np.array(rows), len(session.rows))
        compared = 0
        for row, number in zip(rows, reach.numbers.tolist(), strict=True):
            contents = read_session_contents(session, row)
            if session.rows.cell("role", row) == Role.REQUEST and contents is not None:
                assert set(reach.lists[number]) == {each.partition for each in contents.partitions}
                compared += 1
        assert compared


@pytest.mark.parametrize("path", [KAFKA, SHARE, GOLDEN / "k4_java_internal.pcap.zst"], ids=lambda path: path.name)
def test_a_stream_says_the_same(path: Path) -> None:
    with Session([path], block=64) as session:
        streamed: dict[str, list[list[object]]] = {name: [] for name in FIELDS}
        readings = {name: FieldReader(RowReader(session, streaming=True), [find_field(name)]) for name in FIELDS}
        for closed in session.grow():
            for name, reading in readings.items():
                rows = np.arange(closed.start, closed.stop)
                streamed[name] += [list(each) for each in reading.read_by_row(find_field(name), rows)]
                reading.forget()
        # A stream knows a name from the row on that told it, so numbers are compared, and how many topics there are.
        every = range(len(session.rows))
        assert streamed["kafka.partition"] == values(session, "kafka.partition", every)
        counts = [len(each) for each in values(session, "kafka.topic", every)]
        assert [len(each) for each in streamed["kafka.topic"]] == counts


def test_what_leaves_memory_changes_nothing() -> None:
    """Each round begins the same connections anew; rows of a session outlive the request that opened it."""
    with Replayed(KAFKA, 8, 500) as whole, Replayed(KAFKA, 8, 500) as session:
        whole.load()
        field = find_field("kafka.partition")
        reading = FieldReader(RowReader(session, streaming=True), [field])
        expected = values(whole, "kafka.partition", range(len(whole.rows)))
        compared = 0
        for closed in session.grow():
            if not len(closed):
                continue
            found = reading.read_by_row(field, np.arange(closed.start, closed.stop))
            reading.forget()
            for row, each in zip(closed, found, strict=True):
                if session.rows.cell("code", row) == FETCH and session.rows.cell("role", row) == Role.REQUEST:
                    assert list(each) == expected[row]
                    compared += 1
            session.eviction.evict(max(session.rows.first, len(session.rows) - 60))
        assert session.rows.first > len(session.rows) // 2
        assert compared == 8 * 109


def test_no_more_is_retained_than_what_is_there_needs() -> None:
    with Replayed(KAFKA, 30, 500) as session:
        remaining = []
        for _ in session.grow():
            follow_sessions(session).find_reach("topics", np.zeros(0, np.int64), len(session.rows))
            session.eviction.evict(max(session.rows.first, len(session.rows) - 200))
            followed = follow_sessions(session)._following.values()
            remaining.append(sum(len(each.rows) + len(each.sessions) for each in followed))
    assert max(remaining[len(remaining) // 2 :]) <= max(remaining[: len(remaining) // 2]) + 20


# ---- made of bytes


def fetch(session: int, epoch: int, named: str = "", removed: str = "") -> bytes:
    """Fetch 7; `named` as `a0 a1 b0`: topics and partitions."""
    body = struct.pack(">iiiibii", -1, 500, 1, 1 << 20, 0, session, epoch)
    body += _topics(named, lambda number: struct.pack(">iqqi", number, 0, 0, 1 << 20))
    return request(FETCH, 7, body + _topics(removed, lambda number: struct.pack(">i", number)))


def _topics(named: str, partition: object) -> bytes:
    names: dict[str, list[int]] = {}
    for each in named.split():
        names.setdefault(each[0], []).append(int(each[1:]))
    found = struct.pack(">i", len(names))
    for name, numbers in names.items():
        found += string(name.encode()) + struct.pack(">i", len(numbers))
        found += b"".join(partition(number) for number in numbers)  # type: ignore[operator]
    return found


def fetched(session: int, error: int = 0) -> bytes:
    """Its answer, without news."""
    return answer(struct.pack(">ihii", 0, error, session, 0))


Pairs = Sequence[tuple[bytes, bytes]]
OPENED = fetch(0, 0, "a0 b1"), fetched(7)
NEXT = fetch(7, 9), fetched(7)

CASES: list[tuple[str, Pairs, str, str]] = [
    ("nothing has changed", [OPENED, NEXT], "a b", "0 1"),
    ("one more partition", [OPENED, (fetch(7, 1, "a5"), fetched(7)), NEXT], "a b", "0 1 5"),
    ("one more topic", [OPENED, (fetch(7, 1, "c0"), fetched(7)), NEXT], "a b c", "0 1"),
    ("several topics at once", [OPENED, (fetch(7, 1, "c0 d2 c3"), fetched(7)), NEXT], "a b c d", "0 1 3 2"),
    ("one less", [OPENED, (fetch(7, 1, "", "a0"), fetched(7)), NEXT], "b", "1"),
    ("forgotten and named at once", [OPENED, (fetch(7, 1, "a0", "a0"), fetched(7)), NEXT], "a b", "0 1"),
    (
        "a topic that keeps a partition",
        [(fetch(0, 0, "a0 a1"), fetched(7)), (fetch(7, 1, "", "a1"), fetched(7)), NEXT],
        "a",
        "0",
    ),
    ("refused", [OPENED, (fetch(7, 1, "c3", "a0"), fetched(0, 71)), NEXT], "b a", "1 0"),
    ("began before the capture", [(fetch(7, 4, "c3"), fetched(7)), NEXT], "c", "3"),
    ("nothing is known of it", [NEXT], "", ""),
    ("not opened", [(fetch(0, 0, "a0"), fetched(0)), NEXT], "", ""),
    ("an opening that failed", [(fetch(0, 0, "a0"), fetched(7, 1)), NEXT], "", ""),
    (
        "another session between",
        [OPENED, (fetch(0, 0, "z3"), fetched(8)), (fetch(8, 1), fetched(8)), NEXT],
        "a b",
        "0 1",
    ),
    ("closed, and the same id again", [OPENED, (fetch(7, -1), fetched(0)), NEXT], "", ""),
    ("replaced by one of its own", [OPENED, (fetch(7, 0, "c2"), fetched(8)), (fetch(8, 1), fetched(8))], "c", "2"),
    ("closed", [OPENED, (fetch(7, -1), fetched(0))], "a b", "0 1"),
    ("all named with the end", [OPENED, (fetch(7, -1, "a0"), fetched(0))], "a", "0"),
    ("without sessions", [OPENED, (fetch(0, -1, "c2"), fetched(0))], "c", "2"),
]


@pytest.mark.parametrize(("pairs", "topics", "numbers"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_the_last_request_asks_for(tmp_path: Path, pairs: Pairs, topics: str, numbers: str) -> None:
    with opened(tmp_path, pairs) as session:
        last = len(session.rows) - 2
        assert session.rows.cell("role", last) == Role.REQUEST
        for row in (last, last + 1):
            assert values(session, "kafka.topic", [row]) == [topics.split()]
            assert values(session, "kafka.partition", [row]) == [[*map(int, numbers.split())]]


def by_chance(random: Random, count: int) -> Iterable[tuple[bytes, bytes]]:
    """A session that changes all the time."""
    yield fetch(0, 0, "a0 b0 c0"), fetched(7)
    for epoch in range(1, count):
        named = " ".join(f"{random.choice('abcd')}{random.randrange(3)}" for _ in range(random.choice((0, 0, 1, 2))))
        removed = f"{random.choice('abcd')}{random.randrange(3)}" if random.random() < 0.3 else ""
        yield fetch(7, epoch, named, removed), fetched(7, 71 if random.random() < 0.1 else 0)


def test_changes_by_chance_are_what_show_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "WINDOW", 50)
    with opened(tmp_path, [*by_chance(Random(1), 60)]) as session:
        rows = [row for row in rows_of(session, FETCH) if session.rows.cell("role", row) == Role.REQUEST][1:]
        follower, end = follow_sessions(session), len(session.rows)
        topics, numbers = (follower.find_reach(part, np.array(rows), end) for part in ("topics", "partitions"))
        for place, row in enumerate(rows):
            contents = read_session_contents(session, row)
            assert contents is not None
            assert set(topics.lists[topics.numbers[place]]) == {each.topic for each in contents.partitions}
            assert set(numbers.lists[numbers.numbers[place]]) == {each.partition for each in contents.partitions}


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_values, "MOST", 2)
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    pairs = [(fetch(0, 0, "a0 b1 c2"), fetched(7)), NEXT, *((fetch(each, 1), fetched(each)) for each in range(20, 24))]
    with opened(tmp_path, pairs) as session:
        assert values(session, "kafka.topic", [2]) == [["a", "b"]]
        (following,) = follow_sessions(session)._following.values()
        assert len(following.sessions) == 2


def test_beyond_the_bound_nothing_wrong_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_REMEMBERED", 1)
    with opened(
        tmp_path, [OPENED, NEXT, (fetch(7, 2, "c0", "a0 b1"), fetched(7)), (fetch(7, 3), fetched(7))]
    ) as session:
        assert values(session, "kafka.topic", [2, 6]) == [["a", "b"], []]
