"""Framing of a snapshot, whose length follows only from its layout.

Theory. Behind a SNAP the leader's whole tree follows without any header. It may be gigabytes, in thousands of segments,
so its reader keeps its place and never examines a byte twice. snapshot.py has the layout, and uses the same reader to
skip items. Nodes are many and short: those that lie whole in a chunk are skipped in one loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from dissectors.api import Window
from dissectors.zookeeper.tables import table

CHUNK = 65_536
"""What is read at once."""

LONGEST = 1 << 30
"""Of one value, and of all sessions."""

_INT = Struct(">i")
SESSION, STAT = 12, 68
"""Bytes of a session, and of what stands behind a node's data."""

_ROOT = ord("/")


class Ints:
    """Reads ints (four bytes) at any offset of a window, a chunk at a time; None if the bytes have not come yet."""

    def __init__(self, window: Window, chunk: int) -> None:
        """Ints of `window`, `chunk` bytes read at once."""
        self.window, self.chunk, self.data, self.begin = window, chunk, b"", 0

    def read_int(self, offset: int) -> int | None:
        """Returns the int at an offset."""
        place = offset - self.begin
        if not 0 <= place <= len(self.data) - 4:
            self.data, self.begin, place = self.window.read_bytes(offset, self.chunk), offset, 0
            if len(self.data) < 4:
                return None
        value: int = _INT.unpack_from(self.data, place)[0]
        return value


@dataclass(slots=True)
class SnapshotFramer:
    """Where in a snapshot we are: `at` is the next item of a `part`, `left` and `ids` how many of its kind follow.

    nodes: how many were passed; item: where the last of them, or the last entry of the ACL map, begins.
    """

    part: str = "sessions"
    at: int = 0
    left: int = 0
    ids: int = 0
    nodes: int = 0
    item: int = 0

    def length(self, message: Window) -> int:
        """Returns the bytes up to the signature's end; negative while more are needed, 0 where the layout breaks."""
        stop = self.advance_to(Ints(message, CHUNK), "signature")
        return stop if stop <= 0 else self._signature(message)

    def advance_to(self, ints: Ints, part: str) -> int:
        """Goes on up to where a part begins: its offset, which may be behind what has come; else as length says."""
        while self.part != part:
            stop = self._next(ints)
            if stop <= 0:
                return stop
            self.at = stop
        return self.at

    def _next(self, ints: Ints) -> int:
        """The offset behind the next item; else as length says."""
        if self.part == "nodes":
            return self._nodes(ints)
        if self.part == "sessions":
            stop = self._skip_counted(ints, self.at, SESSION)
            self.part = "acls" if stop > 0 else self.part
            return stop
        if self.part == "acls":
            count = ints.read_int(self.at)
            if count is None or count < -1:
                return -self.at - 4 if count is None else 0
            self.left, self.part = max(count, 0), "entries"
            return self.at + 4
        if self.ids:
            return self._id(ints)
        if not self.left:
            self.part = "nodes"
            return self.at
        return self._entry(ints)

    def _skip_counted(self, ints: Ints, at: int, width: int) -> int:
        count = ints.read_int(at)
        if count is None:
            return -at - 4
        return at + 4 + max(count, 0) * width if count >= -1 and count * width <= LONGEST else 0

    def _entry(self, ints: Ints) -> int:
        """An entry of the ACL map: its key, and how many ACLs it has."""
        count = ints.read_int(self.at + 8)
        if count is None:
            return -self.at - 12
        if count < -1:
            return 0
        self.item, self.left, self.ids = self.at, self.left - 1, max(count, 0)
        return self.at + 12

    def _id(self, ints: Ints) -> int:
        """An ACL: permissions, scheme, id."""
        stop = _behind_two(ints, self.at + 4)
        self.ids -= stop > 0
        return stop

    def _nodes(self, ints: Ints) -> int:
        """As many nodes as lie in what was read, or one; a path of the root alone is none, but the end."""
        size = ints.read_int(self.at)
        count, stop = _whole_nodes(ints.data, self.at - ints.begin)
        if count:
            self.nodes += count
            return ints.begin + stop
        if size == 1:
            path = ints.read_int(self.at + 4)
            if path is None:
                return -self.at - 8
            if path >> 24 == _ROOT:
                self.part = "signature"
                return self.at + 5
        stop = behind_node(ints, self.at)
        if stop > 0:
            self.nodes, self.item = self.nodes + 1, self.at
        return stop

    def _signature(self, message: Window) -> int:
        expected = table("packets")["signature"].encode()
        stop = self.at + 4 + len(expected)
        found = message.read_bytes(self.at, stop - self.at)
        if len(found) < stop - self.at:
            return -stop
        return stop if found == len(expected).to_bytes(4) + expected else 0


def _whole_nodes(data: bytes, at: int) -> tuple[int, int]:
    """How many nodes lie in `data` from `at` on, and the offset behind them."""
    unpack, count, last = _INT.unpack_from, 0, len(data) - 4
    while at <= last:
        size = unpack(data, at)[0]
        if size < -1 or (size == 1 and data[at + 4 : at + 5] == b"/"):
            break
        behind = at + 4 + size if size > 0 else at + 4
        if behind > last:
            break
        size = unpack(data, behind)[0]
        if size < -1:
            break
        behind += 4 + STAT + size if size > 0 else 4 + STAT
        if behind > last + 4:
            break
        at, count = behind, count + 1
    return count, at


def behind_node(ints: Ints, at: int) -> int:
    """Returns the offset behind a node; else as SnapshotFramer.length says."""
    stop = _behind_two(ints, at)
    return stop + STAT if stop > 0 else stop


def _behind_two(ints: Ints, at: int) -> int:
    """The offset behind two values that each have their length in front; else as SnapshotFramer.length says."""
    for _ in range(2):
        size = ints.read_int(at)
        if size is None:
            return -at - 4
        if not -1 <= size <= LONGEST:
            return 0
        at += 4 + max(size, 0)
    return at
