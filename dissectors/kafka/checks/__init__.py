"""Kafka's checks, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dissectors.check import Check
from dissectors.kafka.checks.broker_stops import BrokerStops
from dissectors.kafka.checks.cluster import ControllerChanges, LeaderChanges, MissingTopics
from dissectors.kafka.checks.data import ClockCheck, FetchSessionCheck, SequenceCheck
from dissectors.kafka.checks.limits import OffsetResets, SizeLimits
from dissectors.kafka.checks.logins import UnansweredLogins
from dissectors.kafka.checks.transactions import TransactionTimeouts
from dissectors.kafka.tables import table
from dissectors.triage import Triage, read_triage


def checks() -> Sequence[type[Check]]:
    """Lists the protocol's checks in the order in which they run."""
    return (
        *(SequenceCheck, FetchSessionCheck, ClockCheck, LeaderChanges, ControllerChanges, MissingTopics),
        *(UnansweredLogins, SizeLimits, OffsetResets, TransactionTimeouts, BrokerStops),
    )


@cache
def triage() -> Triage:
    """Reads how much errors matter, and what follows from what, from tables/triage.json."""
    return read_triage(table("triage"))
