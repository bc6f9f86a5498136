"""Counting over the index: each figure against the rows one by one, and what a group is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.counts import Count, MessageCounts, count_messages
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, segments

ROOT = Path(__file__).parents[3]
KEYS = ("protocol", "operation", "role", "partner", "length")


def framed(text: str) -> bytes:
    data = bytes.fromhex(text)
    return len(data).to_bytes(4) + data


def request(correlation: int) -> bytes:
    return framed(f"0003 0001 {correlation:08x} 0002 6d65 00000001 0002 6869")


def answer(correlation: int) -> bytes:
    return framed(f"{correlation:08x} 00000000 00000002 00000001 0003 0002 6869 00 00000000")


def of(tmp_path: Path, talk: Talk) -> MessageCounts:
    with Session([capture(tmp_path / "a.pcap", segments(talk))]) as session:
        return count_messages(session.load())


def test_an_exchange_and_a_request_without_answer(tmp_path: Path) -> None:
    found = of(tmp_path, Talk(((CLIENT, request(7)), (SERVER, answer(7)), (CLIENT, request(8)))))
    size = 2 * len(request(7)) + len(answer(7))
    expected = Count("kafka", "Metadata", 3, 2, 1, 1, 0, 0, 0, 0, size)
    assert found.operations == [expected]
    assert [(each.protocol, each.operation, each.bytes) for each in found.protocols] == [("kafka", None, size)]


def test_bytes_that_nobody_reads_are_raw_and_unknown(tmp_path: Path) -> None:
    found = of(tmp_path, Talk(((CLIENT, b"\xff" * 700),)))
    assert found.operations == [Count("unknown", None, 1, 0, 0, 0, 0, 0, 0, 1, 700)]


def test_nothing_is_counted_before_anything_is_read(tmp_path: Path) -> None:
    with Session([capture(tmp_path / "a.pcap", segments(Talk(((CLIENT, request(7)),))))]) as session:
        assert count_messages(session) == MessageCounts([], [])


@pytest.mark.parametrize("name", ["captures/mixed.pcapng", "tests/golden/zookeeper/late_start.pcap.zst"])
def test_metrics_are_those_of_the_rows(name: str) -> None:
    with Session([ROOT / name]).load() as session:
        found = count_messages(session)
        rows = list(zip(*RowReader(session).read_columns(KEYS, np.arange(len(session.rows))), strict=True))
    expected: dict[tuple[str, str | None], Counter[str]] = {}
    for protocol, operation, role, partner, length in rows:
        metrics = expected.setdefault((protocol, operation), Counter())
        metrics.update({"messages": 1, role: 1, "bytes": length})
        metrics[f"{role} alone"] += partner is None
    assert {(each.protocol, each.operation) for each in found.operations} == set(expected)
    for each in found.operations:
        metrics = expected[each.protocol, each.operation]
        assert (each.messages, each.bytes) == (metrics["messages"], metrics["bytes"])
        assert (each.requests, each.answers) == (metrics["request"], metrics["response"])
        assert (each.unanswered, each.orphans) == (metrics["request alone"], metrics["response alone"])
        assert (each.oneway, each.push, each.raw) == (metrics["oneway"], metrics["push"], metrics["raw"])


def test_protocols_are_the_sums_of_their_operations_and_the_most_frequent_come_first() -> None:
    with Session([ROOT / "captures" / "mixed.pcapng"]) as session:
        found = count_messages(session.load())
    for protocol in found.protocols:
        own = [each for each in found.operations if each.protocol == protocol.protocol]
        assert sum(each.messages for each in own) == protocol.messages
        assert sum(each.bytes for each in own) == protocol.bytes
        assert [each.messages for each in own] == sorted((each.messages for each in own), reverse=True)
    assert [each.messages for each in found.protocols] == sorted((e.messages for e in found.protocols), reverse=True)
    assert list(dict.fromkeys(each.protocol for each in found.operations)) == [e.protocol for e in found.protocols]
