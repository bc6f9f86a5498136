"""What the list needs of a frame.

Theory. Who sends a frame says what it is, and a frame alone may belong to either protocol; so roles follow from the
side, and whoever remembers what the connection speaks says it. A slave's frames have the roles of one who asks, a
master's those of one who answers: from these the side is known when a frame is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dissectors.api import HEADLESS, Context, MessageHeader, Role
from dissectors.rocketmq.ha.forms import (
    HANDSHAKE,
    HEARTBEAT,
    SLAVE_OFFSET,
    TRANSFER,
    HAFrame,
    HAProtocol,
    read_head,
    recognise_protocol,
)

KIND = "kind"
"""The key of Context.extra that names a Kind other than the classic one."""

HEADERS: Mapping[tuple[str, bool] | None, MessageHeader] = {
    None: HEADLESS,
    (HANDSHAKE, True): MessageHeader(Role.REQUEST, HANDSHAKE),
    (SLAVE_OFFSET, True): MessageHeader(Role.ONEWAY, SLAVE_OFFSET),
    (HANDSHAKE, False): MessageHeader(Role.RESPONSE, HANDSHAKE),
    (TRANSFER, False): MessageHeader(Role.PUSH, TRANSFER),
    (HEARTBEAT, False): MessageHeader(Role.PUSH, HEARTBEAT),
}
"""By operation, and whether the slave sends it."""

_OF_SLAVE = frozenset({Role.REQUEST, Role.ONEWAY})


class FrameView(NamedTuple):
    """A frame, and the protocol that it is one of."""

    kind: HAProtocol
    frame: HAFrame


def find_frame(prefix: bytes, from_slave: bool, kind: HAProtocol | None) -> FrameView | None:
    """The frame that these bytes are, or begin; kind: what is known of the connection. None: there is none."""
    first = recognise_protocol(prefix, from_slave, ended=True) if kind is None else kind
    kinds = [first, *(each for each in HAProtocol if each is not first)] if first is not None else list(HAProtocol)
    for each in kinds:
        found = read_head(prefix, from_slave, each, ended=True)
        if isinstance(found, HAFrame) and (not from_slave or found.size == len(prefix) or each is kind):
            return FrameView(each, found)
    return None


def is_from_slave(context: Context) -> bool:
    """Whether a slave sent a frame of such a context."""
    return context.role in _OF_SLAVE


def find_protocol(context: Context) -> HAProtocol:
    """What its connection speaks."""
    name = (context.extra or {}).get(KIND)
    return HAProtocol.CLASSIC if name is None else HAProtocol[name]
