"""How long the packets of a quorum connection are: nothing says it in front.

Theory. QuorumPackets stand back to back, so each is read as far as its last length. A length is told only when the
message is whole: then it is this one's turn no more, and what comes next may be something else, as the snapshot is
that comes behind a SNAP.
"""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.api import Measure, Window
from dissectors.zookeeper import sasl
from dissectors.zookeeper.quorum.header import HEAD, MAXIMUM, MOST_IDS, MOST_TYPES
from dissectors.zookeeper.quorum.packets import code_of
from dissectors.zookeeper.quorum.snapshot_measure import LONGEST, Ints, SnapshotMeasure

CHUNK = 256
"""What is read at once of a packet's end."""


@dataclass(slots=True)
class Packets(Measure):
    """Of one direction; `snapshot` while one is being read."""

    from_leader: bool
    snapshot: SnapshotMeasure | None = None

    def length(self, message: Window, ended: bool) -> int | None:
        """A packet, a SASL packet, or the snapshot behind a SNAP."""
        if self.snapshot is not None:
            size = self.snapshot.length(message)
            if size >= 0:
                self.snapshot = None
            return size
        head = message.read(0, HEAD.size)
        if sasl.is_packet(head):
            return sasl.length(message)
        if len(head) < HEAD.size:
            return -HEAD.size
        code, _, data = HEAD.unpack(head)
        if not 0 < code < MOST_TYPES or not -1 <= data <= MAXIMUM:
            return 0
        size = _behind_ids(Ints(message, CHUNK), HEAD.size + max(data, 0))
        if size > 0 and self.from_leader and code == code_of("SNAP"):
            self.snapshot = SnapshotMeasure()
        return size


def _behind_ids(ints: Ints, at: int) -> int:
    """The offset behind a vector of Ids; negative for the bytes that are needed, 0 if there can be none."""
    count = ints.at(at)
    if count is None:
        return -at - 4
    if not -1 <= count <= MOST_IDS:
        return 0
    at += 4
    for _ in range(2 * max(count, 0)):
        size = ints.at(at)
        if size is None:
            return -at - 4
        if not -1 <= size <= LONGEST:
            return 0
        at += 4 + max(size, 0)
    return at if len(ints.window) >= at else -at
