"""How much of a snapshot is shown, and what becomes of the rest.

Theory. A tree of gigabytes would need many times its size as values. So of each list the first items are shown, as long
as they lie whole among the first bytes of the message; the others are passed over, and counted. Both bounds follow from
what a user allows one message to grow to (dissectors.wire.budget). A message that is shorter is read as any other,
broken items as far as they go; of a longer one an item that breaks is named, and its parts are not.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.api import Window
from dissectors.errors import DecodeError, MalformedField, TruncatedField
from dissectors.slotted import make_slotted
from dissectors.wire.budget import USUAL, get_allowance
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK, SESSION, Ints, SnapshotFramer, behind_node

ROOT = b"\0\0\0\1/"
"""A path of the root alone: no node, but the end of all. The root itself has the empty path."""

_BYTES_AN_ITEM, _SHARE = 4096, 8
"""A node of a hundred bytes takes a thousand as values, and its fields three thousand."""


@make_slotted
class BytesWindow:
    """A Window on bytes that are all there."""

    data: bytes

    def __len__(self) -> int:
        return len(self.data)

    def read_bytes(self, offset: int, length: int) -> bytes:
        """See Window."""
        return self.data[offset : offset + length]


def compute_bounds() -> tuple[int, int]:
    """The most items that are shown of a list, and the bytes in which they lie."""
    size = max(get_allowance(), USUAL)
    return size // _BYTES_AN_ITEM, size // _SHARE


class SkippedItems(NamedTuple):
    """`items` items were passed over, up to offset `stop`; there the list ends, or an item breaks with `error`."""

    items: int
    stop: int
    error: DecodeError | None = None


class SnapshotExcerpt:
    """A snapshot, and what is shown of it: at most `most` items of a list, in the first `limit` bytes, `data`.

    `data` may be more.
    """

    def __init__(self, message: Window, data: bytes | None = None) -> None:
        self.message, self.end = message, len(message)
        self.most, limit = compute_bounds()
        self.limit = min(self.end, limit)
        self.data = message.read_bytes(0, self.limit) if data is None else data
        self._ints = Ints(BytesWindow(self.data), CHUNK)

    def goes_on(self, at: int, done: int, count: int | None) -> bool:
        """Whether a list has another item at an offset; count: None for the nodes, that nobody has counted."""
        return done < count if count is not None else self.message.read_bytes(at, len(ROOT)) != ROOT

    def has(self, part: str, at: int) -> bool:
        """Whether the item there is shown."""
        if self.limit == self.end:
            return True
        if part == "sessions":
            stop = at + SESSION
        elif part == "acls":
            stop = SnapshotFramer("entries", at, 1).advance_to(self._ints, "nodes")
        else:
            stop = behind_node(self._ints, at)
        return 0 < stop <= self.limit

    def skip_items(self, part: str, at: int, done: int, count: int | None) -> SkippedItems:
        """Passes over the items of a list from the one with number `done` on. Room for `count` sessions is there."""
        left = 0 if count is None else count - done
        if part == "sessions":
            return SkippedItems(left, at + left * SESSION)
        framer = SnapshotFramer("nodes" if count is None else "entries", at, left)
        stop = framer.advance_to(Ints(self.message, CHUNK), "signature" if count is None else "nodes")
        found = framer.nodes if count is None else left - framer.left
        if 0 < stop <= self.end:
            return SkippedItems(found, stop - len(ROOT) if count is None else stop)
        if framer.at > self.end or framer.ids:
            begin, found = framer.item, found - 1
        else:
            begin = framer.at
        path = f"{part}[{done + found}]"
        if not stop:
            return SkippedItems(found, begin, MalformedField(path, begin, "has a length that cannot be"))
        needed = max(framer.at, abs(stop) if framer.at <= self.end else 0) - begin
        return SkippedItems(found, begin, TruncatedField(path, begin, needed, self.end - begin))
