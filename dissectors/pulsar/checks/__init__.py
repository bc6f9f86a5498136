"""What only several of Pulsar's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.pulsar.checks.makers import Makers
from dissectors.pulsar.checks.pings import Pings
from dissectors.pulsar.checks.redelivery import Redelivery
from dissectors.pulsar.checks.sends import Sends
from dissectors.pulsar.checks.starved import Starved
from dissectors.pulsar.checks.versions import Versions


def checks() -> Sequence[type[Check]]:
    """All of them."""
    return Pings, Versions, Starved, Redelivery, Sends, Makers
