"""How long the frames of one direction are.

Theory. Nothing but the first bytes tells which of the two protocols is spoken, so the first frame decides, for its
direction, and none later: an offset of 4 GiB begins like a handshake.
"""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.api import Framer, Window
from dissectors.rocketmq.ha.forms import HEAD, HAFrame, HAProtocol, read_head, recognise_protocol

LOOK = 2 * HEAD
"""Bytes that do to tell the kind: a head, and what the next one begins with."""


@dataclass(slots=True)
class HAFramer(Framer):
    """Of one direction, seen from its beginning if `opening`; `kind` None until its first frame."""

    from_slave: bool
    opening: bool
    kind: HAProtocol | None = None

    def length(self, message: Window, ended: bool) -> int | None:
        """Head and data."""
        head = message.read(0, min(len(message), LOOK))
        kind = self.kind
        if kind is None:
            kind = recognise_protocol(head, self.from_slave, ended=ended, opening=self.opening)
        if kind is None:
            return -len(head) - 1
        found = read_head(head, self.from_slave, kind, ended)
        if not isinstance(found, HAFrame):
            return found
        self.kind = kind
        return found.size

    def across(self, message: Window, lost: range, ended: bool) -> int:
        """As long as its head says, if that is there."""
        found = read_head(message.read(0, min(lost.start, HEAD)), self.from_slave, self.kind or HAProtocol.CLASSIC)
        return found.size if isinstance(found, HAFrame) else 0
