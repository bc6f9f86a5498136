"""Quorum packets with holes: which of them are alike.

Theory. Nearly all that servers say is a transaction, somebody's request for one, or a zxid. A transaction is read by
the first record of its type (txn.py); where a later one fits, another packet may fit the first, so such a one stands
for itself, as multis do. Of data that holds something only what it says has holes; whoever asks for its bytes reads
packet by packet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from dissectors.api import Body, Context, Role
from dissectors.holes import Shape, Shapeless, Stencil, Term
from dissectors.wire.embedded import Embedded
from dissectors.wire.emit import FAILURES
from dissectors.wire.plan import Plan
from dissectors.wire.stencil import Cursor, stencil_members
from dissectors.zookeeper.forms import MULTIS
from dissectors.zookeeper.inside import OPENED
from dissectors.zookeeper.quorum.header import HEAD
from dissectors.zookeeper.quorum.packets import Packet, packets
from dissectors.zookeeper.quorum.txn import fit
from dissectors.zookeeper.schemas import operations, plan_of, width

_ZXID, _SIZE = Term(4, 8, "q"), Term(12, 4, "i")


class _Untold:
    """Bytes of which only the content is known: whatever is asked of them is a TypeError, as of a hole's value."""


def stencil(message: bytes, context: Context, request: object = None) -> Stencil | None:
    """What decode() gives, with holes; None for a message that stands for itself."""
    shape = Shape(message)
    try:
        return Stencil(shape, Body(_values(shape, context), None))
    except (Shapeless, *FAILURES):
        return None


def _values(shape: Shape, context: Context) -> dict[str, Any]:
    code, zxid, size = HEAD.unpack_from(shape.data)
    packet = packets().get(code)
    if packet is None or code != context.code or size < -1:
        raise Shapeless
    end = HEAD.size + max(size, 0)
    data = None if size < 0 else _data(shape, packet, context.role is Role.RESPONSE, end)
    cursor = Cursor(shape, end, len(shape.data))
    rest = stencil_members(cursor, Plan("authinfo", 0, plan_of("QuorumPacket").steps[3:]))
    if cursor.at != len(shape.data):
        raise Shapeless
    return {"type": packet.name, "zxid": shape.integer(_ZXID, zxid), "data": data, **rest}


def _data(shape: Shape, packet: Packet, answer: bool, end: int) -> Embedded:
    read = _READERS.get(packet.parts(answer))
    if read is None:
        raise Shapeless
    shape.encloses(_SIZE, 0, HEAD.size, end)
    cursor = Cursor(shape, HEAD.size, end)
    values = read(cursor)
    if cursor.at != end:
        raise Shapeless
    return Embedded(cast("bytes", _Untold()), values)


def _txn(cursor: Cursor) -> dict[str, Any]:
    shape, begin = cursor.shape, cursor.at
    header = stencil_members(cursor, plan_of("TxnHeader"))
    code = header["type"] = _pinned(shape, cursor.at)
    operation = operations().get(code)
    found = fit(shape.data[begin : cursor.end], cursor.at - begin, code)
    if operation is None or found is None or found.record != operation.txn[0] or found.record in (None, "MultiTxn"):
        raise Shapeless
    values = {"header": header, "txn": stencil_members(cursor, plan_of(found.record))}
    if cursor.end - cursor.at == width(plan_of("TxnDigest")):
        values["digest"] = stencil_members(cursor, plan_of("TxnDigest"))
    return values


def _request(cursor: Cursor) -> dict[str, Any]:
    values = stencil_members(cursor, plan_of("QuorumRequest"))
    code = values["opcode"] = _pinned(cursor.shape, cursor.at)
    operation = operations().get(code)
    if operation is None or code in OPENED or operation.request in MULTIS:
        raise Shapeless
    record = operation.request
    values["request"] = {} if record is None else stencil_members(cursor, plan_of(record))
    return values


def _sessions(cursor: Cursor) -> dict[str, Any]:
    cursor.shape.pin(_SIZE.at, HEAD.size)
    sessions = []
    while cursor.at < cursor.end:
        sessions.append(stencil_members(cursor, plan_of("SessionTimeout")))
    return {"sessions": sessions}


def _pinned(shape: Shape, stop: int) -> int:
    """The int before `stop`, on which it depends what follows."""
    shape.pin(stop - 4, stop)
    return int.from_bytes(shape.data[stop - 4 : stop], signed=True)


_READERS: dict[tuple[str, ...], Callable[[Cursor], dict[str, Any]]] = {
    ("txn",): _txn,
    ("QuorumRequest", "request"): _request,
    ("sessions",): _sessions,
}
"""What reads data of such parts."""
