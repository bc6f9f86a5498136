"""A snapshot as an annotated tree: the first items of each list, and a leaf for the others."""

from __future__ import annotations

from functools import partial

from dissectors.errors import MalformedField
from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Array, Leaf, Step, Struct
from dissectors.wire.reader import Reader, trailing
from dissectors.wire.specs import COUNT, MORE, MORE_SECRET, REST, LayoutSpec, Many, element
from dissectors.zookeeper.jute import LENGTH
from dissectors.zookeeper.quorum.snapshot_shown import ROOT, SnapshotExcerpt
from dissectors.zookeeper.schemas import plan_of

_NODES = Many("nodes", "array")
_END = LayoutSpec("end", "ustring")
_SECRET = frozenset({"acls"})
"""Lists whose items may hold a secret: a digest in an ACL."""


def make_tree(shown: SnapshotExcerpt) -> Tree:
    """The tree; its source has the bytes that `shown` has in hand."""
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
    assert isinstance(inner, Struct)
    count, at = _read_number(reader, shown, spec.name)
    if count <= 0:
        reader.leaf(spec, None if count < 0 else [], at, at - reader.at)
        return
    reader.need(count * inner.minimum, at, f"{spec.name} ({count} elements)")
    reader.enter(spec)
    reader.leaf(COUNT[LENGTH.type], count, at)
    _read_items(reader, shown, spec.name, inner.steps, count)
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
