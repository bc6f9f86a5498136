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

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from dissectors.api import Body, Window
from dissectors.errors import DecodeError, MalformedField, TruncatedField
from dissectors.field import Tree
from dissectors.slotted import make_slotted
from dissectors.wire.budget import USUAL, Budget, get_allowance
from dissectors.wire.embedded import CutList
from dissectors.wire.emit import FAILURES, Decode, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree
from dissectors.wire.plan import Array, Leaf, Plan, Step, inside
from dissectors.wire.reader import Reader, trailing
from dissectors.wire.specs import COUNT, MORE, MORE_SECRET, REST, LayoutSpec, Many, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK, SESSION, Ints, SnapshotFramer, behind_node
from dissectors.zookeeper.schemas import LENGTH, plan_of
from dissectors.zookeeper.tables import table

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

    `data` may be more.
    """

    def __init__(self, message: Window, data: bytes | None = None) -> None:
        self.message, self.end = message, len(message)
        self.most, limit = compute_bounds()
        self.limit = min(self.end, limit)
        self.data = message.read_bytes(0, self.limit) if data is None else data
        self._ints = Ints(BytesWindow(self.data), CHUNK)

    def goes_on(self, at: int, done: int, count: int | None) -> bool:
        """Returns whether a list has another item at an offset; count: None for the nodes, that nobody has counted."""
        return done < count if count is not None else self.message.read_bytes(at, len(ROOT)) != ROOT

    def has(self, part: str, at: int) -> bool:
        """Returns whether the item there is shown."""
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


_NODES = Many("nodes", "array")
_END = LayoutSpec("end", "ustring")
_SECRET = frozenset({"acls"})
"""Lists whose items may hold a secret: a digest in an ACL."""


def make_tree(shown: SnapshotExcerpt) -> Tree:
    """Returns the tree; its source has the bytes that `shown` has in hand."""
    reader = Reader.start(shown.data, Budget())
    reader.guard(partial(_read_fields, shown=shown), shown.end)
    return reader.tree


def _read_fields(reader: Reader, shown: SnapshotExcerpt) -> None:
    for step in plan_of("SnapshotHead").steps:
        assert isinstance(step, Array)
        _read_counted_list(reader, shown, step)
    reader.enter(_NODES)
    _read_items(reader, shown, "nodes", plan_of("SnapshotNode").steps, None)
    reader.leaf(_END, "/", reader.at + len(ROOT), LENGTH.layout.size)
    reader.leave()
    _read_signature(reader, shown)
    if reader.at < reader.end:
        left = reader.end - reader.at
        reader.tree.findings.append(trailing(left, "behind the snapshot", 0, reader.at))
        reader.leaf(REST, shown.message.read_bytes(reader.at, left), reader.end)


def _read_counted_list(reader: Reader, shown: SnapshotExcerpt, step: Array) -> None:
    """A list behind its count."""
    spec, inner = step.spec, step.element
    count, at = _read_number(reader, shown, spec.name)
    if count <= 0:
        reader.leaf(spec, None if count < 0 else [], at, at - reader.at)
        return
    reader.need(count * inner.minimum, at, f"{spec.name} ({count} elements)")
    reader.enter(spec)
    reader.leaf(COUNT[LENGTH.type], count, at)
    _read_items(reader, shown, spec.name, inside(inner), count)
    reader.leave()


def _read_items(reader: Reader, shown: SnapshotExcerpt, part: str, steps: tuple[Step, ...], count: int | None) -> None:
    done = 0
    while done < shown.most and shown.goes_on(reader.at, done, count) and shown.has(part, reader.at):
        reader.enter(element(done, "struct"))
        read_members(reader, steps)
        reader.leave()
        done += 1
    if not shown.goes_on(reader.at, done, count):
        return
    passed = shown.skip_items(part, reader.at, done, count)
    if passed.items:
        reader.leaf(MORE_SECRET if part in _SECRET else MORE, passed.items, passed.stop)
    if passed.error is not None:
        raise passed.error


def _read_signature(reader: Reader, shown: SnapshotExcerpt) -> None:
    """A text that may lie behind what is in hand."""
    (step,) = plan_of("SnapshotTail").steps
    assert isinstance(step, Leaf)
    size, at = _read_number(reader, shown, step.spec.name)
    reader.need(max(size, 0), at, step.spec.name)
    content = shown.message.read_bytes(at, max(size, 0))
    try:
        text: str | bytes | None = None if size < 0 else content.decode()
    except UnicodeDecodeError:
        text = content
    reader.leaf(step.spec, text, at + len(content), at - reader.at)


def _read_number(reader: Reader, shown: SnapshotExcerpt, name: str) -> tuple[int, int]:
    """A count or length at the cursor, wherever that is: the number, and the offset behind it."""
    width = LENGTH.layout.size
    reader.need(width, reader.at, name)
    number = int.from_bytes(shown.message.read_bytes(reader.at, width), signed=True)
    if number < -1:
        raise MalformedField(reader.path(name), reader.at, f"has length {number}")
    return number, reader.at + width


def decode_values(message: bytes) -> Body:
    """Sessions, ACLs, nodes and the signature."""
    return stream_values(BytesWindow(message))


def stream_values(message: Window) -> Body:
    """Decodes a snapshot that is read piece by piece through a Window."""
    shown = SnapshotExcerpt(message)
    try:
        return Body(_values(shown), None)
    except FAILURES:
        return fold_tree(make_tree(shown))


def decode_tree(message: bytes) -> Tree:
    """Decodes a snapshot to an annotated tree."""
    return make_tree(SnapshotExcerpt(BytesWindow(message), message))


@cache
def _list_decoders() -> Mapping[str, Decode]:
    """The decoder of an item, by the name of its list; the nodes come last, and have no count."""
    counted = [step for step in plan_of("SnapshotHead").steps if isinstance(step, Array)]
    steps = {step.spec.name: inside(step.element) for step in counted} | {"nodes": plan_of("SnapshotNode").steps}
    return {name: values_decoder(Plan(name, 0, each)) for name, each in steps.items()}


def _values(shown: SnapshotExcerpt) -> dict[str, Any]:
    values: dict[str, Any] = {}
    at, read, number = 0, shown.message.read_bytes, LENGTH.layout
    for name in _list_decoders():
        count = None
        if name != "nodes":
            (count,) = number.unpack(read(at, number.size))
            at += number.size
            if count < -1:
                raise Unfit
        values[name] = None
        if count != -1:
            values[name], at = _items(shown, name, at, count)
    signature = table("packets")["signature"]
    tail = number.pack(len(signature)) + signature.encode()
    if read(at + len(ROOT), shown.end) != tail:
        raise Unfit
    return {**values, "signature": signature}


def _items(shown: SnapshotExcerpt, part: str, at: int, count: int | None) -> tuple[list[dict[str, Any]], int]:
    """The items of a list that are shown, and the offset behind all of them."""
    data, limit, budget, decoder = shown.data, shown.limit, Budget(), _list_decoders()[part]
    if part == "sessions" and count is not None and count * SESSION > shown.end - at:
        raise Unfit
    items: list[dict[str, Any]] = []
    most = shown.most if count is None else min(shown.most, count)
    while len(items) < most and not (count is None and data.startswith(ROOT, at)):
        try:
            item, stop = decoder(data, at, budget)
            if stop > limit:
                raise Unfit
        except FAILURES:
            if shown.has(part, at):
                raise
            break
        items.append(item)
        at = stop
    if not shown.goes_on(at, len(items), count):
        return items, at
    passed = shown.skip_items(part, at, len(items), count)
    if passed.error is not None:
        raise passed.error
    return CutList(items, len(items) + passed.items, hides=part in _SECRET), passed.stop
