"""Recipes that decode a client's message fast, chosen by its opcode and its length.

Theory. A reply with an error ends behind its header, except a failed SASL step, which may have a token. So a reply's
reader depends on three things with few combinations. An event is a reply whose xid and error have no meaning.

Theory. Connects are recognised by their own bytes (header.py), or by Context.extra if few of them were captured. Only
the length tells whether the last field is there: readOnly, from 3.4 on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.slotted import replace
from dissectors.wire.emit import projection
from dissectors.wire.message import Recipe
from dissectors.wire.plan import Plan
from dissectors.wire.specs import members
from dissectors.zookeeper import expert_info
from dissectors.zookeeper.header import PASSWORD_AT, REPLY, is_cut_connect, password_of
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.schemas import INT, RecordForm, find_form, make_form, operations, plan_by_size, plan_of

EVENT = 0
_EVENT_FIELDS = frozenset({("zxid",), ("type",), ("state",), ("path",)})
_BEHIND_SIZE, _BEHIND_XID, _BEHIND_REQUEST_HEADER = 4, 8, 12

Annotated = Callable[[bytes, Context], Tree]
"""What reads a message that turns out not to fit."""


@lru_cache(maxsize=4)
def connect_recipe(plan: Plan, read: Annotated) -> Recipe:
    """Returns the recipe of a connect frame."""
    recipe = _recipe(make_form(plan.steps), _BEHIND_SIZE, read)
    return replace(recipe, expert_info=expert_info.find_expert_info("connected")) if plan.name == ANSWER else recipe


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
        tree.findings.extend(expert_info.find_expert_info("connected")(members(tree.fields)))
