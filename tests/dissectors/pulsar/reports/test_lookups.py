"""The story of lookups: which requests are steps of one way, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.insight.reports import ReportReading
from analyzer.session import Session
from dissectors.pulsar.reports import lookups
from dissectors.pulsar.reports.lookups import LookupReport
from tests.dissectors.pulsar.reports.command_report import CommandReportBuilder
from tests.dissectors.telling import MS

GOLDEN = Path(__file__).parents[3] / "golden" / "pulsar"
TOPIC: dict[str, Any] = {"topic": "persistent://public/default/t"}
A, B = "pulsar://a:6650", "pulsar://b:6650"


def metadata(lines: CommandReportBuilder, partitions: int = 0, stream: int = 1) -> None:
    reported = {"partitions": partitions, "response": "Success"}
    lines.call("PARTITIONED_METADATA", "PARTITIONED_METADATA_RESPONSE", reported, stream=stream, **TOPIC)


def lookup(lines: CommandReportBuilder, broker: str, response: str = "Connect", stream: int = 1, took: int = 1) -> None:
    reported = {"brokerServiceUrl": broker, "response": response}
    lines.call("LOOKUP", "LOOKUP_RESPONSE", reported, stream=stream, took=took, **TOPIC)


def producer(lines: CommandReportBuilder, stream: int = 1, **told: Any) -> None:
    lines.call("PRODUCER", "ERROR" if told else "PRODUCER_SUCCESS", told, stream=stream, producer_id=0, **TOPIC)


def plain(lines: CommandReportBuilder) -> None:
    metadata(lines)
    lookup(lines, A)
    producer(lines)


def redirected(lines: CommandReportBuilder) -> None:
    metadata(lines)
    lookup(lines, B, "Redirect", took=5)
    lookup(lines, B, stream=2)
    producer(lines, stream=2)


def in_circles(lines: CommandReportBuilder) -> None:
    lookup(lines, B, "Redirect")
    lookup(lines, A, "Redirect", stream=2)
    lookup(lines, B, "Redirect", stream=1)


def through_a_proxy(lines: CommandReportBuilder) -> None:
    lookup(lines, A)
    lines.tell("CONNECT", stream=2, proxy_to_broker_url="a:6650")
    producer(lines, stream=2)


def two_hosts(lines: CommandReportBuilder) -> None:
    lookup(lines, A)
    lookup(lines, A, stream=11)
    producer(lines, stream=11)


def two_at_a_time(lines: CommandReportBuilder) -> None:
    lookup(lines, A)
    lookup(lines, A)
    lines.call("SUBSCRIBE", "SUCCESS", consumer_id=0, **TOPIC)
    producer(lines, error="ProducerBusy")


def much_later(lines: CommandReportBuilder) -> None:
    lookup(lines, A)
    lines.tell("PRODUCER", after=61_000, **TOPIC)


def failed(lines: CommandReportBuilder) -> None:
    reported = {"response": "Failed", "error": "ServiceNotReady"}
    lines.call("LOOKUP", "LOOKUP_RESPONSE", reported, **TOPIC)


def coordinator(lines: CommandReportBuilder) -> None:
    topic = "persistent://pulsar/system/transaction_coordinator_assign-partition-3"
    lines.call("LOOKUP", "LOOKUP_RESPONSE", {"brokerServiceUrl": A, "response": "Connect"}, topic=topic)
    lines.call("TC_CLIENT_CONNECT_REQUEST", "TC_CLIENT_CONNECT_RESPONSE", tc_id=3)


COLUMNS = ("result", "steps", "redirects", "again", "slowest", "error", "server")
A1, B1 = "10.0.1.1:6650", "10.0.1.2:6650"
WAYS: dict[str, tuple[Callable[[CommandReportBuilder], object], list[tuple[object, ...]]]] = {
    "to a producer": (plain, [("producer", 3, 0, 0, "PARTITIONED_METADATA", None, A1)]),
    "by another broker": (redirected, [("producer", 4, 1, 0, "LOOKUP", None, B1)]),
    "in circles": (in_circles, [("redirected", 3, 3, 1, "LOOKUP", None, A1)]),
    "through a proxy": (through_a_proxy, [("producer", 2, 0, 0, "LOOKUP", None, B1)]),
    "of two hosts": (
        two_hosts,
        [("producer", 2, 0, 0, "LOOKUP", None, A1), ("found", 1, 0, 0, "LOOKUP", None, A1)],
    ),
    "two at a time, one refused": (
        two_at_a_time,
        [("consumer", 2, 0, 0, "LOOKUP", None, A1), ("refused", 2, 0, 0, "LOOKUP", "ProducerBusy", A1)],
    ),
    "what comes much later is no step": (much_later, [("found", 1, 0, 0, "LOOKUP", None, A1)]),
    "not found": (failed, [("failed", 1, 0, 0, "LOOKUP", "ServiceNotReady", A1)]),
    "of a topic in partitions": (
        lambda lines: metadata(lines, 4),
        [("partitions", 1, 0, 0, "PARTITIONED_METADATA", None, A1)],
    ),
    "unanswered": (
        lambda lines: lines.tell("LOOKUP", topic="t"),
        [("unanswered", 1, 0, 0, None, None, A1)],
    ),
    "to a coordinator": (coordinator, [("coordinator", 2, 0, 0, "LOOKUP", None, A1)]),
    "what was made without a lookup is none": (producer, []),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_way(way: str) -> None:
    tell, expected = WAYS[way]
    lines = CommandReportBuilder(LookupReport)
    tell(lines)
    assert lines.only(*COLUMNS) == expected


def test_how_long_it_took_and_where_it_went() -> None:
    lines = CommandReportBuilder(LookupReport)
    redirected(lines)
    assert lines.only("took_ns", "slowest_ns", "brokers", "partitions") == [(11 * MS, 5 * MS, [B, B], 0)]
    (entry,) = lines.entries
    assert LookupReport.describe(entry, 2) == (
        "LOOKUP of a way to persistent://public/default/t: producer, 4 requests in 11 ms, 1 of them redirected"
    )


def test_a_proxy_is_named() -> None:
    lines = CommandReportBuilder(LookupReport)
    through_a_proxy(lines)
    assert lines.only("proxied") == [("a:6650",)]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LookupReport, "limit", 3)
    lines = CommandReportBuilder(LookupReport)
    for number in range(10):
        lines.tell("LOOKUP", topic=str(number))
    assert len(lines.entries) == 7
    for _ in range(lookups.MOST_ALIKE + 5):
        lines.tell("LOOKUP", topic="9")
    assert len(lines.entries) == 7 + 6


def test_a_real_capture() -> None:
    with Session([GOLDEN / "java4_errors.pcap.zst"]).load() as session:
        (chapter,) = ReportReading(session, [LookupReport]).run()
    text = [LookupReport.cells(entry) for entry in chapter.entries]
    assert sum(each["result"] == "failed" for each in text) == 6
    assert {each["error"] for each in text if each["result"] == "refused"} == {
        "ProducerBusy",
        "ConsumerBusy",
        "SubscriptionNotFound",
        "MetadataError",
        "IncompatibleSchema",
        "ProducerBlockedQuotaExceededException",
    }
