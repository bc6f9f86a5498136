"""How much bytes look like an election: on a first look, and behind a gap.

Theory. The first message of 3.5 begins with a long that nothing else begins with. Before, it was a server's number and
nothing more, and only the notification behind it tells. A notification has one of four states, a version that goes with
its size, and sids and zxids that are small or the least long there is.
"""

from __future__ import annotations

from struct import Struct

from dissectors.zookeeper import sasl
from dissectors.zookeeper.election.framer import (
    CONFIG_AT,
    INITIAL_HEAD,
    LEAST,
    LEGACY,
    LONGEST_ADDRESS,
    MAXIMUM,
    is_versioned,
)

INITIAL = 96
BEGUN = 85
LEGACY_AND_MORE = 90
LEGACY_ALONE = 30
"""Eight bytes that are a small number: more than a bare length says for others."""

SASL = 90
WITH_CONFIG = 92
WITHOUT = 85
PART = 15

_NOTIFICATION = Struct(">iiqqq")
_SIZES = frozenset({28, 36, 40})
_STATES = range(4)
_NOBODY = -1 << 63
_MOST_SERVERS = 1 << 16
_USUAL = 0x1000
"""Sizes up to here are evidence, if weak, where nothing else is."""


def client_evidence(prefix: bytes) -> int:
    """How sure the first bytes of who opened the connection make us."""
    if is_versioned(prefix):
        return _initial(prefix)
    if len(prefix) >= LEGACY and 0 < int.from_bytes(prefix[:LEGACY]) < 256:
        return LEGACY_ALONE if len(prefix) == LEGACY else _behind_legacy(prefix[LEGACY:])
    return server_evidence(prefix)


def _initial(prefix: bytes) -> int:
    if len(prefix) < INITIAL_HEAD.size:
        return BEGUN
    return INITIAL if 0 < INITIAL_HEAD.unpack_from(prefix)[2] <= LONGEST_ADDRESS else 0


def _behind_legacy(rest: bytes) -> int:
    if sasl.is_packet(rest) or notification_evidence(rest) > PART:
        return LEGACY_AND_MORE
    return PART


def server_evidence(prefix: bytes) -> int:
    """The same of the other side: SASL packets are the quorum's too."""
    return SASL if sasl.is_packet(prefix) else notification_evidence(prefix)


def notification_evidence(prefix: bytes) -> int:
    """How sure a frame makes us that it is a notification."""
    if len(prefix) < _NOTIFICATION.size:
        return PART if len(prefix) >= 4 and LEAST <= int.from_bytes(prefix[:4]) <= _USUAL else 0
    size, state, leader, zxid, _ = _NOTIFICATION.unpack_from(prefix)
    if state not in _STATES or not (leader == _NOBODY or -1 <= leader < _MOST_SERVERS):
        return 0
    if not (zxid == _NOBODY or zxid >= -1):
        return 0
    if size in _SIZES:
        return WITHOUT
    if not 44 <= size <= MAXIMUM or len(prefix) < CONFIG_AT:
        return 0
    config = int.from_bytes(prefix[CONFIG_AT - 4 : CONFIG_AT], signed=True)
    return WITH_CONFIG if max(config, 0) == size - 44 else 0
