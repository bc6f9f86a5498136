"""Decodes the snapshot that a leader sends after a SNAP packet, up to a bound on its items.

Theory. A tree of gigabytes would need many times its size as values. So the first items of each list are shown, as long
as they lie whole among the first bytes of the message; the others are skipped and counted. Both bounds follow from the
size that a user allows for one message (dissectors.wire.budget). A shorter message is read like any other, damaged
items as far as possible; in a longer one a damaged item is named without its parts.

Facts (SerializeUtils.serializeSnapshot, DataTree.serialize). The sessions, the map of ACLs, then all nodes, parents
first, until a path of the root alone, and the string that ends it, which only the stream has (LearnerHandler). A node
names its ACL by the key in the map. The root has the empty path. There is no digest: since 3.6 a snapshot's file has
one behind the tree (FileSnap.serialize), but the stream is made by ZKDatabase.serializeSnapshot, which writes none. In
streams of leaders of 3.5.10 and 3.9.5, the next packet follows right behind the string.

Nothing here needs the whole message at once: it is read through a Window, and all but its first part is only counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from dissectors.api import Body, Window
from dissectors.errors import DecodeError, MalformedField, TruncatedField
from dissectors.field import FieldSpec, Tree
from dissectors.slotted import make_slotted
from dissectors.wire.budget import USUAL, Budget, get_allowance
from dissectors.wire.embedded import CutList
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree
from dissectors.wire.parts import text_of
from dissectors.wire.plan import Leaf
from dissectors.wire.reader import Reader, trailing
from dissectors.wire.specs import COUNT, MORE, MORE_SECRET, REST, LayoutSpec, More, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK, END, Ints, SnapshotFramer, lists
from dissectors.zookeeper.schemas import LENGTH, plan_of, width

_BYTES_AN_ITEM, _SHARE = 4096, 8
"""A node of a hundred bytes takes a thousand as values, and its fields three thousand."""


@make_slotted
class BytesWindow:
    """A Window on bytes that are all there."""

    data: bytes

    def __len__(self) -> int:
        return len(self.data)

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset` on, fewer at the end."""
        return self.data[offset : offset + length]


def compute_bounds() -> tuple[int, int]:
    """Returns the most items that are shown of a list, and the bytes in which they lie."""
    size = max(get_allowance(), USUAL)
    return size // _BYTES_AN_ITEM, size // _SHARE


class SkippedItems(NamedTuple):
    """`items` items were passed over, up to offset `stop`; there the list ends, or an item breaks with `error`."""

    items: int
    stop: int
    error: DecodeError | None = None


class SnapshotExcerpt:
    """A snapshot, and what is shown of it: at most `most` items of a list, in the first `limit` bytes, `data`.

    `data` may be more. A list is named by its number; its count is None if nobody has counted.
    """

    def __init__(self, message: Window, data: bytes | None = None) -> None:
        self.message, self.end = message, len(message)
        self.most, limit = compute_bounds()
        self.limit = min(self.end, limit)
        self.data = message.read_bytes(0, self.limit) if data is None else data
        self._ints = Ints(BytesWindow(self.data), CHUNK)

    def require(self, size: int, at: int, name: str) -> None:
        """Raises TruncatedField unless there are `size` bytes from `at` on."""
        if size > self.end - at:
            raise TruncatedField(name, at, size, max(self.end - at, 0))

    def read_number(self, at: int, name: str) -> int:
        """Returns a count or length, wherever that is; -1 is null. Raises DecodeError."""
        self.require(LENGTH.size, at, name)
        number = int.from_bytes(self.message.read_bytes(at, LENGTH.size), signed=True)
        if number < -1:
            raise MalformedField(name, at, f"has length {number}")
        return number

    def goes_on(self, at: int, done: int, count: int | None) -> bool:
        """Returns whether a list has another item at an offset."""
        if count is not None:
            return done < count
        in_hand = at + len(END) <= len(self.data)
        return not self.data.startswith(END, at) if in_hand else self.message.read_bytes(at, len(END)) != END

    def has(self, number: int, at: int) -> bool:
        """Returns whether the item there is shown."""
        if self.limit == self.end:
            return True
        return 0 < SnapshotFramer(number, at, (1,)).advance_to(self._ints, number + 1) <= self.limit

    def skip_items(self, number: int, at: int, done: int, count: int | None) -> SkippedItems:
        """Passes over the items of a list from the one with number `done` on."""
        framer = SnapshotFramer(number, at, () if count is None else (count - done,))
        stop = framer.advance_to(Ints(self.message, CHUNK), number + 1)
        found = framer.items
        if 0 < stop <= self.end:
            return SkippedItems(found, stop - len(END) if count is None else stop)
        if framer.at > self.end or len(framer.left) > 1:
            begin, found = framer.item, found - 1
        else:
            begin = framer.at
        path = f"{lists()[number].spec.name}[{done + found}]"
        if not stop:
            return SkippedItems(found, begin, MalformedField(path, begin, "has a length that cannot be"))
        needed = max(framer.at, abs(stop) if framer.at <= self.end else 0) - begin
        return SkippedItems(found, begin, TruncatedField(path, begin, needed, self.end - begin))


ReadItems: TypeAlias = Callable[[int, int | None], int]

_END = LayoutSpec("end", "ustring")
_SECRET = frozenset({"acls"})
"""Lists whose items may hold a secret: a digest in an ACL."""


def _read_snapshot(output: Reader | SnapshotValues, shown: SnapshotExcerpt, read_items: ReadItems) -> None:
    """The one way through a snapshot, for values and for trees. Raises one of FAILURES.

    `read_items` reads the items that are shown of a list, by its number and its count, and returns how many.
    """
    for number, items in enumerate(lists()):
        spec, count = items.spec, None
        if items.counted:
            count = shown.read_number(output.at, spec.name)
            behind = output.at + LENGTH.size
            if count <= 0:
                output.leaf(spec, None if count < 0 else [], behind, LENGTH.size)
                continue
            shown.require(count * width(items.plan), behind, f"{spec.name} ({count} elements)")
        output.enter(spec)
        if count is not None:
            output.leaf(COUNT[LENGTH.type], count, behind)
        done = read_items(number, count)
        if shown.goes_on(output.at, done, count):
            passed = shown.skip_items(number, output.at, done, count)
            if passed.items:
                output.leaf(MORE_SECRET if spec.name in _SECRET else MORE, passed.items, passed.stop)
            if passed.error is not None:
                raise passed.error
        if count is None:
            output.leaf(_END, "/", output.at + len(END), LENGTH.size)
        output.leave()
    (step,) = plan_of("SnapshotTail").steps
    assert isinstance(step, Leaf)
    size, at = shown.read_number(output.at, step.spec.name), output.at + LENGTH.size
    shown.require(max(size, 0), at, step.spec.name)
    content = shown.message.read_bytes(at, max(size, 0))
    output.leaf(step.spec, None if size < 0 else text_of(content), at + len(content), LENGTH.size)


def make_tree(shown: SnapshotExcerpt) -> Tree:
    """Returns the tree; its source has the bytes that `shown` has in hand."""
    reader = Reader.start(shown.data, Budget())
    reader.guard(partial(_read_fields, shown=shown), shown.end)
    return reader.tree


def _read_fields(reader: Reader, shown: SnapshotExcerpt) -> None:
    _read_snapshot(reader, shown, partial(_read_item_fields, reader, shown))
    if reader.at < reader.end:
        left = reader.end - reader.at
        reader.tree.findings.append(trailing(left, "behind the snapshot", 0, reader.at))
        reader.leaf(REST, shown.message.read_bytes(reader.at, left), reader.end)


def _read_item_fields(reader: Reader, shown: SnapshotExcerpt, number: int, count: int | None) -> int:
    steps, done = lists()[number].plan.steps, 0
    while done < shown.most and shown.goes_on(reader.at, done, count) and shown.has(number, reader.at):
        reader.enter(element(done, "struct"))
        read_members(reader, steps)
        reader.leave()
        done += 1
    return done


class SnapshotValues:
    """Makes the values of a snapshot of what _read_snapshot gives, and decodes its items."""

    def __init__(self, shown: SnapshotExcerpt) -> None:
        self.at, self.values = 0, dict[str, Any]()
        self._shown, self._items = shown, list[Any]()

    def enter(self, spec: FieldSpec) -> None:
        """Begins a list."""
        self._items = self.values[spec.name] = []

    def leaf(self, spec: FieldSpec, value: Any, stop: int, head: int = 0) -> None:
        """Takes a value, or the number of items that are not shown."""
        if isinstance(spec, More):
            name, items = self.values.popitem()
            self.values[name] = CutList(items, len(items) + value, hides=spec.secret)
        elif not isinstance(spec, LayoutSpec):
            self.values[spec.name] = value
        self.at = stop

    def leave(self) -> None:
        """Ends a list."""

    def read_items(self, number: int, count: int | None) -> int:
        """Adds the items of a list that are shown, and returns how many. Raises one of FAILURES."""
        shown, items, at, budget = self._shown, self._items, self.at, Budget()
        data, limit, decode = shown.data, shown.limit, values_decoder(lists()[number].plan)
        most = shown.most if count is None else min(shown.most, count)
        while len(items) < most and not (count is None and data.startswith(END, at)):
            try:
                item, stop = decode(data, at, budget)
                if stop > limit:
                    raise Unfit
            except FAILURES:
                if shown.has(number, at):
                    raise
                break
            items.append(item)
            at = stop
        self.at = at
        return len(items)


def decode_values(message: bytes) -> Body:
    """Sessions, ACLs, nodes and the signature."""
    return stream_values(BytesWindow(message))


def stream_values(message: Window) -> Body:
    """Decodes a snapshot that is read piece by piece through a Window."""
    shown = SnapshotExcerpt(message)
    output = SnapshotValues(shown)
    try:
        _read_snapshot(output, shown, output.read_items)
        if output.at < shown.end:
            raise Unfit
        return Body(output.values, None)
    except FAILURES:
        return fold_tree(make_tree(shown))


def decode_tree(message: bytes) -> Tree:
    """Decodes a snapshot to an annotated tree."""
    return make_tree(SnapshotExcerpt(BytesWindow(message), message))
