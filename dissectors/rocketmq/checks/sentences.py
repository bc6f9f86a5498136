"""The sentences of RocketMQ's checks."""

from __future__ import annotations

from dissectors.rocketmq.tables import table
from dissectors.table_check import TableCheck


class RocketmqCheck(TableCheck):
    """A check whose sentences are in tables/checks.json."""

    table = staticmethod(table)
