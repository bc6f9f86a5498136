"""RocketMQ's reports, a module for each table, and the state that several of them share."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.report import ReportType
from dissectors.rocketmq.reports.deliveries import DeliveryReport
from dissectors.rocketmq.reports.groups import GroupReport
from dissectors.rocketmq.reports.pops import PopReport
from dissectors.rocketmq.reports.queues import QueueReport
from dissectors.rocketmq.reports.roles import RoleReport
from dissectors.rocketmq.reports.routes import RouteReport
from dissectors.rocketmq.reports.transactions import TransactionReport


def reports() -> Sequence[ReportType]:
    """Lists the protocol's reports in the order in which they are offered."""
    return (
        DeliveryReport,
        TransactionReport,
        PopReport,
        RoleReport,
        RouteReport,
        GroupReport,
        QueueReport,
    )
