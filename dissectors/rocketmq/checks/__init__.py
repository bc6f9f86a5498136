"""What only several of RocketMQ's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.rocketmq.checks.consumption import EmptyPulls, ReturnedMessages
from dissectors.rocketmq.checks.groups import GroupMembers
from dissectors.rocketmq.checks.servers import BusyBrokers, MasterChanges, MissingRoutes


def checks() -> Sequence[type[Check]]:
    """Lists the protocol's checks in the order in which they run."""
    return MissingRoutes, MasterChanges, GroupMembers, BusyBrokers, EmptyPulls, ReturnedMessages
