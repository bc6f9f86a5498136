"""What whole captures of Pulsar tell, a module for each table, and for what several of them remember."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.pulsar.reports.consumers import Consumers
from dissectors.pulsar.reports.deliveries import Deliveries
from dissectors.pulsar.reports.lookups import Lookups
from dissectors.pulsar.reports.producers import Producers
from dissectors.pulsar.reports.transactions import Transactions
from dissectors.report import ReportType


def reports() -> Sequence[ReportType]:
    """All of them."""
    return Producers, Consumers, Deliveries, Lookups, Transactions
