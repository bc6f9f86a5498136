"""What the one screen knows: who talks to whom, what is waited for, what messages are about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import analyzer.insight.overview
from analyzer.decode.rows import RowReader
from analyzer.insight.counts import find_unanswered, longest
from analyzer.insight.overview import Overview, overview
from analyzer.insight.traffic import conversations, endpoints
from analyzer.session import Session

ROOT = Path(__file__).parents[3]
MIXED, KAFKA = ROOT / "captures" / "mixed.pcapng", ROOT / "captures" / "kafka-4.4.pcap.zst"
KEYS = (
    "number",
    "stream_id",
    "protocol",
    "source",
    "destination",
    "from_client",
    "role",
    "length",
    "partner",
    "client",
)


def of(path: Path) -> Overview:
    with Session([path]).load() as session:
        return overview(session)


def test_conversations_and_endpoints_are_those_of_the_rows() -> None:
    with Session([MIXED]).load() as session:
        reader, rows = RowReader(session), np.arange(len(session.rows))
        talks, ends = conversations(reader, rows), endpoints(reader, rows)
        listed = list(reader.read_objects(KEYS, rows))
    up: Counter[str] = Counter()
    for row in listed:
        up[row["stream_id"]] += row["length"] * row["from_client"]
    assert {each.connection: each.bytes_to_server for each in talks} == dict(up)
    assert sum(each.messages for each in talks) == len(listed)
    assert all(each.to_server + each.to_client == each.messages for each in talks)
    sent, received = (Counter(row[side] for row in listed) for side in ("source", "destination"))
    assert {each.endpoint: each.sent for each in ends if each.sent} == dict(sent)
    assert {each.endpoint: each.received for each in ends if each.received} == dict(received)
    assert all(each.messages == each.sent + each.received for each in ends)
    assert sum(each.bytes_sent for each in ends) == sum(row["length"] for row in listed)


def test_who_waited_longest_comes_first() -> None:
    with Session([MIXED]).load() as session:
        rows = find_unanswered(session, np.arange(len(session.rows)))
        found = longest(session, rows, 3)
        expected = [
            row["number"] - 1
            for row in RowReader(session).read_objects(KEYS, np.arange(len(session.rows)))
            if row["role"] == "request" and row["partner"] is None
        ]
    assert rows.tolist() == expected
    assert len(found) == 3
    assert [each.waited for each in found] == sorted((each.waited for each in found), reverse=True)
    assert all(0 <= each.waited <= each.before_end for each in found)


def test_it_says_of_mixed_protocols_what_matters() -> None:
    found = of(MIXED)
    assert {group.key[0] for group in found.protocols} >= {"kafka", "zookeeper", "pulsar", "rocketmq"}
    assert sum(found.over_time) == found.total.messages == sum(each.metrics.messages for each in found.operations)
    assert found.failures_over_time is not None
    assert sum(found.failures_over_time) == found.total.errors == sum(each.messages for each in found.failures)
    assert found.failures[0].error == "NONODE"
    assert sum(many for *_, many in found.waiting) == found.total.unanswered == len(found.oldest)
    assert ("note", "unanswered", found.total.unanswered) in found.findings
    fetch = next(each for each in found.operations if each.operation == "Fetch")
    assert (fetch.versions, sum(fetch.latencies)) == ([18], fetch.metrics.timed)


@pytest.mark.parametrize("sample", [3, 100_000])
def test_subjects_are_of_a_sample_that_says_how_large_it_is(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.insight.overview, "SAMPLE", sample)
    topics = next(each for each in of(KAFKA).subjects if each.name == "topic")
    assert topics.looked_at == min(sample, topics.of)
    assert all(0 < many <= topics.looked_at for _, many in topics.counts)
    if sample > topics.of:
        # Fetch says ids; their names are in answers to Metadata.
        assert dict(topics.counts)["from-librdkafka"] > 1


def test_an_empty_capture_has_nothing_to_say(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes((ROOT / "captures" / "kafka.pcap").read_bytes()[:24])
    found = of(empty)
    assert (found.packets, found.total.messages, list(found.operations), found.first) == (0, 0, [], None)
