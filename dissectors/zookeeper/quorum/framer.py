"""Framing of quorum packets, which have no length in front.

Theory. QuorumPackets follow each other, so each is read as far as its last length. A length is known only when the
message is whole. Then the framer has no further state, and the next bytes may be something else, such as the snapshot
behind a SNAP.

Where bytes are lost, a packet whose head is there has the length that it states, because nearly all end in a null. A
REQUEST does not; if its end is lost, it extends to the loss.

The first bytes of many protocols read as a packet, often one of an unknown type, of the other side, or with data of an
impossible length. One is accepted only if something confirms it.

Theory. After a gap, the bytes may be from the middle of anything, so the reader searches for the path that ends the
tree and the signature behind it. If the gap contained these, packets come next, and a leader writes each in one piece:
so if a segment begins with a packet that reads as one to its end, or with the NEWLEADER that comes first, the snapshot
is over. Segments are recognised by the bytes that have come since the last call.

Facts (LearnerHandler). A NEWLEADER's zxid is the epoch and zeros below.
"""

from __future__ import annotations

from dataclasses import dataclass

from dissectors.api import PREFIX, Framer, Window
from dissectors.zookeeper import sasl
from dissectors.zookeeper.quorum.header import HEAD, MAXIMUM, MOST_IDS, MOST_TYPES, code_of, packets
from dissectors.zookeeper.quorum.probe import WHOLE, evidence, is_usual, sizes_of_data
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK as SNAPSHOT_CHUNK
from dissectors.zookeeper.quorum.snapshot_framer import Ints, SnapshotFramer
from dissectors.zookeeper.tables import table

MOST_UNKNOWN = 1 << 16
"""Bytes of an unusual packet."""

CHUNK = 256
"""What is read at once of a packet's end."""


@dataclass(slots=True)
class Packets(Framer):
    """Frames one direction of a quorum connection. `snapshot` and `search` are set inside a snapshot."""

    from_leader: bool
    snapshot: SnapshotFramer | None = None
    search: SnapshotSearch | None = None

    @property
    def settled(self) -> bool:
        """Whether no snapshot is being read."""
        return self.snapshot is None

    def length(self, message: Window, ended: bool) -> int | None:
        """Returns the length of a packet, of a SASL packet, or of the snapshot after a SNAP."""
        if self.search is not None:
            return -1
        if self.snapshot is not None:
            size = self.snapshot.length(message)
            if size >= 0:
                self.snapshot = None
            return size
        return self._packet(message)

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """Returns the length of a packet with lost bytes, by its head; searches for the end of a snapshot."""
        if self.snapshot is not None:
            self.search = self.search or SnapshotSearch(lost.start)
            size = self.search.length(message)
            if size >= 0:
                self.snapshot = self.search = None
            return size
        if lost.start < HEAD.size:
            return 0
        head, size = message.read_bytes(0, HEAD.size), abs(self._packet(message))
        code, _, data = HEAD.unpack(head)
        behind = HEAD.size + max(data, 0)
        if lost.stop <= behind or sasl.is_packet(head) or not _is_packet(code, data):
            return size
        return max(size, lost.stop) if code == code_of("REQUEST") else behind + 4

    def _packet(self, message: Window) -> int:
        head = message.read_bytes(0, HEAD.size)
        if sasl.is_packet(head):
            return sasl.length(message)
        if len(head) >= 4 and not 0 < int.from_bytes(head[:4]) < MOST_TYPES and not sasl.magic().startswith(head):
            return 0
        if len(head) < HEAD.size:
            return -HEAD.size
        code, _, data = HEAD.unpack(head)
        if not _is_packet(code, data):
            return 0
        size = _behind_ids(Ints(message, CHUNK), HEAD.size + max(data, 0))
        if not is_usual(head, not self.from_leader):
            return _confirm_packet(message, code, size, not self.from_leader)
        if size > 0 and self.from_leader and code == code_of("SNAP"):
            self.snapshot = SnapshotFramer()
        return size


def _is_packet(code: int, data: int) -> bool:
    return 0 < code < MOST_TYPES and -1 <= data <= MAXIMUM


def _confirm_packet(message: Window, code: int, size: int, from_client: bool) -> int:
    """The size of an unusual packet, if the bytes end with it or another packet follows; else 0.

    Only one of an unknown type may wait for more bytes.
    """
    waits = code not in packets()
    if not 0 < size <= len(message):
        return size if waits and abs(size) <= MOST_UNKNOWN else 0
    behind = message.read_bytes(size, HEAD.size)
    if sasl.magic().startswith(behind[: len(sasl.magic())]):
        return size
    if len(behind) < 4:
        return -size - 4 if waits else 0
    following = int.from_bytes(behind[:4], signed=True)
    if following == code or len(behind) < HEAD.size:
        return size if following == code or sizes_of_data(following, from_client) is not None else 0
    return size if is_usual(behind, from_client) else 0


def _behind_ids(ints: Ints, at: int) -> int:
    """The offset behind a vector of Ids; negative for the bytes that are needed, 0 if there can be none."""
    count = ints.read_int(at)
    if count is None:
        return -at - 4
    if not -1 <= count <= MOST_IDS:
        return 0
    at += 4
    for _ in range(2 * max(count, 0)):
        at = ints.pass_sized(at)
        if at <= 0:
            return at
    return at if len(ints.window) >= at else -at


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
            found = message.read_bytes(here, SNAPSHOT_CHUNK)
            place = found.find(end)
            if place >= 0:
                return here + place + len(end)
            here += max(len(found) - len(end) + 1, 1)
        if self.at and _begins_packet(message.read_bytes(self.at, PREFIX)):
            return self.at
        if stop - self.begin > MOST:
            return 0
        self.at = stop
        return -stop - 1


def _begins_packet(prefix: bytes) -> bool:
    if len(prefix) < HEAD.size:
        return False
    code, zxid, data = HEAD.unpack_from(prefix)
    if code == code_of("NEWLEADER") and zxid > 0 and not zxid & 0xFFFFFFFF and -1 <= data <= LONGEST_CONFIG:
        return True
    return evidence(prefix, False) >= WHOLE


def _end() -> bytes:
    signature: str = table("packets")["signature"]
    return b"\0\0\0\1/" + len(signature).to_bytes(4) + signature.encode()
