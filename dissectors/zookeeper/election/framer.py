"""Headers, evidence and framing of election messages: all that their first bytes tell.

Theory. A length alone is weak evidence: the first bytes of many protocols read as one. So a frame must also read as a
notification. Where bytes are lost, the length decides.

Facts (QuorumCnxManager, FastLeaderElection). The connecting server sends -65536 or -65535, its sid and its addresses;
before 3.5 only its sid, eight bytes. Then both sides send notifications behind an int32 size, 28 bytes in 3.3, 36 and
40 in 3.4, and from 3.5 on 44 and the configuration's text. Nothing is answered.

Theory. The first message of 3.5 begins with a unique long. Before, it was only a server's number, and the notification
behind it is the evidence. A notification has one of four states, a version that matches its size, and sids and zxids
that are small or the least long.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from dissectors.api import HEADLESS, Framer, MessageHeader, Role, Window
from dissectors.zookeeper import sasl
from dissectors.zookeeper.labels import load_names


@dataclass(slots=True)
class ElectionFramer(Framer):
    """Frames one direction of an election connection. `initial`: an initial message may still come."""

    initial: bool

    def length(self, message: Window, ended: bool) -> int | None:
        """Returns the length of a message once enough of it is there; an initial message comes only once."""
        head = message.read_bytes(0, LEGACY)
        if not self.initial and not sasl.magic().startswith(head):
            return _measure_versioned(message) if is_versioned(head) else _notification(message)
        if len(head) < LEGACY:
            return -LEGACY
        if sasl.is_packet(head):
            return sasl.length(message)
        size = _measure_versioned(message) if is_versioned(head) else _legacy(message, head) or _notification(message)
        self.initial = size <= 0
        return size

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """Returns the length of a frame from its prefix; 0 if the prefix is lost or impossible."""
        size = int.from_bytes(message.read_bytes(0, 4))
        return 4 + size if lost.start >= 4 and not self.initial and LEAST <= size <= MAXIMUM else 0


def _legacy(message: Window, head: bytes) -> int:
    """The same of an initial message of before 3.5: what is there behind it must be the next message."""
    behind = message.read_bytes(LEGACY, CONFIG_AT)
    follows = len(behind) < 4 or notification_evidence(behind) or sasl.magic().startswith(behind[:LEGACY])
    return LEGACY if is_sid(head) and follows else 0


def _measure_versioned(message: Window) -> int:
    """The same of an initial message of 3.5 or later."""
    whole = message.read_bytes(0, INITIAL_HEAD.size)
    if len(whole) < INITIAL_HEAD.size:
        return -INITIAL_HEAD.size
    address: int = INITIAL_HEAD.unpack(whole)[2]
    if not 0 < address <= LONGEST_ADDRESS:
        return 0
    size = INITIAL_HEAD.size + address
    return size if len(message) >= size else -size


def _notification(message: Window) -> int:
    """The same of a frame."""
    prefix = message.read_bytes(0, CONFIG_AT)
    if len(prefix) < 4:
        return -4
    size = 4 + int.from_bytes(prefix[:4])
    if not LEAST <= size - 4 <= MAXIMUM:
        return 0
    needed = min(size, CONFIG_AT)
    if len(prefix) < needed:
        return -needed
    return size if notification_evidence(prefix[:size]) > PART else 0


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
    """Returns whether an initial message of 3.5 or later begins here."""
    return len(prefix) >= LEGACY and int.from_bytes(prefix[:LEGACY], signed=True) in load_names("electionProtocol")


def is_sid(head: bytes) -> bool:
    """Returns whether eight bytes are the number of a server; observers of old versions share one."""
    sid = int.from_bytes(head, signed=True)
    return 0 <= sid < _MOST_SERVERS or sid == _OBSERVER


def is_legacy(message: bytes) -> bool:
    """Returns whether these bytes are an initial message of releases before 3.5, which has eight bytes."""
    return len(message) == LEGACY and not LEAST <= int.from_bytes(message[:4]) <= MAXIMUM


def kind(message: bytes) -> str:
    """Returns the record that a message is."""
    if sasl.is_packet(message):
        return sasl.NAME
    if is_versioned(message):
        return INITIAL
    return LEGACY_INITIAL if is_legacy(message) else NOTIFICATION


def header(prefix: bytes, from_client: bool) -> MessageHeader:
    """Returns the header of a message, which has only a name."""
    if not prefix:
        return HEADLESS
    name = kind(prefix)
    return _NOTIFICATION if name == NOTIFICATION else MessageHeader(Role.ONEWAY, INITIAL if "Initial" in name else name)


INITIAL_EVIDENCE = 96
BEGUN = 85
LEGACY_AND_MORE = 90
LEGACY_ALONE = 30
"""Eight bytes that are a small number: more than a bare length says for others."""

SASL = 90
WITH_CONFIG = 92
WITHOUT = 85
PART = 15

_NOTIFICATION_HEAD = Struct(">iiqqq")
_SIZES = frozenset({28, 36, 40})
_STATES = range(4)
_NOBODY = -1 << 63
_USUAL = 0x1000
"""Sizes up to here are evidence, if weak, where nothing else is."""


def client_evidence(prefix: bytes) -> int:
    """Rates the first bytes of the side that opened the connection."""
    if is_versioned(prefix):
        return _initial(prefix)
    if len(prefix) >= LEGACY and 0 < int.from_bytes(prefix[:LEGACY]) < 256:
        return LEGACY_ALONE if len(prefix) == LEGACY else _behind_legacy(prefix[LEGACY:])
    return server_evidence(prefix)


def _initial(prefix: bytes) -> int:
    if len(prefix) < INITIAL_HEAD.size:
        return BEGUN
    return INITIAL_EVIDENCE if 0 < INITIAL_HEAD.unpack_from(prefix)[2] <= LONGEST_ADDRESS else 0


def _behind_legacy(rest: bytes) -> int:
    if sasl.is_packet(rest) or notification_evidence(rest) > PART:
        return LEGACY_AND_MORE
    return PART


def server_evidence(prefix: bytes) -> int:
    """Rates the first bytes of the accepting side. SASL packets also occur on the quorum port."""
    return SASL if sasl.is_packet(prefix) else notification_evidence(prefix)


def notification_evidence(prefix: bytes) -> int:
    """Rates how certainly a frame is a notification."""
    if len(prefix) < _NOTIFICATION_HEAD.size:
        return PART if len(prefix) >= 4 and LEAST <= int.from_bytes(prefix[:4]) <= _USUAL else 0
    size, state, leader, zxid, _ = _NOTIFICATION_HEAD.unpack_from(prefix)
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
