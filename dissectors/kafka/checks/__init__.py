"""What only several of Kafka's messages together show, a module for each subject."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.kafka.checks.clocks import Clocks
from dissectors.kafka.checks.sequences import Sequences
from dissectors.kafka.checks.sessions import Sessions


def checks() -> Sequence[type[Check]]:
    """All of them."""
    return (Sequences, Sessions, Clocks)
