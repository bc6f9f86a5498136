"""ZooKeeper's messages with holes: which of them are alike.

Theory. The xid stands in the header and is no part of the body. An answer is often to be read together with its request
(Dissector.request_fields); then the shape is that of both, one behind the other. What has several records in it, or
none that the opcode tells (connects, words), or content of its own in a field, stands for itself.
"""

from __future__ import annotations

from typing import Any

from dissectors.api import Body, Context, Role
from dissectors.holes import Shape, Shapeless, Stencil, Term
from dissectors.wire.emit import FAILURES
from dissectors.wire.message import error_of
from dissectors.wire.plan import Plan
from dissectors.wire.stencil import Cursor, stencil_members
from dissectors.zookeeper.forms import MULTIS
from dissectors.zookeeper.header import REPLY, REQUEST, has_absurd_error
from dissectors.zookeeper.inside import OPENED
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.notices import NEAR
from dissectors.zookeeper.schemas import operations, plan_of

_EVENT = 0
_BEHIND_SIZE, _BEHIND_XID = 4, 8
_NO_ERR = "err"
_ERROR_AGAIN = frozenset({"ErrorResponse"})
"""Records whose own `err` takes the place of the header's."""


def stencil(message: bytes, context: Context, request: tuple[bytes, Context] | None) -> Stencil | None:
    """What decode() gives, with holes; None for a message that stands for itself."""
    shape = Shape(message if request is None else message + request[0])
    try:
        values, err = _values(shape, 0, len(message), context)
        asked = None if request is None else _values(shape, len(message), len(shape.data), request[1])[0]
    except (Shapeless, *FAILURES):
        return None
    return Stencil(shape, Body(values, error_of(err, error_name) if err else None, (), asked))


def _values(shape: Shape, begin: int, end: int, context: Context) -> tuple[dict[str, Any], int]:
    """The values of the message between two places, and the error that it reports. Raises Shapeless or FAILURES."""
    known = operations().get(context.code) if context.code is not None else None
    if (
        known is None
        or known.code in OPENED
        or int.from_bytes(shape.data[begin : begin + 4]) != end - begin - _BEHIND_SIZE
    ):
        raise Shapeless
    if shape.encloses(Term(begin, 4, "i"), 0, begin + _BEHIND_SIZE, end) > NEAR:  # such a one has a finding
        raise Shapeless
    shape.free(begin + _BEHIND_SIZE, begin + _BEHIND_XID)
    err = 0
    if context.role is Role.REQUEST:
        values, stop = _members(shape, begin + REQUEST.size, end, _record(known.request))
    elif known.code == _EVENT:
        values, stop = _members(shape, begin + _BEHIND_XID, end, _reply(_record(known.response)))
        del values[_NO_ERR]
    elif context.role is Role.RESPONSE:
        err = REPLY.unpack_from(shape.data, begin)[3]
        if err and (known.response_on_error or has_absurd_error(shape.data[begin:end])):
            raise Shapeless
        values, stop = _members(shape, begin + _BEHIND_XID, end, _reply(None if err else _record(known.response)))
        shape.pin(begin + REPLY.size - 4, begin + REPLY.size)
        values[_NO_ERR] = err
    else:
        raise Shapeless
    if stop != end:
        raise Shapeless
    return values, err


def _members(shape: Shape, at: int, end: int, plan: Plan | None) -> tuple[dict[str, Any], int]:
    if plan is None:
        return {}, at
    cursor = Cursor(shape, at, end)
    return stencil_members(cursor, plan), cursor.at


def _record(name: str | None) -> Plan | None:
    if name in MULTIS or name in _ERROR_AGAIN:
        raise Shapeless
    return None if name is None else plan_of(name)


def _reply(record: Plan | None) -> Plan:
    """A ReplyHeader behind its xid, and what follows it."""
    return Plan("reply", 0, (*plan_of("ReplyHeader").steps[1:], *(() if record is None else record.steps)))
