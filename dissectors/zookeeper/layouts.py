"""Layouts of ZooKeeper's requests, replies and events, for reading some fields of one or many messages at once.

Theory. The opcode determines the record behind a header, and the error of a reply whether there is one. values() reads
messages that only their bytes determine: connects and words, which have no opcode, the items of a multi, and records
in which a field has content of its own. The xid is in the header and not part of the body. An answer is often read
together with its request (Dissector.request_fields); then a template covers both, one behind the other.
"""

from __future__ import annotations

from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

from dissectors.api import Context, Pick, Role
from dissectors.finding import Finding
from dissectors.message import Path
from dissectors.slotted import replace
from dissectors.wire.plan import Array, Leaf, Plan, Struct, When
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.projection import pick
from dissectors.wire.specs import LayoutSpec
from dissectors.wire.template import MessageLayout, template
from dissectors.zookeeper.guessing import Guess
from dissectors.zookeeper.header import REPLY, has_absurd_error
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.nested import OPENED
from dissectors.zookeeper.nested.hidden import is_sensitive_message
from dissectors.zookeeper.recipes import EVENT, NEAR, reply_steps
from dissectors.zookeeper.schemas import INT, MULTIS, find_first_error, find_steps, operations

_BEHIND_XID = 8
_NO_ERROR = bytes(4)
_ERR = "err"
_OPCODE = Leaf(LayoutSpec("type", "int"), FixedWidth("int", "i", int))
_SUCCESS = frozenset({0})
_HEADER_ERROR = itemgetter(_ERR)


def layout_of(message: bytes, context: Context) -> MessageLayout | None:
    """Returns the layout of a message; None if neither the opcode nor a guess determines it."""
    if context.role is not Role.RESPONSE:
        return _layout(context)
    if has_absurd_error(message):
        return None
    found = _read_guess(context)
    if found is None:
        return _layout(context)
    if found.opcode is None:
        return _reply(None) if len(message) == REPLY.size else None
    return _layout(replace(context, code=found.opcode))


def _read_guess(context: Context) -> Guess | None:
    """The guess with which a reply comes whose request nobody saw."""
    if context.code is not None or context.role is not Role.RESPONSE:
        return None
    from dissectors.zookeeper.guessing.guess import read_guess  # hardly a capture has many

    return read_guess(context)


def _list_doubts(context: Context) -> tuple[Finding, ...]:
    found = _read_guess(context)
    return () if found is None or found.finding is None else (found.finding,)


TEMPLATE = template(layout_of, error_name, _list_doubts)


def _layout(context: Context) -> MessageLayout | None:
    known = operations().get(context.code) if context.code is not None else None
    if known is None or known.code in OPENED:
        return None
    if context.role is Role.REQUEST:
        return _request(known.request)
    if known.code == EVENT:
        return _event(known.response)
    return None if context.role is not Role.RESPONSE else _reply(known.response)


@lru_cache(maxsize=128)
def _request(record: str | None) -> MessageLayout:
    return MessageLayout(Plan("request", 0, (_OPCODE, *_steps(record))), INT, _BEHIND_XID, longest=NEAR)


@lru_cache(maxsize=128)
def _reply(record: str | None) -> MessageLayout:
    """A ReplyHeader behind its xid; the record follows if all went well."""
    whole = (*reply_steps(), *(When(_ERR, _SUCCESS, step) for step in _steps(record)))
    error = partial(find_first_error, head=_HEADER_ERROR) if record in MULTIS else _HEADER_ERROR
    return MessageLayout(Plan("reply", 0, whole), INT, _BEHIND_XID, error, NEAR)


@lru_cache(maxsize=1)
def _event(record: str | None) -> MessageLayout:
    """The same, but that its error says nothing."""
    zxid, _ = reply_steps()
    return MessageLayout(
        Plan("event", 0, (zxid, Leaf(LayoutSpec(_ERR, "int"), INT), *_steps(record))), INT, _BEHIND_XID
    )


def _steps(record: str | None) -> tuple[Leaf | Struct | Array, ...]:
    return tuple(step for step in find_steps(record) if isinstance(step, Leaf | Struct | Array))


def make_projection(context: Context, paths: frozenset[Path]) -> Pick | None:
    """Returns a function that reads only some paths of a message; None where the full decoder must do it."""
    known = operations().get(context.code) if context.code is not None else None
    layout = None if known is None or known.code == EVENT or known.request in MULTIS else _layout(context)
    if layout is None or any(name.startswith("_") for path in paths for name in path):
        return None
    read, answers = pick(layout.plan, paths, lambda _: _BEHIND_XID), context.role is Role.RESPONSE

    def read_plain_fields(message: bytes) -> dict[str, Any] | None:
        # Of a message with a secret in it more may have to be hidden where it breaks, which may be behind what is read.
        if is_sensitive_message(message, None, connects=False) or (answers and message[16:20] != _NO_ERROR):
            return None
        return read(message)

    return read_plain_fields
