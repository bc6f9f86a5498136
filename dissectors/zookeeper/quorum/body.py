"""One message of a quorum connection to values or to a tree.

Theory. What the data of a packet holds follows from its type, and for some from whether it answers (Context.role); it
is data.py's. A message without a code is a SASL packet or a snapshot.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from dissectors.api import Body, Context, Role, Window
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import embed
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.plan import Plan
from dissectors.wire.reader import Reader
from dissectors.wire.varint import Unfit
from dissectors.zookeeper import sasl
from dissectors.zookeeper.jute import make_named_int
from dissectors.zookeeper.nested.hidden import hide_unframed, names_scheme
from dissectors.zookeeper.nested.opened import open_tree
from dissectors.zookeeper.quorum import snapshot
from dissectors.zookeeper.quorum.data import data_fields, data_values
from dissectors.zookeeper.quorum.header import HEAD
from dissectors.zookeeper.quorum.layouts import find_layout
from dissectors.zookeeper.quorum.packets import Packet, packets
from dissectors.zookeeper.schemas import plan_of

_TYPE = FieldSpec("type", "int")


def decode_values(message: bytes, context: Context) -> Body:
    """The fields of a message by their names; no packet reports an error."""
    if sasl.is_packet(message):
        return sasl.decode_values(message)
    if context.code is None:
        return snapshot.decode_values(message)
    try:
        return Body(_values(message, context), None)
    except FAILURES:
        return fold_tree(decode_tree(message, context))


def stream_values(message: Window, context: Context) -> Body | None:
    """A snapshot piece by piece; None for the others, which are packets."""
    is_snapshot = context.code is None and not sasl.is_packet(message.read_bytes(0, HEAD.size))
    return snapshot.stream_values(message) if is_snapshot else None


def decode_tree(message: bytes, context: Context) -> Tree:
    """The same annotated."""
    if sasl.is_packet(message):
        return sasl.decode_tree(message)
    if context.code is None:
        return snapshot.decode_tree(message)
    doubts = []
    if context.code not in packets():
        doubts.append(Finding(Severity.NOTE, "unknown-operation", f"packet type {context.code} is not in the tables"))
    tree = read_unframed(message, partial(_fields, answer=context.role is Role.RESPONSE), doubts)
    if names_scheme(message):
        hide_unframed(tree.fields)
    return open_tree(tree)


def _values(message: bytes, context: Context) -> dict[str, Any]:
    layout = find_layout(message, context)
    if layout is not None:
        try:
            values, stop = values_decoder(layout.plan)(message, 0, Budget())
        except FAILURES:
            stop = -1
        if stop == len(message):
            return values
    return _unusual_values(message, context)


def _unusual_values(message: bytes, context: Context) -> dict[str, Any]:
    code, zxid, size = HEAD.unpack_from(message)
    packet = packets().get(code)
    parts = () if packet is None else packet.parts(context.role is Role.RESPONSE)
    end = HEAD.size + size
    if packet is None or not parts or size < 0:
        raise Unfit
    data = message[HEAD.size : end]
    rest, stop = values_decoder(_tail())(message, end, Budget())
    if stop != len(message):
        raise Unfit
    return {"type": packet.name, "zxid": zxid, "data": embed(data, data_values(parts, data)), **rest}


@cache
def _tail() -> Plan:
    """What stands behind a packet's data."""
    return Plan("authinfo", 0, plan_of("QuorumPacket").steps[3:])


def _record_name(packet: Packet) -> str | None:
    return packet.data[0] if packet.named else None


def _fields(reader: Reader, answer: bool) -> None:
    at = reader.at
    reader.take(_TYPE, make_named_int("packet"))
    packet = packets().get(int.from_bytes(reader.data[at : at + 4], signed=True))
    head = plan_of("QuorumPacket").steps
    read_members(reader, head[1:2])
    parts = () if packet is None else packet.parts(answer)
    if packet is None or not parts:
        read_members(reader, head[2:3])
    else:
        data_fields(reader, parts, _record_name(packet))
    read_members(reader, head[3:])
