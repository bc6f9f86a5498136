"""The sentences of RocketMQ's checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dissectors.rocketmq.tables import table
from dissectors.table_check import TableCheck


class RocketmqCheck(TableCheck):
    """A check whose sentences are in tables/checks.json."""

    @classmethod
    def sentences(cls) -> Mapping[str, Sequence[str]]:
        """Reads the sentences of the checks from tables/checks.json."""
        found: Mapping[str, Sequence[str]] = table("checks")["sentences"]
        return found
