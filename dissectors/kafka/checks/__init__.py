"""What only several of Kafka's messages together show, a module for each subject."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.check import Check
from dissectors.kafka.checks.clocks import ClockCheck
from dissectors.kafka.checks.sequences import SequenceCheck
from dissectors.kafka.checks.sessions import FetchSessionCheck


def checks() -> Sequence[type[Check]]:
    """All of them."""
    return (SequenceCheck, FetchSessionCheck, ClockCheck)
