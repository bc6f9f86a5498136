"""A frame to values or to a tree, with what there is to say of its place in the log."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dissectors.api import Body, Context
from dissectors.errors import Malformed, Truncated
from dissectors.field import Tree
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.ha.conversation import BEHIND, EXPECTED
from dissectors.rocketmq.ha.fields import read_frame
from dissectors.rocketmq.ha.forms import HAFrame, read_head
from dissectors.rocketmq.ha.header import find_protocol, is_from_slave
from dissectors.wire.message import folded, unframed
from dissectors.wire.reader import Reader


def decode_values(message: bytes, context: Context) -> Body:
    """The values of a frame."""
    return folded(decode_tree(message, context))


def decode_tree(message: bytes, context: Context) -> Tree:
    """Head and data with their places."""
    return unframed(message, partial(_read_message, context=context), _find_doubts(message, context))


def _read_message(reader: Reader, context: Context) -> None:
    found = read_head(reader.data, is_from_slave(context), find_protocol(context), ended=True)
    if found == 0:
        raise Malformed("frame", 0, "begins like none")
    if not isinstance(found, HAFrame):
        raise Truncated("frame", 0, -found, len(reader.data))
    read_frame(reader, found, is_from_slave(context))


def _find_doubts(message: bytes, context: Context) -> Iterator[Finding]:
    extra = context.extra or {}
    if EXPECTED in extra:
        found = read_head(message, False, find_protocol(context), ended=True)
        where = f"{found.offset:,}" if isinstance(found, HAFrame) else "another place"
        text = f"the log goes on at {where}; what was sent before ends at {int(extra[EXPECTED]):,}"
        yield Finding(Severity.WARNING, "replication-jump", text)
    if BEHIND in extra:
        text = f"the slave has not confirmed the last {int(extra[BEHIND]):,} bytes of the log that were sent to it"
        yield Finding(Severity.NOTE, "slow-replica", text)
