"""Templates of whole messages (dissectors.symbolic), and of contents that each message decodes for itself.

Theory. A template is built of one message, and of its request if there is one: the template's data is both, one after
the other. A content, such as a compressed one, depends on all of its bytes. The contents of many messages are decoded
together, under one budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from dissectors.api import Body, Context
from dissectors.symbolic import MessageTemplate, NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import ReadMany
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES

LARGE = 4 << 20
"""Bytes that a content may be decompressed to before its message is decoded for itself, with its own bound."""

ReadSymbolic: TypeAlias = Callable[[TemplateBuilder, int, int, Context], Body]
"""Makes the body of the message between two offsets of the builder's data; of a request only the values count."""

ReadContent: TypeAlias = Callable[[bytes, tuple[int, ...], Budget], Any]
"""The value of a content, with the numbers that were asked for. Raises one of emit.FAILURES."""


def build_message_template(
    read: ReadSymbolic, message: bytes, context: Context, request: tuple[bytes, Context] | None = None
) -> MessageTemplate | None:
    """Builds the result of Dissector.template; None if `read` raises NotTemplatable or one of emit.FAILURES."""
    builder = TemplateBuilder(message if request is None else message + request[0])
    try:
        body = read(builder, 0, len(message), context)
        values = None if request is None else read(builder, len(message), len(builder.data), request[1]).values
    except (NotTemplatable, *FAILURES):
        return None
    return MessageTemplate(builder, body._replace(request=values))


def build_silent_template(
    read: ReadSymbolic, message: bytes, context: Context, request: tuple[bytes, Context] | None = None
) -> MessageTemplate | None:
    """Does the same, but a message of which something is to be said fits no template."""
    found = build_message_template(read, message, context, request)
    return None if found is None or found.body.findings else found


@lru_cache(maxsize=64)
def decode_together(read: ReadContent) -> ReadMany:
    """Makes a reader of many contents, which share a budget; None for a broken one, or where all take too much."""

    def read_many(contents: Sequence[bytes], numbers: Sequence[tuple[int, ...]]) -> list[Any]:
        budget, found = Budget(), []
        left = budget.left
        for content, own in zip(contents, numbers, strict=True):
            budget.left = most = min(LARGE, left)
            try:
                value = read(content, own, budget)
            except FAILURES:
                value = None
            left -= most - budget.left
            found.append(value)
        return found

    return read_many
