"""The tree that a leader sends behind a SNAP, as it has it in memory.

Facts (SerializeUtils, DataTree). The sessions, the map of ACLs, then all nodes, parents first, until a path of the root
alone, and the string that says it is over. A node names its ACL by the key in the map. The root has the empty path.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dissectors.api import Body
from dissectors.errors import TooLarge
from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, Decode, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import folded, unframed
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Layout, Many, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.schemas import plan_of

MOST_NODES = 1 << 16
"""More than this is no longer shown node by node: a tree of gigabytes would need many times its size."""

_ROOT = b"\0\0\0\x01/"
_NODES = Many("nodes", "array")
_END = Layout("end", "ustring")


def decode(message: bytes) -> Body:
    """Sessions, ACLs, nodes and the signature."""
    try:
        return Body(_values(message), None)
    except FAILURES:
        return folded(read(message))


def read(message: bytes) -> Tree:
    """The same annotated."""
    return unframed(message, _fields)


@cache
def _decoders() -> tuple[Decode, Decode, Decode]:
    head, node, tail = (values_decoder(plan_of(f"Snapshot{part}")) for part in ("Head", "Node", "Tail"))
    return head, node, tail


def _values(message: bytes) -> dict[str, Any]:
    head, node, tail = _decoders()
    values, at = head(message, 0, Budget())
    budget, end = Budget(), len(message)
    nodes: list[dict[str, Any]] = []
    while not message.startswith(_ROOT, at):
        members, at = node(message, at, budget)
        if at > end or len(nodes) == MOST_NODES:
            raise Unfit
        nodes.append(members)
    signature, at = tail(message, at + len(_ROOT), budget)
    if at != end:
        raise Unfit
    return {**values, "nodes": nodes, **signature}


def _fields(reader: Reader) -> None:
    read_members(reader, plan_of("SnapshotHead").steps)
    steps, index = plan_of("SnapshotNode").steps, 0
    reader.enter(_NODES)
    while not reader.data.startswith(_ROOT, reader.at):
        if index == MOST_NODES:
            raise TooLarge(reader.path(), reader.at, f"has more than {MOST_NODES} elements")
        reader.enter(element(index, "struct"))
        read_members(reader, steps)
        reader.leave()
        index += 1
    reader.leaf(_END, "/", reader.at + len(_ROOT), 4)
    reader.leave()
    read_members(reader, plan_of("SnapshotTail").steps)
