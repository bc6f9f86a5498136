"""What whole captures of RocketMQ tell, a module for each table, and for what several of them remember."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.rocketmq.stories.deliveries import Deliveries
from dissectors.rocketmq.stories.groups import Groups
from dissectors.rocketmq.stories.pops import Pops
from dissectors.rocketmq.stories.queues import Queues
from dissectors.rocketmq.stories.roles import Roles
from dissectors.rocketmq.stories.routes import Routes
from dissectors.rocketmq.stories.transactions import Transactions
from dissectors.story import Story


def stories() -> Sequence[type[Story]]:
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
