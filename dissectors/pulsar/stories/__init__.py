"""What whole captures of Pulsar tell, a module for each table, and for what several of them remember."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.pulsar.stories.consumers import Consumers
from dissectors.pulsar.stories.deliveries import Deliveries
from dissectors.pulsar.stories.lookups import Lookups
from dissectors.pulsar.stories.producers import Producers
from dissectors.pulsar.stories.transactions import Transactions
from dissectors.story import Story


def stories() -> Sequence[type[Story]]:
    """All of them."""
    return Producers, Consumers, Deliveries, Lookups, Transactions
