"""A frame to values or to a tree, with what there is to say of its place in the log."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from dissectors.api import Body, Context
from dissectors.errors import MalformedField, TruncatedField
from dissectors.field import Tree
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.ha.conversation import BEHIND, EXPECTED
from dissectors.rocketmq.ha.fields import read_frame
from dissectors.rocketmq.ha.forms import Frame, frame
from dissectors.rocketmq.ha.header import kind_in, of_slave
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.reader import Reader


def decode(message: bytes, context: Context) -> Body:
    """The values of a frame."""
    return fold_tree(read(message, context))


def read(message: bytes, context: Context) -> Tree:
    """Head and data with their places."""
    return read_unframed(message, partial(_read, context=context), _doubts(message, context))


def _read(reader: Reader, context: Context) -> None:
    found = frame(reader.data, of_slave(context), kind_in(context), ended=True)
    if found == 0:
        raise MalformedField("frame", 0, "begins like none")
    if not isinstance(found, Frame):
        raise TruncatedField("frame", 0, -found, len(reader.data))
    read_frame(reader, found, of_slave(context))


def _doubts(message: bytes, context: Context) -> Iterator[Finding]:
    extra = context.extra or {}
    if EXPECTED in extra:
        found = frame(message, False, kind_in(context), ended=True)
        where = f"{found.offset:,}" if isinstance(found, Frame) else "another place"
        text = f"the log goes on at {where}; what was sent before ends at {int(extra[EXPECTED]):,}"
        yield Finding(Severity.WARNING, "replication-jump", text)
    if BEHIND in extra:
        text = f"the slave has not confirmed the last {int(extra[BEHIND]):,} bytes of the log that were sent to it"
        yield Finding(Severity.NOTE, "slow-replica", text)
