"""RocketMQ's checks, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dissectors.check import Check
from dissectors.rocketmq.checks.consumption import EmptyPulls, ReturnedMessages
from dissectors.rocketmq.checks.groups import GroupMembers
from dissectors.rocketmq.checks.servers import BusyBrokers, MasterChanges, MissingRoutes
from dissectors.rocketmq.tables import table
from dissectors.triage import Triage, read_triage


def checks() -> Sequence[type[Check]]:
    """Lists the protocol's checks in the order in which they run."""
    return MissingRoutes, MasterChanges, GroupMembers, BusyBrokers, EmptyPulls, ReturnedMessages


@cache
def triage() -> Triage:
    """Reads how much errors matter, and what follows from what, from tables/triage.json."""
    return read_triage(table("triage"))
