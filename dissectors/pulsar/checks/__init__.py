"""What only several of Pulsar's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.pulsar.checks.makers import CreationLoops
from dissectors.pulsar.checks.pings import PingAnswers
from dissectors.pulsar.checks.redelivery import MessageRedelivery
from dissectors.pulsar.checks.sends import SendReceipts
from dissectors.pulsar.checks.starved import StarvedConsumers
from dissectors.pulsar.checks.versions import ProtocolVersions


def checks() -> Sequence[type[Check]]:
    """All of them."""
    return PingAnswers, ProtocolVersions, StarvedConsumers, MessageRedelivery, SendReceipts, CreationLoops
