"""Pulsar's reports, a module for each table, and the state that several of them share."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.pulsar.reports.consumers import ConsumerReport
from dissectors.pulsar.reports.deliveries import DeliveryReport
from dissectors.pulsar.reports.lookups import LookupReport
from dissectors.pulsar.reports.producers import ProducerReport
from dissectors.pulsar.reports.transactions import TransactionReport
from dissectors.report import ReportType


def reports() -> Sequence[ReportType]:
    """Lists the protocol's reports in the order in which they are offered."""
    return ProducerReport, ConsumerReport, DeliveryReport, LookupReport, TransactionReport
