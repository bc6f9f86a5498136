"""Pulsar's reports, a module for each table, and the state that several of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dissectors.pulsar.reports.consumers import ConsumerReport
from dissectors.pulsar.reports.deliveries import DeliveryReport
from dissectors.pulsar.reports.lookups import LookupReport
from dissectors.pulsar.reports.producers import ProducerReport
from dissectors.pulsar.reports.transactions import TransactionReport
from dissectors.report import ReportType

_OF_TRANSACTIONS = (
    *("TC_CLIENT_CONNECT_REQUEST", "NEW_TXN", "ADD_PARTITION_TO_TXN", "ADD_SUBSCRIPTION_TO_TXN", "END_TXN"),
)


def list_server_roles() -> Mapping[str, str]:
    """Returns what a broker is that answers a command without an error."""
    return {**dict.fromkeys(_OF_TRANSACTIONS, "transaction coordinator"), "PRODUCER": "owner", "SUBSCRIBE": "owner"}


def reports() -> Sequence[ReportType]:
    """Lists the protocol's reports in the order in which they are offered."""
    return ProducerReport, ConsumerReport, DeliveryReport, LookupReport, TransactionReport
