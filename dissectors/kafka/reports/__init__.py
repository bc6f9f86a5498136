"""Kafka's reports, a module for each."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.kafka.reports.brokers import BrokerReport
from dissectors.kafka.reports.clients import ClientReport, UpgradeReport
from dissectors.kafka.reports.groups import GroupReport
from dissectors.kafka.reports.members import MemberReport
from dissectors.kafka.reports.partitions import PartitionReport
from dissectors.kafka.reports.producers import ProducerReport
from dissectors.kafka.reports.progress import ProgressReport
from dissectors.kafka.reports.transactions import TransactionReport
from dissectors.report import ReportType


def reports() -> Sequence[ReportType]:
    """Lists Kafka's reports in the order in which people read them."""
    return (
        GroupReport,
        MemberReport,
        ProgressReport,
        ProducerReport,
        TransactionReport,
        PartitionReport,
        BrokerReport,
        ClientReport,
        UpgradeReport,
    )


def participants() -> Sequence[ReportType]:
    """Returns the report that numbers brokers."""
    return (BrokerReport,)
