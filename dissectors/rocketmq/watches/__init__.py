"""What only several of RocketMQ's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.rocketmq.watches.busy import Busy
from dissectors.rocketmq.watches.groups import Groups
from dissectors.rocketmq.watches.masters import Masters
from dissectors.rocketmq.watches.pulls import Pulls
from dissectors.rocketmq.watches.redelivery import Redelivery
from dissectors.rocketmq.watches.routes import Routes
from dissectors.watch import Watch


def watches() -> Sequence[Watch]:
    """New ones for one reading."""
    return Routes(), Masters(), Groups(), Busy(), Pulls(), Redelivery()
