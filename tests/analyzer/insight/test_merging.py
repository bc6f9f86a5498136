"""Reports and checks over many messages: alike ones at once, and numbers that are given out again."""

from __future__ import annotations

import struct
from collections import deque
from pathlib import Path
from random import Random
from typing import Any

import lz4.frame
import pytest

from analyzer.insight import merging, reports
from analyzer.insight.diagnosis import diagnose
from analyzer.insight.reports import ReportReading, list_reports
from analyzer.session import Session
from dissectors.wire.checksum import crc32c
from tests.analyzer.capture.writers import T0
from tests.analyzer.wire import CLIENT, SERVER, STEP_NS, Segment, capture, data_segments, opening
from tests.dissectors.kafka.records.test_values import record
from tests.dissectors.rocketmq.frames import command

NOW_MS = T0 // 1_000_000
ROOT = Path(__file__).parents[3]
CAPTURES = [
    *(ROOT / "captures" / name for name in ("kafka-4.4.pcap.zst", "kafka-0.10.pcap.zst")),
    *(ROOT / "tests" / "golden" / "kafka" / f"{name}.pcap.zst" for name in ("k4_java_txn", "k4_election", "k4_errors")),
]


def tell(path: Path) -> dict[str, list[Any]]:
    """The rows of all reports, by name, and the findings."""
    with Session([path]).load() as session:
        known, _ = list_reports(session)
        reading = ReportReading(session, list(known.values()))
        tables = reading.run()
        assert not reading.problems
        return {name: table.entries for name, table in zip(known, tables, strict=True)} | {"": list(diagnose(session))}


def assert_merging_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(merging, "MOST", 0)
        alone = tell(path)
    monkeypatch.setattr(merging, "WORTH", 1)
    assert tell(path) == alone
    monkeypatch.setattr(reports, "FRAGMENT", 37)
    assert tell(path) == alone


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_recorded_captures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_merging_changes_nothing(path, monkeypatch)


def text(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def array(*parts: bytes) -> bytes:
    return struct.pack(">i", len(parts)) + b"".join(parts)


def batch(chance: Random, base: int, sequence: int, count: int) -> bytes:
    """A batch, some compressed; of an idempotent producer where the sequence is not -1."""
    packed = chance.random() < 0.3
    content = b"".join(record(offset, 0, None, bytes(chance.choice((4, 400)))) for offset in range(count))
    content = lz4.frame.compress(content) if packed else content
    time = chance.choice((-1, NOW_MS, NOW_MS, NOW_MS, NOW_MS, NOW_MS - 30 * 86_400_000))
    producer = (7, 0) if sequence >= 0 else (-1, -1)
    tail = struct.pack(">hiqqqhii", 3 * packed, count - 1, time, NOW_MS, *producer, sequence, count) + content
    return struct.pack(">qiibI", base, len(tail) + 9, 0, 2, crc32c(tail)) + tail


class Chatter:
    """A client and a broker that say random things; answers come in order, some requests later."""

    def __init__(self, chance: Random) -> None:
        self.chance, self.number = chance, 0
        self.writes: list[tuple[int, bytes]] = []
        self.waiting: deque[bytes] = deque()
        self.sequences = [0] * 3
        self.sent: list[bytes] = []

    def ask(self, api: int, version: int, body: bytes, answer: bytes | None) -> None:
        self.number += 1
        content = struct.pack(">hhi", api, version, self.number) + text(self.chance.choice(["cc", "d"])) + body
        self.writes.append((CLIENT, struct.pack(">i", len(content)) + content))
        if answer is not None:
            self.waiting.append(struct.pack(">ii", len(answer) + 4, self.number) + answer)
        while self.waiting and self.chance.random() < 0.5:
            self.writes.append((SERVER, self.waiting.popleft()))

    def produce(self, *, numbered: bool) -> None:
        chance, partitions, answers = self.chance, [], []
        for index in chance.sample(range(3), chance.choice((1, 1, 2))):
            count = chance.choice((1, 1, 5))
            sequence = self.sequences[index] if numbered else -1
            again = numbered and chance.random() < 0.2
            self.sequences[index] += count if numbered and not again else 0
            records = b"".join(batch(chance, 0, sequence, count) for _ in range(chance.choice((1, 1, 1, 2, 0))))
            partitions.append(struct.pack(">ii", index, len(records)) + records)
            error = chance.choice((0, 0, 0, 0, 0, 6, 7)) if chance.random() < 0.2 else 0
            answers.append(struct.pack(">ihqqq", index, error, 10, -1, 0) + array() + text(None))
        acks = chance.choice((-1, -1, -1, 1, 0))
        transaction = text(chance.choice((None, None, "t"))) if numbered else text(None)
        body = transaction + struct.pack(">hi", acks, chance.choice((100, 200))) + array(text("a") + array(*partitions))
        answer = array(text("a") + array(*answers)) + struct.pack(">i", chance.choice((0, 0, 3)))
        self.ask(0, 8, body, None if acks == 0 else answer)

    def fetch(self) -> None:
        chance, partitions, answers = self.chance, [], []
        for index in range(chance.choice((1, 1, 2))):
            at = chance.randint(-1, 9)
            partitions.append(struct.pack(">iqi", index, at, 99))
            records = b"".join(batch(chance, at, -1, 2) for _ in range(chance.choice((0, 1, 1, 2))))
            error = 1 if chance.random() < 0.05 else 0
            answers.append(struct.pack(">ihqqii", index, error, chance.randint(5, 20), 9, -1, len(records)) + records)
        replica = 2 if chance.random() < 0.1 else -1
        body = struct.pack(">iiiib", replica, 5, 1, 99, 0) + array(text("a") + array(*partitions))
        self.ask(1, 4, body, struct.pack(">i", 0) + array(text("a") + array(*answers)))

    def commit(self) -> None:
        partition = struct.pack(">iq", 0, self.chance.randint(0, 9)) + text("")
        body = text("g") + struct.pack(">i", 3) + text("m") + struct.pack(">q", -1)
        answer = array(text("a") + array(struct.pack(">ih", 0, self.chance.choice((0, 0, 25)))))
        self.ask(8, 2, body + array(text("a") + array(partition)), answer)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(2))
def test_random_chatter(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chatter = Chatter(Random(seed))
    for _ in range(300):
        kind = chatter.chance.random()
        if kind < 0.6:
            chatter.produce(numbered=seed % 2 == 1)
        elif kind < 0.98:
            chatter.fetch()
        else:
            chatter.commit()
    path = capture(tmp_path / "chatter.pcap", [*opening(), *data_segments(chatter.writes)])
    reported = tell(path)
    assert all(reported[name] for name in ("kafka.producers", "progress", "partitions", "brokers"))
    assert_merging_changes_nothing(path, monkeypatch)


# ---- numbers that are given out again before they were answered


PULL, ANSWER, ONEWAY = 0, 1, 2
SECOND = 10**9

# What is said in order, by side: (side, opaque, flag, seconds before it); the rows that a finding is about
CASES: dict[str, tuple[list[tuple[int, int, int, int]], list[int]]] = {
    "each its own": ([(CLIENT, 1, PULL, 0), (CLIENT, 2, PULL, 0), (SERVER, 2, ANSWER, 0), (SERVER, 1, ANSWER, 0)], []),
    "again behind its answer": ([(CLIENT, 1, PULL, 0), (SERVER, 1, ANSWER, 0), (CLIENT, 1, PULL, 0)], []),
    "again before its answer": (
        [(CLIENT, 1, PULL, 0), (CLIENT, 1, PULL, 0), (SERVER, 1, ANSWER, 0), (SERVER, 1, ANSWER, 0)],
        [1],
    ),
    "never answered": ([(CLIENT, 1, PULL, 0), (CLIENT, 2, PULL, 0), (CLIENT, 1, PULL, 9)], [2]),
    "long ago": ([(CLIENT, 1, PULL, 0), (CLIENT, 1, PULL, 61)], []),
    "answered late": ([(CLIENT, 1, PULL, 0), (CLIENT, 1, PULL, 61), (SERVER, 1, ANSWER, 0)], [1]),
    "three": ([(CLIENT, 1, PULL, 0)] * 3, [1, 2]),
    "of both sides": ([(CLIENT, 1, PULL, 0), (SERVER, 1, PULL, 0), (CLIENT, 1, ANSWER, 0)], []),
    "nobody waits for an answer": ([(CLIENT, 1, PULL, 0), (CLIENT, 1, ONEWAY, 0), (CLIENT, 1, ONEWAY, 0)], []),
}


@pytest.mark.parametrize("use_fast_path", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_numbers(case: str, use_fast_path: bool, tmp_path: Path) -> None:
    steps, expected = CASES[case]
    segments, at, time = opening(), [0, 0], T0 + 10 * STEP_NS
    for side, opaque, flag, after in steps:
        data = command(11, opaque=opaque, flag=flag)
        time += after * SECOND + STEP_NS
        segments.append(Segment(side, at[side], data, acked=at[1 - side], time=time))
        at[side] += len(data)
    path = capture(tmp_path / "a.pcap", segments)
    with Session([path], decode_as={9092: "rocketmq"}, use_fast_path=use_fast_path).load() as session:
        found = [(row, finding.text) for row, finding, *_ in diagnose(session) if finding.code == "number-reused"]
    assert [row for row, _ in found] == expected
    assert all(text.startswith("number 1 is that of row ") for _, text in found)
