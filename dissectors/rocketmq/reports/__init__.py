"""What whole captures of RocketMQ tell, a module for each table, and for what several of them remember."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.report import ReportType
from dissectors.rocketmq.reports.deliveries import Deliveries
from dissectors.rocketmq.reports.groups import Groups
from dissectors.rocketmq.reports.pops import Pops
from dissectors.rocketmq.reports.queues import Queues
from dissectors.rocketmq.reports.roles import Roles
from dissectors.rocketmq.reports.routes import Routes
from dissectors.rocketmq.reports.transactions import Transactions


def reports() -> Sequence[ReportType]:
    """All of them."""
    return (
        Deliveries,
        Transactions,
        Pops,
        Roles,
        Routes,
        Groups,
        Queues,
    )
