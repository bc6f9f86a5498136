"""How an election connection begins: an initial message, perhaps SASL packets, then frames."""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.api import Measure, Window
from dissectors.zookeeper import sasl
from dissectors.zookeeper.election.header import INITIAL_HEAD, LEGACY, LONGEST_ADDRESS, is_versioned


@dataclass(slots=True)
class Opening(Measure):
    """Of one direction; `initial`: an initial message is still to come."""

    initial: bool

    def length(self, message: Window, ended: bool) -> int | None:
        """A length is told only when all of the message is there: then it is this one's turn no more."""
        head = message.read(0, LEGACY)
        if not self.initial and not sasl.magic().startswith(head):
            return None
        if len(head) < LEGACY:
            return -LEGACY
        if sasl.is_packet(head):
            return sasl.length(message)
        size = _initial(message, head)
        self.initial = size <= 0
        return size


def _initial(message: Window, head: bytes) -> int:
    """The same of an initial message."""
    if not is_versioned(head):
        return LEGACY if head[0] < 0x80 else 0
    whole = message.read(0, INITIAL_HEAD.size)
    if len(whole) < INITIAL_HEAD.size:
        return -INITIAL_HEAD.size
    address: int = INITIAL_HEAD.unpack(whole)[2]
    if not 0 < address <= LONGEST_ADDRESS:
        return 0
    size = INITIAL_HEAD.size + address
    return size if len(message) >= size else -size
