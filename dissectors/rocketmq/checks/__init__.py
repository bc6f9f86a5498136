"""What only several of RocketMQ's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.rocketmq.checks.busy import Busy
from dissectors.rocketmq.checks.groups import Groups
from dissectors.rocketmq.checks.masters import Masters
from dissectors.rocketmq.checks.pulls import Pulls
from dissectors.rocketmq.checks.redelivery import Redelivery
from dissectors.rocketmq.checks.routes import Routes


def checks() -> Sequence[type[Check]]:
    """All of them."""
    return Routes, Masters, Groups, Busy, Pulls, Redelivery
