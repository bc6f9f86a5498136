"""Kafka's messages for reports, made by hand: a clock of milliseconds, rows that count up, a client on each stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.api import Context, Role
from dissectors.kafka.reports.fields import KAFKA, api_keys
from dissectors.report import ReportType
from dissectors.wire.embedded import EmbeddedValue
from tests.dissectors.telling import Telling


def ends(stream: int) -> tuple[str, str]:
    """Each connection is of a host of its own; those from 50 on are to a second broker."""
    return f"10.0.0.{stream}:50000", f"10.0.1.{1 + stream // 50}:9092"


class ReportBuilder(Telling):
    """Makes a report message by message."""

    def __init__(self, report: ReportType) -> None:
        super().__init__(report, ends)

    def send(
        self, api: str, values: Mapping[str, Any], *, role: Role = Role.REQUEST, version: int = 9, stream: int = 1,
        client: str | None = None, partner: int | None = None, after: int = 1,
    ) -> int:  # fmt: skip
        """The next message, some ms after the one before; its row. The client id is `c` and the stream by default."""
        return self.receive(
            *(KAFKA, Context(role, api_keys()[api], version), values, api),
            stream=stream,
            after=after,
            from_client=role is not Role.RESPONSE,
            client=client or f"c{stream}",
            partner=partner,
        )

    def call(
        self, api: str, asked: Mapping[str, Any], answer: Mapping[str, Any] | None = None, *, took: int = 1, **more: Any
    ) -> int:
        """A request and its answer, which comes `took` ms later; the row of the request."""
        row = self.send(api, asked, partner=self.row + 1, **more)
        more.pop("after", None)
        self.send(api, answer or {}, role=Role.RESPONSE, partner=row, after=took, **more)
        return row


def subscription(*topics: str) -> list[dict[str, Any]]:
    """The protocols of a JoinGroup: one, which subscribes to these topics."""
    stored = EmbeddedValue(b"", {"topics": list(topics)}, "ConsumerProtocolSubscription")
    return [{"name": "range", "metadata": stored}]


def assignment(**topics: list[int]) -> EmbeddedValue:
    """The bytes of an assignment: partitions by topic."""
    partitions = [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()]
    return EmbeddedValue(b"", {"assignedPartitions": partitions}, "ConsumerProtocolAssignment")
