"""Finds the end of a snapshot that has lost some of its bytes: its end is a known text.

Theory. After a gap, the bytes may be from the middle of anything, so the reader searches for the path that ends the
tree and the signature behind it. If the gap contained these, packets come next, and a leader writes each in one piece:
so if a segment begins with a packet that reads as one to its end, or with the NEWLEADER that comes first, the snapshot
is over. Segments are recognised by the bytes that have come since the last call.

Facts (LearnerHandler). A NEWLEADER's zxid is the epoch and zeros below.
"""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.api import PREFIX, Window
from dissectors.zookeeper.quorum.header import HEAD, code_of
from dissectors.zookeeper.quorum.probe import WHOLE, evidence
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK
from dissectors.zookeeper.tables import table

LONGEST_CONFIG = 1 << 20
"""Of the configuration that a NEWLEADER carries: a line for each server."""

MOST = 1 << 30
"""Bytes behind a gap that are searched."""


@dataclass(slots=True)
class SnapshotSearch:
    """From `begin` on, where bytes are missing; those before `at` have been searched."""

    begin: int
    at: int = 0

    def length(self, message: Window) -> int:
        """Returns the bytes up to the signature's end; negative while more are needed, 0 if it will not come."""
        end = _end()
        here, stop = max(self.begin, self.at - len(end) + 1), len(message)
        while here < stop:
            found = message.read_bytes(here, CHUNK)
            place = found.find(end)
            if place >= 0:
                return here + place + len(end)
            here += max(len(found) - len(end) + 1, 1)
        if self.at and _is_packet(message.read_bytes(self.at, PREFIX)):
            return self.at
        if stop - self.begin > MOST:
            return 0
        self.at = stop
        return -stop - 1


def _is_packet(prefix: bytes) -> bool:
    if len(prefix) < HEAD.size:
        return False
    code, zxid, data = HEAD.unpack_from(prefix)
    if code == code_of("NEWLEADER") and zxid > 0 and not zxid & 0xFFFFFFFF and -1 <= data <= LONGEST_CONFIG:
        return True
    return evidence(prefix, False) >= WHOLE


def _end() -> bytes:
    signature: str = table("packets")["signature"]
    return b"\0\0\0\1/" + len(signature).to_bytes(4) + signature.encode()
