"""How long the messages of an election connection are: an initial message, perhaps SASL packets, then frames.

Theory. A length alone says little: the first bytes of many protocols read as one. So a frame must also read as a
notification (probe.py), or nothing of this protocol begins there. Where bytes are lost, the length decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.api import Framer, Window
from dissectors.zookeeper import sasl
from dissectors.zookeeper.election.header import (
    CONFIG_AT,
    INITIAL_HEAD,
    LEAST,
    LEGACY,
    LONGEST_ADDRESS,
    MAXIMUM,
    is_sid,
    is_versioned,
)
from dissectors.zookeeper.election.probe import PART, notification_evidence


@dataclass(slots=True)
class ElectionFramer(Framer):
    """Of one direction; `initial`: an initial message may still come."""

    initial: bool

    def length(self, message: Window, ended: bool) -> int | None:
        """A length is told only when enough of the message is there: an initial message comes once."""
        head = message.read_bytes(0, LEGACY)
        if not self.initial and not sasl.magic().startswith(head):
            return _measure_versioned(message) if is_versioned(head) else _notification(message)
        if len(head) < LEGACY:
            return -LEGACY
        if sasl.is_packet(head):
            return sasl.length(message)
        size = _measure_versioned(message) if is_versioned(head) else _legacy(message, head) or _notification(message)
        self.initial = size <= 0
        return size

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """A frame is as long as it says."""
        size = int.from_bytes(message.read_bytes(0, 4))
        return 4 + size if lost.start >= 4 and not self.initial and LEAST <= size <= MAXIMUM else 0


def _legacy(message: Window, head: bytes) -> int:
    """The same of an initial message of before 3.5: what is there behind it must be the next message."""
    behind = message.read_bytes(LEGACY, CONFIG_AT)
    follows = len(behind) < 4 or notification_evidence(behind) or sasl.magic().startswith(behind[:LEGACY])
    return LEGACY if is_sid(head) and follows else 0


def _measure_versioned(message: Window) -> int:
    """The same of an initial message of 3.5 or later."""
    whole = message.read_bytes(0, INITIAL_HEAD.size)
    if len(whole) < INITIAL_HEAD.size:
        return -INITIAL_HEAD.size
    address: int = INITIAL_HEAD.unpack(whole)[2]
    if not 0 < address <= LONGEST_ADDRESS:
        return 0
    size = INITIAL_HEAD.size + address
    return size if len(message) >= size else -size


def _notification(message: Window) -> int:
    """The same of a frame."""
    prefix = message.read_bytes(0, CONFIG_AT)
    if len(prefix) < 4:
        return -4
    size = 4 + int.from_bytes(prefix[:4])
    if not LEAST <= size - 4 <= MAXIMUM:
        return 0
    needed = min(size, CONFIG_AT)
    if len(prefix) < needed:
        return -needed
    return size if notification_evidence(prefix[:size]) > PART else 0
