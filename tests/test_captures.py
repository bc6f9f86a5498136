"""The bundled captures: each is whole, read without a doubt, and described."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analyzer.session import Session
from dissectors.finding import Severity
from tests.analyzer.wire import rows

FOLDER = Path(__file__).parent.parent / "captures"
CAPTURES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".md")

INSTRUCTIVE = {
    "kafka-0.10.pcap.zst": {"Produce", "Fetch", "JoinGroup", "LeaderAndIsr", "UpdateMetadata"},
    "kafka-3.9-zookeeper.pcap.zst": {"LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown"},
    "kafka-4.4.pcap.zst": {"BrokerRegistration", "SaslAuthenticate", "EndTxn", "ConsumerGroupHeartbeat", "JoinGroup"},
    "kafka-4.4-share.pcap.zst": {"ShareFetch", "ShareAcknowledge", "ShareGroupHeartbeat"},
    "zookeeper.pcap.zst": {"multi", "multiRead", "addWatch", "setWatches2", "notification", "reconfig", "sasl", "mntr"},
    "zookeeper-ensemble.pcap.zst": {"connect", "SNAPSHOT", "PROPOSAL", "DIFF", "UPTODATE", "Notification"},
    "pulsar.pcap.zst": {
        "AUTH_CHALLENGE", "SEND", "MESSAGE", "ACK", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "ACTIVE_CONSUMER_CHANGE",
        "SEEK", "REACHED_END_OF_TOPIC", "WATCH_TOPIC_UPDATE", "GET_OR_CREATE_SCHEMA", "END_TXN_ON_PARTITION",
        "CLOSE_PRODUCER",
    },
    "rocketmq.pcap.zst": {
        "REGISTER_BROKER", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "PULL_MESSAGE", "POP_MESSAGE", "ACK_MESSAGE",
        "CHECK_TRANSACTION_STATE", "CONSUMER_SEND_MSG_BACK", "PUSH_REPLY_MESSAGE_TO_CLIENT", "LOCK_BATCH_MQ",
        "NOTIFY_CONSUMER_IDS_CHANGED", "RECALL_MESSAGE",
    },
    "rocketmq-binary.pcap.zst": {"REGISTER_BROKER", "SEND_MESSAGE_V2", "CHECK_TRANSACTION_STATE", "POP_MESSAGE"},
}  # fmt: skip
"""What a capture is there to show; the first two were among the last to do so."""


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_a_capture_is_read_without_a_doubt(path: Path) -> None:
    found = rows(path, ("protocol", "operation", "state", "findings"))
    assert len(found) > 100
    assert INSTRUCTIVE.get(path.name, set()) <= {row["operation"] for row in found}
    serious = [finding for row in found for finding in row["findings"] if finding["severity"] == "error"]
    assert serious == []
    with Session([path]).load() as session:
        assert [finding for finding in session.source.findings if finding.severity is Severity.ERROR] == []
    whole = {"kafka"} if path.name == "mixed.pcapng" else {row["protocol"] for row in found}
    doubtful = Counter(row["state"] for row in found if row["protocol"] in whole)
    assert set(doubtful) <= {"complete"}


def test_each_capture_is_described() -> None:
    readme = (FOLDER / "README.md").read_text()
    assert [path.name for path in CAPTURES if f"| {path.name} |" not in readme] == []
