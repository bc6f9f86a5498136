"""What only several of Pulsar's messages show to be wrong, a module for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence

from dissectors.pulsar.watches.makers import Makers
from dissectors.pulsar.watches.pings import Pings
from dissectors.pulsar.watches.redelivery import Redelivery
from dissectors.pulsar.watches.sends import Sends
from dissectors.pulsar.watches.starved import Starved
from dissectors.pulsar.watches.versions import Versions
from dissectors.watch import Watch


def watches() -> Sequence[Watch]:
    """New ones for one reading."""
    return Pings(), Versions(), Starved(), Redelivery(), Sends(), Makers()
