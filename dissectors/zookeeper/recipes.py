"""Recipes that decode a client's message fast, chosen by its opcode and its length; expert info of one message.

Theory. A reply with an error ends behind its header, except a failed SASL step, which may have a token. So a reply's
reader depends on three things with few combinations. An event is a reply whose xid and error have no meaning.

Theory. Connects are recognised by their own bytes (header.py), or by Context.extra if few of them were captured. Only
the length tells whether the last field is there: readOnly, from 3.4 on.

Facts. jute.maxbuffer is 0xfffff bytes by default. A server that reads a larger length closes the connection
(NIOServerCnxn.readLength), and so does a client (ClientCnxnSocket.readLength), which then asks the next server again: a
node with many children can block a client for ever. A ConnectResponse without a session or without a timeout means that
the session has expired or that the password was wrong; the two cannot be told apart. tables/expert_info.json has
conditions and sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.finding import Finding
from dissectors.slotted import replace
from dissectors.wire.emit import projection
from dissectors.wire.expert_info import ExpertInfoTable, compile_expert_info
from dissectors.wire.message import Recipe
from dissectors.wire.plan import Plan
from dissectors.wire.specs import members
from dissectors.wire.summary import Summaries
from dissectors.zookeeper.header import MAXIMUM, PASSWORD_AT, REPLY, REQUEST, is_cut_connect, password_of
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.schemas import (
    INT,
    RecordForm,
    begins_with_path,
    find_form,
    make_form,
    operations,
    plan_by_size,
    plan_of,
)
from dissectors.zookeeper.tables import table

EVENT = 0
_EVENT_FIELDS = frozenset({("zxid",), ("type",), ("state",), ("path",)})
_BEHIND_SIZE, _BEHIND_XID, _BEHIND_REQUEST_HEADER = 4, 8, 12

Annotated = Callable[[bytes, Context], Tree]
"""What reads a message that turns out not to fit."""


@lru_cache(maxsize=4)
def connect_recipe(plan: Plan, read: Annotated) -> Recipe:
    """Returns the recipe of a connect frame."""
    recipe = _recipe(make_form(plan.steps), _BEHIND_SIZE, read)
    return replace(recipe, expert_info=find_expert_info("connected")) if plan.name == ANSWER else recipe


@lru_cache(maxsize=128)
def request_recipe(code: int, read: Annotated) -> Recipe | None:
    """Returns the recipe of a request; None for an unknown opcode."""
    known = operations().get(code)
    return None if known is None else _recipe(find_form(known.request), _BEHIND_REQUEST_HEADER, read)


def reply_recipe(code: int, message: bytes, read: Annotated) -> Recipe | None:
    """Returns the recipe of a reply or an event; None for an unknown opcode."""
    error = len(message) >= REPLY.size and message[16:20] != bytes(4)
    return _reply_recipe(code, error, len(message) > REPLY.size, read)


@lru_cache(maxsize=512)
def _reply_recipe(code: int, error: bool, more: bool, read: Annotated) -> Recipe | None:
    if code not in operations():
        return None
    if code == EVENT:
        whole = Plan("event", 0, (*reply_steps(), *plan_of("WatcherEvent").steps))
        return Recipe(INT, lambda _: _BEHIND_XID, projection(whole, _EVENT_FIELDS), lambda _: 0, error_name, read)
    return _recipe(find_form(response_record(code, error, more), reply_steps()), _BEHIND_XID, read)


def _recipe(form: RecordForm, start: int, read: Annotated) -> Recipe:
    return Recipe(INT, lambda _: start, form.read, form.first_error, error_name, read)


def reply_steps() -> tuple[Any, ...]:
    """Returns a ReplyHeader behind its xid."""
    return plan_of("ReplyHeader").steps[1:]


def response_record(code: int, error: bool, more: bool) -> str | None:
    """Returns the record behind a reply's header; `more`: there is something behind it."""
    known = operations().get(code)
    if known is None or (error and not (known.response_on_error and more)):
        return None
    return known.response


ANSWER = "ConnectResponse"


def connect_plan(message: bytes, context: Context) -> Plan | None:
    """Returns the plan of a connect frame; None for any other message."""
    is_request = context.role is Role.REQUEST
    if context.code is not None or not (is_request or context.role is Role.RESPONSE):
        return None
    password = password_of(message, is_request)
    size = int.from_bytes(message[:4])
    if password is None:
        if not is_cut_connect(context):
            return None
        password = (size - PASSWORD_AT[is_request]) & ~1
    return plan_by_size("ConnectRequest" if is_request else ANSWER, size - max(password, 0))


def add_expert_info(tree: Tree, context: Context) -> None:
    """Adds expert info to the tree of a ConnectResponse."""
    if context.code is None and context.role is Role.RESPONSE:
        tree.findings.extend(find_expert_info("connected")(members(tree.fields)))


MAXBUFFER = 0xFFFFF
NEAR = MAXBUFFER * 9 // 10
"""From here on a packet is said to be large: a few more children, or a little more data, and it is too large."""

_LONGEST_PATH = 200
"""Bytes of a path that are said."""

_REFUSED = b" is not executed because it is not in the whitelist."


@cache
def find_expert_info(kind: str) -> ExpertInfoTable:
    """The expert info about a frame's length, a ConnectResponse or an answer to a word: few kinds, so few are kept."""
    return ExpertInfoTable([compile_expert_info(Summaries(), row) for row in table("expert_info")[kind]])


def check_size(message: bytes, context: Context) -> tuple[Finding, ...]:
    """Yields findings about the length of a frame."""
    size = int.from_bytes(message[:4], signed=True)
    if not NEAR < size <= MAXIMUM or len(message) < REQUEST.size or context.role is Role.RAW:
        return ()
    is_request = context.role is Role.REQUEST
    path = _path(message) if is_request and begins_with_path(context.code) else ""
    about = path and f" for {path}"
    return find_expert_info("size")(
        {"size": size, "share": 100 * size // MAXBUFFER, "asks": is_request, "about": about}
    )


def check_command_answer(text: bytes) -> tuple[Finding, ...]:
    """Returns findings about an answer to a four-letter command."""
    return find_expert_info("word")({"refused": text.find(_REFUSED, 0, 64) > 0})


def _path(message: bytes) -> str:
    """The path behind a request's header, or its beginning."""
    at = REQUEST.size + 4
    size = int.from_bytes(message[REQUEST.size : at], signed=True)
    return message[at : at + min(max(size, 0), _LONGEST_PATH)].decode(errors="replace")
