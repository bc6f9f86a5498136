"""What only several of RocketMQ's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.rocketmq.checks.busy import BusyBrokers
from dissectors.rocketmq.checks.groups import GroupMembers
from dissectors.rocketmq.checks.masters import MasterChanges
from dissectors.rocketmq.checks.pulls import EmptyPulls
from dissectors.rocketmq.checks.redelivery import ReturnedMessages
from dissectors.rocketmq.checks.routes import MissingRoutes


def checks() -> Sequence[type[Check]]:
    """All of them."""
    return MissingRoutes, MasterChanges, GroupMembers, BusyBrokers, EmptyPulls, ReturnedMessages
