"""The frames that open a session, a ConnectRequest and its answer: in which version they are, and what they tell.

Theory. Their own bytes say what they are (header.py), or Context.extra where few of them were captured. Only the length
tells whether the last field is there: readOnly, from 3.4 on.
"""

from __future__ import annotations

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.wire.plan import Plan
from dissectors.wire.specs import members
from dissectors.zookeeper import expert_info
from dissectors.zookeeper.header import CUT_CONNECT, PASSWORD_AT, password_of
from dissectors.zookeeper.schemas import plan_by_size

ANSWER = "ConnectResponse"


def connect_plan(message: bytes, context: Context) -> Plan | None:
    """The plan of a connect frame; None for any other message."""
    asks = context.role is Role.REQUEST
    if context.code is not None or not (asks or context.role is Role.RESPONSE):
        return None
    password = password_of(message, asks)
    size = int.from_bytes(message[:4])
    if password is None:
        if context.extra != CUT_CONNECT:
            return None
        password = (size - PASSWORD_AT[asks]) & ~1
    return plan_by_size("ConnectRequest" if asks else ANSWER, size - max(password, 0))


def add_expert_info(tree: Tree, context: Context) -> None:
    """Adds what there is to say of an answer, if the tree is one."""
    if context.code is None and context.role is Role.RESPONSE:
        tree.findings.extend(expert_info.find_expert_info("connected")(members(tree.fields)))
