"""What may stand on an election connection, told by its first bytes.

Facts (QuorumCnxManager, FastLeaderElection). Who connects sends -65536 or -65535, its sid and its addresses; before 3.5
its sid alone, eight bytes. Then both sides send notifications behind an int32 size, 28 bytes in 3.3, 36 and 40 in 3.4,
and from 3.5 on 44 and the configuration's text. Nothing is answered.
"""

from __future__ import annotations

from struct import Struct

from dissectors.api import HEADLESS, MessageHeader, Role
from dissectors.zookeeper import sasl
from dissectors.zookeeper.labels import load_names

LEAST, MAXIMUM = 28, 524_288
"""Sizes of a notification (PACKETMAXSIZE)."""

INITIAL, LEGACY_INITIAL, NOTIFICATION = "InitialMessage", "LegacyInitialMessage", "Notification"
INITIAL_HEAD = Struct(">qqi")
LEGACY = 8
LONGEST_ADDRESS = 2048
CONFIG_AT = 48
"""Where the configuration begins in a notification of 3.5 or later."""

_MOST_SERVERS = 1 << 16
_OBSERVER = (1 << 63) - 1
_NOTIFICATION = MessageHeader(Role.ONEWAY, NOTIFICATION)


def is_versioned(prefix: bytes) -> bool:
    """Whether an initial message of 3.5 or later begins here."""
    return len(prefix) >= LEGACY and int.from_bytes(prefix[:LEGACY], signed=True) in load_names("electionProtocol")


def is_sid(head: bytes) -> bool:
    """Whether eight bytes are the number of a server; observers of old versions share one."""
    sid = int.from_bytes(head, signed=True)
    return 0 <= sid < _MOST_SERVERS or sid == _OBSERVER


def is_legacy(message: bytes) -> bool:
    """Whether these bytes are an initial message of before 3.5: eight of them, and no notification's first ones."""
    return len(message) == LEGACY and not LEAST <= int.from_bytes(message[:4]) <= MAXIMUM


def kind(message: bytes) -> str:
    """The record that a message is."""
    if sasl.is_packet(message):
        return sasl.NAME
    if is_versioned(message):
        return INITIAL
    return LEGACY_INITIAL if is_legacy(message) else NOTIFICATION


def header(prefix: bytes, from_client: bool) -> MessageHeader:
    """The header of a message: its name is all that there is."""
    if not prefix:
        return HEADLESS
    name = kind(prefix)
    return _NOTIFICATION if name == NOTIFICATION else MessageHeader(Role.ONEWAY, INITIAL if "Initial" in name else name)
