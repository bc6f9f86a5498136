"""ZooKeeper's checks, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dissectors.check import Check
from dissectors.triage import Triage, read_triage
from dissectors.zookeeper.checks.ensemble import Quorum, Reconfigurations, Synchronization
from dissectors.zookeeper.checks.sessions import ClientCheck
from dissectors.zookeeper.tables import table


def list_client_checks() -> Sequence[type[Check]]:
    """Lists the checks of the client port in the order in which they run."""
    return ClientCheck, Reconfigurations


def list_quorum_checks() -> Sequence[type[Check]]:
    """Lists the checks of the quorum port."""
    return Quorum, Synchronization


@cache
def triage() -> Triage:
    """Reads how much errors matter, and what follows from what, from tables/triage.json."""
    return read_triage(table("triage"))
