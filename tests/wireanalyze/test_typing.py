"""A program of a user: mypy checks this file with all that `strict` asks for, and the test runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, assert_type

import wireanalyze as wa

CAPTURE = Path(__file__).parents[2] / "captures" / "kafka.pcap"


def find_slowest(capture: wa.Capture, least: timedelta) -> dict[str | None, timedelta]:
    """Returns the longest latency of each operation that takes so long."""
    found: dict[str | None, timedelta] = {}
    for message in capture.messages("role == response", sort="-latency"):
        if message.latency is not None and message.latency > least:
            found.setdefault(message.operation, message.latency)
    return found


def test_a_strict_program() -> None:
    with wa.open(CAPTURE, decode_as={19092: "kafka"}, jobs=1) as capture:
        assert list(find_slowest(capture, timedelta(milliseconds=500))) == ["Fetch"]
        message = assert_type(capture.message(16), wa.Message)
        assert_type(capture.messages(), Iterator[wa.Message])
        assert_type((message.time, message.time_ns, message.version), tuple[datetime, int, int | None])
        assert_type((message.partner, message.error), tuple[wa.Message | None, wa.ReportedError | None])
        assert_type((message.values, message["errorCode"]), tuple[Mapping[str, Any], Any])
        assert_type(message.read_field("kafka.topic"), Sequence[Any])
        assert_type(capture.stats(by=["operation", "version"])[:2], wa.Rows)
        assert_type([each.severity for each in message.findings], list[wa.Severity])
    assert_type(wa.decode("0000000e0012000000000001000461626364"), wa.DecodedMessage)
