"""One message of a client's connection to values or to a tree.

Theory. A request is read by the opcode in its header, a reply by that of its request (Context.code). What has neither
a code nor a header, connects and words, is known by its own bytes. A reply with an error ends behind its header, but
for a failed SASL step. What reading a frame has in common everywhere is in dissectors.wire.message.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from dissectors.api import Body, Context, Role
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.emit import projection
from dissectors.wire.fields import read_members
from dissectors.wire.message import Recipe, folded, framed, values_by
from dissectors.wire.plan import Plan
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Layout, Wrapping
from dissectors.zookeeper import words
from dissectors.zookeeper.forms import Form, form, form_of
from dissectors.zookeeper.header import REPLY, password_of
from dissectors.zookeeper.jute import INT, LONG
from dissectors.zookeeper.labels import error_name, zxid
from dissectors.zookeeper.schemas import operations, plan_by_size, plan_of

_REQUEST_HEADER = Wrapping("header", "struct")
_REPLY_HEADER = Layout("header", "struct")
_BODY = Layout("body", "struct")
_XID = Wrapping("xid", "int")
_ZXID = FieldSpec("zxid", "long", zxid)
_NO_ERR = Wrapping("err", "int")
_PAYLOAD = FieldSpec("payload", "bytes")
_EVENT = 0
_EVENT_FIELDS = frozenset({("zxid",), ("type",), ("state",), ("path",)})
_BEHIND_SIZE, _BEHIND_XID, _BEHIND_REQUEST_HEADER, _BEHIND_REPLY_HEADER = 4, 8, 12, 20


def decode(message: bytes, context: Context) -> Body:
    """The values of a message, the first error that it reports, and what there is to say."""
    if _is_wordy(message, context):
        return words.decode(message)
    recipe = _recipe_of(message, context)
    if recipe is None:
        return folded(read(message, context), error_name)
    return values_by(recipe, message, context)


def read(message: bytes, context: Context) -> Tree:
    """The annotated tree of a message."""
    if _is_wordy(message, context):
        return words.read(message)
    return framed(message, INT, partial(_content, context=context), _doubts(context))


def _is_wordy(message: bytes, context: Context) -> bool:
    if context.code is not None:
        return False
    if context.role is Role.REQUEST:
        return words.word_of(message) is not None
    return context.role is Role.RESPONSE and words.is_text(message)


def _doubts(context: Context) -> Iterator[Finding]:
    if context.code is not None and context.code not in operations():
        yield Finding(Severity.NOTE, "unknown-operation", f"opcode {context.code} is not in the tables")


def _recipe_of(message: bytes, context: Context) -> Recipe | None:
    """What reads a message fast; None where nothing does."""
    if context.code is None:
        plan = _connect_plan(message, context)
        return None if plan is None else _connect_recipe(plan)
    if context.role is Role.REQUEST:
        return _request_recipe(context.code)
    return _reply_recipe(context.code, _has_error(message), len(message) > _BEHIND_REPLY_HEADER)


def _connect_plan(message: bytes, context: Context) -> Plan | None:
    """The plan of a connect frame, in the version that its length tells."""
    request = context.role is Role.REQUEST
    password = password_of(message, request) if request or context.role is Role.RESPONSE else None
    if password is None:
        return None
    name = "ConnectRequest" if request else "ConnectResponse"
    return plan_by_size(name, int.from_bytes(message[:4]) - max(password, 0))


def _has_error(message: bytes) -> bool:
    return len(message) >= REPLY.size and message[16:20] != bytes(4)


@lru_cache(maxsize=4)
def _connect_recipe(plan: Plan) -> Recipe:
    return _recipe(form_of(plan.steps), _BEHIND_SIZE)


@lru_cache(maxsize=128)
def _request_recipe(code: int) -> Recipe | None:
    known = operations().get(code)
    return None if known is None else _recipe(form(known.request), _BEHIND_REQUEST_HEADER)


@lru_cache(maxsize=512)
def _reply_recipe(code: int, error: bool, more: bool) -> Recipe | None:
    if code not in operations():
        return None
    if code == _EVENT:
        whole = Plan("event", 0, (*_reply_steps(), *plan_of("WatcherEvent").steps))
        return Recipe(INT, lambda _: _BEHIND_XID, projection(whole, _EVENT_FIELDS), lambda _: 0, error_name, read)
    return _recipe(form(_response_record(code, error, more), _reply_steps()), _BEHIND_XID)


def _recipe(form: Form, start: int) -> Recipe:
    return Recipe(INT, lambda _: start, form.read, form.first_error, error_name, read)


def _reply_steps() -> tuple[Any, ...]:
    """A ReplyHeader behind its xid."""
    return plan_of("ReplyHeader").steps[1:]


def _response_record(code: int, error: bool, more: bool) -> str | None:
    """The record behind a reply's header; `more`: there is something behind it."""
    known = operations().get(code)
    if known is None or (error and not (known.response_on_error and more)):
        return None
    return known.response


def _content(reader: Reader, context: Context) -> None:
    """All behind the length."""
    connect = _connect_plan(reader.data, context) if context.code is None else None
    if connect is not None:
        reader.enter(_BODY)
        read_members(reader, connect.steps)
        reader.leave()
    elif context.role is Role.REQUEST:
        _request(reader, context.code)
    elif context.role is Role.RAW:
        _payload(reader)
    else:
        _reply(reader, context.code)


def _request(reader: Reader, code: int | None) -> None:
    reader.enter(_REQUEST_HEADER)
    read_members(reader, plan_of("RequestHeader").steps)
    reader.leave()
    known = None if code is None else operations().get(code)
    if known is None:
        _payload(reader)
    elif known.request is not None:
        _body(reader, form(known.request))


def _reply(reader: Reader, code: int | None) -> None:
    reader.enter(_REPLY_HEADER)
    reader.take(_XID, INT)
    event = code == _EVENT
    if event:
        reader.take(_ZXID, LONG)
        reader.take(_NO_ERR, INT)
    else:
        read_members(reader, _reply_steps())
    error = not event and reader.into[-1].value != 0
    reader.leave()
    if code not in operations():
        _payload(reader)
        return
    assert code is not None
    record = _response_record(code, error, reader.at < reader.end)
    if record is not None:
        _body(reader, form(record))


def _body(reader: Reader, form: Form) -> None:
    reader.enter(_BODY)
    form.unfold(reader)
    reader.leave()


def _payload(reader: Reader) -> None:
    if reader.at < reader.end:
        reader.leaf(_PAYLOAD, reader.data[reader.at : reader.end], reader.end)
