"""What only several of Kafka's messages together show, a module for each subject."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.kafka.watches.clocks import Clocks
from dissectors.kafka.watches.sequences import Sequences
from dissectors.kafka.watches.sessions import Sessions
from dissectors.watch import Watch


def watches() -> Sequence[Watch]:
    """New ones, for one reading of a capture."""
    return (Sequences(), Sessions(), Clocks())
