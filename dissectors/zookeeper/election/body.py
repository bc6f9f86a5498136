"""One message of an election to values or to a tree."""

from __future__ import annotations

from functools import lru_cache, partial

from dissectors.api import Body, Context
from dissectors.field import Tree
from dissectors.wire.fields import read_members
from dissectors.wire.message import Recipe, read_framed, values_by
from dissectors.wire.plan import Plan
from dissectors.zookeeper import bare, sasl
from dissectors.zookeeper.election.header import NOTIFICATION, kind
from dissectors.zookeeper.forms import make_form
from dissectors.zookeeper.jute import INT
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.nested.opened import open_tree
from dissectors.zookeeper.schemas import plan_by_size, plan_of


def decode_values(message: bytes, context: Context) -> Body:
    """The fields of a message by their names."""
    name = kind(message)
    if name == sasl.NAME:
        return sasl.decode_values(message)
    if name != NOTIFICATION:
        return bare.decode_values(plan_of(name), message)
    return values_by(_recipe(_notification(message)), message, context)


def decode_tree(message: bytes, context: Context) -> Tree:
    """The same annotated."""
    name = kind(message)
    if name == sasl.NAME:
        return sasl.decode_tree(message)
    if name != NOTIFICATION:
        return bare.decode_tree(plan_of(name), message)
    return open_tree(read_framed(message, INT, partial(read_members, steps=_notification(message).steps)))


def _notification(message: bytes) -> Plan:
    """The layout of the release that writes notifications of this size."""
    return plan_by_size(NOTIFICATION, min(int.from_bytes(message[:4]), 64))


@lru_cache(maxsize=4)
def _recipe(plan: Plan) -> Recipe:
    form = make_form(plan.steps)
    return Recipe(INT, lambda _: 4, form.read, form.first_error, error_name, decode_tree)
