"""Fields walked to for many messages together are what decoding each of them gives, on sound and on damaged bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.fields import FieldPath, Kind, Reading, bodies, find
from analyzer.fields.gathered import listed
from analyzer.rows import Rows
from analyzer.session import Session

CAPTURES = Path(__file__).parents[3] / "captures"
NEVER = 1 << 30

PATHS = (
    *("kafka.Fetch.request.maxWaitMs", "kafka.Fetch.request.topics.topic", "kafka.Fetch.request.topics.topicId"),
    *("kafka.Fetch.request.topics.partitions.partition", "kafka.Fetch.request.rackId", "kafka.Fetch.request.sessionId"),
    *("kafka.Fetch.response.responses.partitions.highWatermark", "kafka.Fetch.response.responses.topic"),
    *("kafka.Fetch.response.responses.partitions.errorCode", "kafka.Fetch.response.throttleTimeMs"),
    *("kafka.Produce.request.acks", "kafka.Produce.request.topicData.name", "kafka.Produce.request.transactionalId"),
    *("kafka.Produce.request.topicData.partitionData.index", "kafka.Produce.response.responses.name"),
    *("kafka.Produce.response.responses.partitionResponses.baseOffset", "kafka.Metadata.request.topics.name"),
    *("kafka.Metadata.response.topics.partitions.isrNodes", "kafka.Metadata.response.topics.isInternal"),
    *(
        "kafka.Metadata.response.brokers.host",
        "kafka.Metadata.response.brokers.rack",
        "kafka.Metadata.response.clusterId",
    ),
    *("kafka.ApiVersions.request.clientSoftwareName", "kafka.ApiVersions.response.apiKeys.maxVersion"),
    *("kafka.JoinGroup.request.groupId", "kafka.JoinGroup.request.protocols.name", "kafka.Heartbeat.request.memberId"),
    *("kafka.OffsetCommit.request.topics.partitions.committedOffset", "kafka.FindCoordinator.response.host"),
    *("kafka.InitProducerId.response.producerId", "kafka.ListOffsets.request.topics.partitions.timestamp"),
    *("kafka.topic", "kafka.group", "kafka.partition", "kafka.topic_name"),
)


def fields() -> list[FieldPath]:
    return [find(path) for path in PATHS]


def found(reader: Rows, field: FieldPath, together: Sequence[FieldPath]) -> list[tuple[int, object]]:
    values = Reading(reader, together).of(field, np.arange(len(reader.session.rows)))
    return list(zip(values.places.tolist(), map(repr, values.values), strict=True))


def assert_equal(reader: Rows, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compares all fields, each for itself and all at once; returns how many values there are."""
    plain = {}
    monkeypatch.setattr(bodies, "WORTH", NEVER)
    for field in fields():
        plain[field] = found(reader, field, [field])
    monkeypatch.setattr(bodies, "WORTH", 1)
    for field in fields():
        assert found(reader, field, [field]) == plain[field], field.name
        assert found(reader, field, fields()) == plain[field], field.name
    return sum(map(len, plain.values()))


@pytest.mark.parametrize(
    ("name", "least"), [("kafka.pcap", 1_000), ("mixed.pcapng", 200), ("kafka-4.4.pcap.zst", 1_000)]
)
def test_real_messages(name: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in CAPTURES.iterdir() if path.name.startswith(name))
    with Session([path]) as session:
        assert assert_equal(Rows(session.load()), monkeypatch) > least


@pytest.mark.parametrize("seed", range(6))
def test_damaged_messages(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    data = bytearray((CAPTURES / "kafka.pcap").read_bytes())
    for _ in range(len(data) // 400):
        data[random.randrange(200, len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    path = tmp_path / "damaged.pcap"
    path.write_bytes(data)
    with Session([path]) as session:
        assert assert_equal(Rows(session.load()), monkeypatch) > 0


def test_integers_come_as_an_array_and_texts_as_a_list() -> None:
    with Session([CAPTURES / "kafka.pcap"]) as session:
        reader = Rows(session.load())
        rows = np.arange(len(session.rows))
        number, text = find("kafka.Fetch.request.maxWaitMs"), find("kafka.Fetch.request.topics.topic")
        assert number.kind is Kind.NUMBER
        values = Reading(reader, [number]).found(number, rows)
        assert isinstance(values.values, np.ndarray)
        assert len(values.values)
        assert isinstance(listed(values.values)[0], int)
        assert isinstance(Reading(reader, [text]).found(text, rows).values, list)
