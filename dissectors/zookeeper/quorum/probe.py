"""Probes bytes for a quorum connection: at its start, and behind a gap.

Theory. A packet has one of nineteen types, each type belongs to one side, and its data has a format of its own. A
packet that is whole in the prefix must read to its end without a doubt; one that continues behind it must at least be
readable so far.
"""

from __future__ import annotations

from functools import lru_cache

from dissectors.api import Context, Role
from dissectors.zookeeper import sasl
from dissectors.zookeeper.quorum.body import decode_values
from dissectors.zookeeper.quorum.header import HEAD, MAXIMUM, packets, role_of
from dissectors.zookeeper.schemas import plan_by_size, width

SASL = 90
WHOLE = 92
BEGUN = 40
SHORT = 10

_OF_LEARNERS = frozenset({"REQUEST", "ACK", "PING", "REVALIDATE", "FOLLOWERINFO", "OBSERVERINFO", "ACKEPOCH"})
_OF_BOTH = frozenset({"PING", "REVALIDATE"})
_OPEN = frozenset({"request", "sessions", "config"})
"""Parts of data that may be empty."""

_TXN, _TXN_HEADER = "txn", 32
_MOST_MORE = 64
"""Bytes that a later release may add to a record of a fixed size."""

_SEVERAL = 3


def evidence(prefix: bytes, from_client: bool) -> int:
    """Rates how certainly the first bytes of a side, or of a message, are those of a quorum."""
    if sasl.is_packet(prefix):
        return SASL
    if len(prefix) < HEAD.size:
        return SHORT if len(prefix) >= 4 and int.from_bytes(prefix[:4]) in packets() else 0
    code, _, data = HEAD.unpack_from(prefix)
    if data < -1 or not is_usual(prefix, from_client):
        return 0
    role = role_of(code, from_client)
    end = HEAD.size + max(data, 0)
    if len(prefix) < end + 4:
        return SHORT if _is_framed(prefix) else BEGUN
    if prefix[end : end + 4] != b"\xff\xff\xff\xff":
        return 0 if prefix[end : end + 2] != b"\0\0" or _is_framed(prefix) else BEGUN
    return 0 if decode_values(prefix[: end + 4], Context(role, code)).findings else WHOLE


def is_usual(head: bytes, from_client: bool) -> bool:
    """Returns whether a packet's side sends its type, and its data is as long as such data can be."""
    code, zxid, data = HEAD.unpack_from(head)
    sizes = sizes_of_data(code, from_client)
    return sizes is not None and zxid >= -1 and (data < 0 or data in sizes)


@lru_cache(maxsize=512)
def sizes_of_data(code: int, from_client: bool) -> range | None:
    """Returns the possible sizes of a packet's data by its type; None if that side does not send the type."""
    packet = packets().get(code)
    if packet is None or (packet.name not in _OF_BOTH and from_client != (packet.name in _OF_LEARNERS)):
        return None
    parts = packet.parts(role_of(code, from_client) is Role.RESPONSE)
    least = _least(parts)
    grows = any(part in _OPEN or part == _TXN for part in parts)
    return range(least, MAXIMUM + 1 if grows else least + _MOST_MORE) if parts else range(0)


def _is_framed(prefix: bytes) -> bool:
    """Whether the bytes are whole messages of another protocol, each behind its size: the type would be the first."""
    at, messages = 0, 0
    while at + 4 <= len(prefix):
        size = int.from_bytes(prefix[at : at + 4])
        if not size:
            return False
        at, messages = at + 4 + size, messages + 1
    return at == len(prefix) or messages >= _SEVERAL


def _least(parts: tuple[str, ...]) -> int:
    """The fewest bytes of data."""
    return sum(_TXN_HEADER if part == _TXN else width(plan_by_size(part, 0)) for part in parts if part not in _OPEN)
