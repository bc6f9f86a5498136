"""What the list needs of a frame.

Theory. Who sends a frame says what it is, and a frame alone may belong to either protocol; so roles follow from the
side, and whoever remembers what the connection speaks says it. A slave's frames have the roles of one who asks, a
master's those of one who answers: from these the side is known when a frame is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dissectors.api import HEADLESS, Context, MessageHeader, Role
from dissectors.rocketmq.ha.forms import HANDSHAKE, HEARTBEAT, SLAVE_OFFSET, TRANSFER, Frame, Kind, frame, kind_of

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


class Sight(NamedTuple):
    """A frame, and the protocol that it is one of."""

    kind: Kind
    frame: Frame


def sight(prefix: bytes, from_slave: bool, kind: Kind | None) -> Sight | None:
    """The frame that these bytes are, or begin; kind: what is known of the connection. None: there is none."""
    first = kind_of(prefix, from_slave, ended=True) if kind is None else kind
    kinds = [first, *(each for each in Kind if each is not first)] if first is not None else list(Kind)
    for each in kinds:
        found = frame(prefix, from_slave, each, ended=True)
        if isinstance(found, Frame) and (not from_slave or found.size == len(prefix) or each is kind):
            return Sight(each, found)
    return None


def of_slave(context: Context) -> bool:
    """Whether a slave sent a frame of such a context."""
    return context.role in _OF_SLAVE


def kind_in(context: Context) -> Kind:
    """What its connection speaks."""
    name = (context.extra or {}).get(KIND)
    return Kind.CLASSIC if name is None else Kind[name]
