"""Frames one behind the other: what speaks for bytes being an HA connection's.

Theory. A single frame proves little: it is a small number, or two. But what a master sends has an order: each transfer
begins where the one before it ended, and a heartbeat says the same place; reports of a slave never go back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dissectors.rocketmq.ha.forms import HEAD, SLAVE_OFFSET, HAFrame, HAProtocol, read_head

_LONGEST_STEP = 1 << 30
"""Bytes between two reports of a slave; but for the first, which may be of an empty log."""


class FrameLink(NamedTuple):
    """A frame and where it begins; `follows`: whether it goes on where those before it were."""

    at: int
    frame: HAFrame
    follows: bool


def iterate_links(data: bytes, from_slave: bool, kind: HAProtocol) -> Iterator[FrameLink]:
    """The frames in bytes of one direction, up to what can be none; the last may be cut."""
    at, before = 0, None
    while at < len(data):
        found = read_head(data[at : at + HEAD], from_slave, kind, ended=True)
        if not isinstance(found, HAFrame):
            return
        yield FrameLink(at, found, before is None or can_follow(before, found))
        if found.is_transfer or found.form.operation == SLAVE_OFFSET:
            before = found
        at += found.size


def can_follow(before: HAFrame, found: HAFrame) -> bool:
    """Whether a frame may come behind the last one of the same side that said an offset."""
    if found.is_transfer:
        return found.offset == before.offset + before.data or before.offset < 0
    if found.form.operation == SLAVE_OFFSET:
        return before.offset <= found.offset and (before.offset <= 0 or found.offset - before.offset < _LONGEST_STEP)
    return True
