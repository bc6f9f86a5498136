"""Records that stand in a stream without a length in front of them."""

from __future__ import annotations

from functools import partial

from dissectors.api import Body
from dissectors.field import Tree
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.plan import Plan


def decode_values(plan: Plan, message: bytes) -> Body:
    """Returns the values of a record that is a message of its own."""
    try:
        values, stop = values_decoder(plan)(message, 0, Budget())
    except FAILURES:
        stop = -1
    return Body(values, None) if stop == len(message) else fold_tree(decode_tree(plan, message))


def decode_tree(plan: Plan, message: bytes) -> Tree:
    """Decodes a record without a length prefix to an annotated tree."""
    return read_unframed(message, partial(read_members, steps=plan.steps))
