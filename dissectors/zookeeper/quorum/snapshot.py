"""The tree that a leader sends behind a SNAP, as it has it in memory.

Facts (SerializeUtils.serializeSnapshot, DataTree.serialize). The sessions, the map of ACLs, then all nodes, parents
first, until a path of the root alone, and the string that says it is over, which only the stream has (LearnerHandler).
A node names its ACL by the key in the map. The root has the empty path. There is no digest: since 3.6 one stands in a
snapshot's file, behind the tree (FileSnap.serialize), but the stream is made by ZKDatabase.serializeSnapshot, which
writes none; what leaders of 3.5.10 and 3.9.5 sent goes on with the next packet right behind the string.

Nothing here needs the whole message at once: it is read through a Window, and all but its first part is only counted
(snapshot_shown.py).
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Any

from dissectors.api import Body, Window
from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.cut import CutList
from dissectors.wire.emit import FAILURES, Decode, values_decoder
from dissectors.wire.message import fold_tree
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.quorum.snapshot_fields import make_tree
from dissectors.zookeeper.quorum.snapshot_framer import SESSION
from dissectors.zookeeper.quorum.snapshot_shown import ROOT, BytesWindow, SnapshotExcerpt
from dissectors.zookeeper.schemas import plan_of
from dissectors.zookeeper.tables import table

_COUNT = Struct(">i")
_HEAD = (("sessions", "SnapshotSession", False), ("acls", "SnapshotAcl", True))
"""Lists behind a count: name, record, and whether what is not shown of it may be a secret."""


def decode_values(message: bytes) -> Body:
    """Sessions, ACLs, nodes and the signature."""
    return stream_values(BytesWindow(message))


def stream_values(message: Window) -> Body:
    """The same of a message that nobody holds."""
    shown = SnapshotExcerpt(message)
    try:
        return Body(_values(shown), None)
    except FAILURES:
        return fold_tree(make_tree(shown))


def decode_tree(message: bytes) -> Tree:
    """The same annotated."""
    return make_tree(SnapshotExcerpt(BytesWindow(message), message))


@cache
def _decoder(record: str) -> Decode:
    return values_decoder(plan_of(record))


def _values(shown: SnapshotExcerpt) -> dict[str, Any]:
    values: dict[str, Any] = {}
    at, read = 0, shown.message.read_bytes
    for name, record, hides in _HEAD:
        (count,) = _COUNT.unpack(read(at, _COUNT.size))
        at += _COUNT.size
        if count >= 0:
            values[name], at = _items(shown, name, record, at, count, hides)
        elif count == -1:
            values[name] = None
        else:
            raise Unfit
    values["nodes"], at = _items(shown, "nodes", "SnapshotNode", at, None, hides=False)
    signature = table("packets")["signature"]
    tail = _COUNT.pack(len(signature)) + signature.encode()
    if read(at + len(ROOT), shown.end) != tail:
        raise Unfit
    return {**values, "signature": signature}


def _items(
    shown: SnapshotExcerpt, part: str, record: str, at: int, count: int | None, hides: bool
) -> tuple[list[dict[str, Any]], int]:
    """The items of a list that are shown, and the offset behind all of them."""
    data, limit, budget, decoder = shown.data, shown.limit, Budget(), _decoder(record)
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
    return CutList(items, len(items) + passed.items, hides=hides), passed.stop
