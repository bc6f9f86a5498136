"""QuorumAuthPacket: mutual authentication of servers at the start of their connection.

Facts (QuorumAuth, SaslQuorumAuthLearner). A learner, or the server that opens an election connection, sends one with an
empty token, then tokens are exchanged until a status tells success or error. Each packet begins with the same long,
which is neither a packet type nor a possible length.
"""

from __future__ import annotations

from functools import cache, partial

from dissectors.api import Body, MessageHeader, Role, Window
from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.plan import Plan
from dissectors.zookeeper.nested.content import open_tree, open_values
from dissectors.zookeeper.nested.hidden import hide_unframed
from dissectors.zookeeper.schemas import plan_of
from dissectors.zookeeper.tables import table

NAME = "QuorumAuthPacket"
_HEAD = 16
_LONGEST = 1 << 20


@cache
def magic() -> bytes:
    """Returns the eight bytes that every QuorumAuthPacket begins with."""
    number: int = table("packets")["authMagic"]
    return number.to_bytes(8)


def is_packet(prefix: bytes) -> bool:
    """Returns whether these bytes begin one."""
    return prefix.startswith(magic())


def decode_record(plan: Plan, message: bytes) -> Body:
    """Returns the values of a record that is a message of its own, without a length in front."""
    try:
        values, stop = values_decoder(plan)(message, 0, Budget())
    except FAILURES:
        stop = -1
    return Body(values, None) if stop == len(message) else fold_tree(decode_record_tree(plan, message))


def decode_record_tree(plan: Plan, message: bytes) -> Tree:
    """Decodes a record without a length prefix to an annotated tree."""
    return read_unframed(message, partial(read_members, steps=plan.steps))


def decode_values(message: bytes) -> Body:
    """Decodes a QuorumAuthPacket and the token in it to values."""
    body = decode_record(plan_of(NAME), message)
    if body.findings:
        return fold_tree(decode_tree(message))
    open_values(body.values)
    return body


def decode_tree(message: bytes) -> Tree:
    """Decodes a QuorumAuthPacket to an annotated tree."""
    tree = decode_record_tree(plan_of(NAME), message)
    hide_unframed(tree.fields)
    return open_tree(tree)


def header() -> MessageHeader:
    """Returns the header of a QuorumAuthPacket, which has no number."""
    return MessageHeader(Role.ONEWAY, NAME)


def length(message: Window) -> int:
    """Returns its length once it is complete, minus the bytes needed before that, 0 if none can be here."""
    head = message.read_bytes(0, _HEAD)
    if len(head) < _HEAD:
        return -_HEAD
    token = int.from_bytes(head[12:], signed=True)
    if not -1 <= token <= _LONGEST:
        return 0
    size = _HEAD + max(token, 0)
    return size if len(message) >= size else -size
