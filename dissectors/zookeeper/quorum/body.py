"""Decodes one message of a quorum connection, and the data that a packet carries.

Theory. What the data of a packet holds follows from its type, and for some from whether it answers (Context.role); it
is read here, too. A message without a code is a SASL packet or a snapshot.

Theory. A part is a record, or one of four that no record describes: a transaction (txn.py), the request of the opcode
that stands before it, sessions up to the end, the text of a configuration. What is usual has a layout (layouts.py),
which is as fast for values as it can be; here stand the tree of all data, also of what breaks, and the values of the
rest: multis, older records, fields with content of their own.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from dissectors.api import Body, Context, Role, Window
from dissectors.errors import TruncatedField
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import Holder, embed
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.plan import Plan
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LENGTH, Many, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper import sasl
from dissectors.zookeeper.forms import find_form
from dissectors.zookeeper.jute import LENGTH as INT_LENGTH
from dissectors.zookeeper.jute import make_named_int
from dissectors.zookeeper.nested import OPENED
from dissectors.zookeeper.nested.content import open_tree, open_values
from dissectors.zookeeper.nested.hidden import hide_unframed, names_scheme
from dissectors.zookeeper.quorum import snapshot
from dissectors.zookeeper.quorum.header import HEAD, Packet, packets
from dissectors.zookeeper.quorum.layouts import find_layout
from dissectors.zookeeper.quorum.txn import txn_fields, txn_values
from dissectors.zookeeper.schemas import operations, plan_by_size, plan_of

_TYPE = FieldSpec("type", "int")


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the fields of a message by their names; no packet reports an error."""
    if sasl.is_packet(message):
        return sasl.decode_values(message)
    if context.code is None:
        return snapshot.decode_values(message)
    try:
        return Body(_values(message, context), None)
    except FAILURES:
        return fold_tree(decode_tree(message, context))


def stream_values(message: Window, context: Context) -> Body | None:
    """Decodes a snapshot piece by piece; None for other messages, which are packets."""
    is_snapshot = context.code is None and not sasl.is_packet(message.read_bytes(0, HEAD.size))
    return snapshot.stream_values(message) if is_snapshot else None


def decode_tree(message: bytes, context: Context) -> Tree:
    """Decodes a message of the quorum port to an annotated tree."""
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


_CONFIG = FieldSpec("config", "string")
_SESSIONS = Many("sessions", "array")
_REQUEST = FieldSpec("request", "struct")
_UNKNOWN_REQUEST = FieldSpec("request", "bytes")


def data_values(parts: tuple[str, ...], data: bytes) -> dict[str, Any]:
    """Returns the values of data that ends with a transaction or a request and has no layout.

    Raises one of emit.FAILURES where they do not fit exactly, or where the data ends otherwise.
    """
    *records, last = parts
    values: dict[str, Any] = {}
    at = 0
    for name in records:
        members, at = values_decoder(plan_of(name))(data, at, Budget())
        values |= members
    if last == "txn":
        return values | txn_values(data, at)
    operation = operations().get(values["opcode"]) if last == "request" else None
    if operation is None:
        raise Unfit
    values["request"], at = find_form(operation.request).read(data, at, Budget())
    if operation.code in OPENED:
        open_values(values["request"])
    if at != len(data):
        raise Unfit
    return values


def data_fields(reader: Reader, parts: tuple[str, ...], name: str | None) -> None:
    """Adds a node for data with content: its value is the bytes, and the decoded records are below it."""
    spec = Holder("data", "buffer", holds=name)
    size, at = reader.number(INT_LENGTH, reader.at, "data")
    if size < 0:
        reader.leaf(spec, None, at, at - reader.at)
        return
    available = reader.end - at
    reader.enter(spec)
    reader.open[-1].value = reader.data[at : at + min(size, available)]
    reader.leaf(LENGTH["int"], size, at)
    if size > available:
        _parts(reader, parts)
        raise TruncatedField(reader.path(), at, size, available)
    reader.guard(lambda inside: _whole_parts(inside, parts), at + size)
    reader.leave()


def _whole_parts(reader: Reader, parts: tuple[str, ...]) -> None:
    _parts(reader, parts)
    reader.rest("behind what the data of this packet holds")


def _parts(reader: Reader, parts: tuple[str, ...]) -> None:
    for part in parts:
        if part == "txn":
            txn_fields(reader)
        elif part == "sessions":
            _session_fields(reader)
        elif part == "config":
            _config(reader)
        elif part == "request":
            _request(reader, reader.into[-1].value)
        else:
            read_members(reader, plan_by_size(part, reader.end - reader.at).steps)


def _session_fields(reader: Reader) -> None:
    index = 0
    reader.enter(_SESSIONS)
    while reader.at < reader.end:
        reader.enter(element(index, "struct"))
        read_members(reader, plan_of("SessionTimeout").steps)
        reader.leave()
        index += 1
    reader.leave()


def _config(reader: Reader) -> None:
    content = reader.data[reader.at : reader.end]
    try:
        text: str | bytes = content.decode()
    except UnicodeDecodeError:
        text = content
    reader.leaf(_CONFIG, text, reader.end)


def _request(reader: Reader, opcode: int) -> None:
    operation = operations().get(opcode)
    if operation is None:
        reader.leaf(_UNKNOWN_REQUEST, reader.data[reader.at : reader.end], reader.end)
        return
    reader.enter(_REQUEST)
    find_form(operation.request).unfold(reader)
    reader.leave()
