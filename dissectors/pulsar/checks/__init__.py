"""Pulsar's checks, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dissectors.check import Check
from dissectors.pulsar.checks.connections import PingAnswers, ProtocolVersions
from dissectors.pulsar.checks.creation_loops import CreationLoops
from dissectors.pulsar.checks.held_messages import BlockedConsumers, DeadLetters, TransactionTimeouts
from dissectors.pulsar.checks.messages import MessageRedelivery, SendReceipts
from dissectors.pulsar.checks.starved_consumers import StarvedConsumers
from dissectors.pulsar.checks.topic_moves import TopicMoves
from dissectors.pulsar.tables import table
from dissectors.triage import Triage, read_triage


def checks() -> Sequence[type[Check]]:
    """Lists the protocol's checks in the order in which they run."""
    return (
        *(PingAnswers, ProtocolVersions, StarvedConsumers, MessageRedelivery, SendReceipts, CreationLoops),
        *(TopicMoves, BlockedConsumers, DeadLetters, TransactionTimeouts),
    )


@cache
def triage() -> Triage:
    """Reads how much errors matter, and what follows from what, from tables/triage.json."""
    return read_triage(table("triage"))
