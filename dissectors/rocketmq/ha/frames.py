"""The frames of an HA connection, and how long each is.

Theory. There are two protocols on this port, and no frame names its own. In the classic one (DefaultHAConnection,
DefaultHAClient; HAService before 5.0) a slave sends only offsets, and the master sends offset, size, and as many bytes
of its log. If a controller chooses masters (AutoSwitchHAConnection, AutoSwitchHAClient), each frame begins with the
ordinal of HAConnectionState: 1 is a handshake, 2 a transfer. A transfer of no bytes is a heartbeat.

Facts. In 5.0 a slave's handshake has its address behind a length of four bytes; in later releases it has an id of eight
bytes, whose upper half is zero. In 5.0 a transfer's whole head comes before its epochs, and its unused part is zero. An
epoch is never 0, so the bytes tell the releases apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from dissectors.api import HEADLESS, Context, Framer, MessageHeader, Role, Window
from dissectors.wire import INT16, INT32, INT64, leaves
from dissectors.wire.plan import Leaf
from dissectors.wire.specs import LayoutSpec


class HAProtocol(IntEnum):
    """The two protocols of HA connections, of which a connection uses one."""

    CLASSIC = 0
    CONTROLLED = 1


class HeadLayout(NamedTuple):
    """A frame's operation, and the fields of its head."""

    operation: str
    head: tuple[Leaf, ...]
    size: int


class HAFrame(NamedTuple):
    """A frame of the replication port, as described by its head. offset: in the log.

    data: bytes of log, epochs or an address behind the head.
    """

    form: HeadLayout
    offset: int
    data: int

    @property
    def size(self) -> int:
        """Length of the frame in bytes."""
        return self.form.size + self.data

    @property
    def is_transfer(self) -> bool:
        """Whether the frame has the master's position in its log."""
        return self.form.operation in (TRANSFER, HEARTBEAT)


MAXIMUM = 4 * 1024 * 1024
"""Bytes that a slave reads at once; of a frame that is larger it never sees the end."""

NAMES = range(7, 51)
"""Bytes of a slave's address, for which one of 5.0 has room for 50. Fewer are none, but may be half an offset."""

EPOCH = Struct(">iq")
MOST_EPOCHS = 1000
"""Epochs for which a master has room in its handshake."""

HEAD = 36
"""Bytes in which the longest head lies."""

FARTHEST = 1 << 47
"""Beyond any log: files of a GiB, so many as nobody keeps. What is above is no offset."""

HANDSHAKE, SLAVE_OFFSET, TRANSFER, HEARTBEAT = "HANDSHAKE", "SLAVE_OFFSET", "TRANSFER", "HEARTBEAT"
OPERATIONS = (HANDSHAKE, SLAVE_OFFSET, TRANSFER, HEARTBEAT)

_GREETS, _TRANSFERS = 1, 2
_NONE = -1
"""An offset or epoch that a master without any log says."""

_WORD, _OFFSET, _SIZED = Struct(">i"), Struct(">q"), Struct(">qi")
_GREETING, _REPORT = Struct(">ihhi"), Struct(">iq")
_MASTER = Struct(">iiqi")
_MORE = Struct(">qq")

_STATE = leaves({"state": INT32})
_EPOCHS = (*_STATE, *leaves({"size": INT32, "offset": INT64, "epoch": INT32}))
_STARTS = leaves({"epochStartOffset": INT64, "confirmOffset": INT64})
_FLAGS = (*_STATE, *leaves({"syncFromLastFile": INT16, "asyncLearner": INT16}))
_LENGTH = Leaf(LayoutSpec("length", "int32"), INT32)

_CLASSIC_REPORT = HeadLayout(SLAVE_OFFSET, leaves({"offset": INT64}), 8)
_CLASSIC = {name: HeadLayout(name, leaves({"offset": INT64, "size": INT32}), 12) for name in (TRANSFER, HEARTBEAT)}
_CONTROLLED_REPORT = HeadLayout(SLAVE_OFFSET, (*_STATE, *leaves({"offset": INT64})), 12)
_CONTROLLED = {name: HeadLayout(name, (*_EPOCHS, *_STARTS), HEAD) for name in (TRANSFER, HEARTBEAT)}
_ADDRESS = HeadLayout(HANDSHAKE, (*_FLAGS, _LENGTH), 12)
_ID = HeadLayout(HANDSHAKE, (*_FLAGS, *leaves({"brokerId": INT64})), 16)
_ANSWER, _ANSWER_OF_5_0 = HeadLayout(HANDSHAKE, _EPOCHS, 20), HeadLayout(HANDSHAKE, (*_EPOCHS, *_STARTS), HEAD)


def read_head(head: bytes, from_slave: bool, kind: HAProtocol, ended: bool = False) -> HAFrame | int:
    """Returns the frame that begins with these bytes; 0 if none can, negative: so many bytes are needed to tell.

    ended: no more bytes will come.
    """
    if kind is HAProtocol.CLASSIC:
        return _read_report(head) if from_slave else _read_transfer(head)
    if len(head) < _WORD.size:
        return -_WORD.size
    state = _WORD.unpack_from(head)[0]
    if state not in (_GREETS, _TRANSFERS):
        return 0
    if from_slave:
        return _read_greeting(head) if state == _GREETS else _read_controlled_report(head)
    return _read_answer(head, ended) if state == _GREETS else _read_controlled_transfer(head)


def _read_report(head: bytes) -> HAFrame | int:
    if len(head) < _OFFSET.size:
        return -_OFFSET.size
    offset = _OFFSET.unpack_from(head)[0]
    return HAFrame(_CLASSIC_REPORT, offset, 0) if 0 <= offset < FARTHEST else 0


def _read_transfer(head: bytes) -> HAFrame | int:
    if len(head) < _SIZED.size:
        return -_SIZED.size
    offset, size = _SIZED.unpack_from(head)
    if not (0 <= offset < FARTHEST and 0 <= size <= MAXIMUM - _SIZED.size):
        return 0
    return HAFrame(_CLASSIC[TRANSFER if size else HEARTBEAT], offset, size)


def _read_greeting(head: bytes) -> HAFrame | int:
    if len(head) < _GREETING.size:
        return -_GREETING.size
    _, last_file, learner, length = _GREETING.unpack_from(head)
    if last_file not in (0, 1) or learner not in (0, 1) or (length and length not in NAMES):
        return 0
    if length:
        return HAFrame(_ADDRESS, 0, length)
    return HAFrame(_ID, 0, 0) if len(head) >= _ID.size else -_ID.size


def _read_controlled_report(head: bytes) -> HAFrame | int:
    if len(head) < _REPORT.size:
        return -_REPORT.size
    offset = _REPORT.unpack_from(head)[1]
    return HAFrame(_CONTROLLED_REPORT, offset, 0) if _NONE <= offset < FARTHEST else 0


def _read_answer(head: bytes, ended: bool) -> HAFrame | int:
    if len(head) < _MASTER.size:
        return -_MASTER.size
    _, size, offset, epoch = _MASTER.unpack_from(head)
    if size % EPOCH.size or not 0 <= size <= EPOCH.size * MOST_EPOCHS:
        return 0
    if not _NONE <= offset < FARTHEST or epoch < _NONE:
        return 0
    behind = head[_MASTER.size : _MASTER.size + _WORD.size]
    if len(behind) < _WORD.size and not ended:
        return -_MASTER.size - _WORD.size
    return HAFrame(_ANSWER_OF_5_0 if behind == bytes(_WORD.size) else _ANSWER, offset, size)


def _read_controlled_transfer(head: bytes) -> HAFrame | int:
    if len(head) < HEAD:
        return -HEAD
    _, size, offset, epoch = _MASTER.unpack_from(head)
    start, confirmed = _MORE.unpack_from(head, _MASTER.size)
    if not 0 <= size <= MAXIMUM - HEAD or epoch < _NONE:
        return 0
    if not all(_NONE <= each < FARTHEST for each in (offset, start, confirmed)):
        return 0
    return HAFrame(_CONTROLLED[TRANSFER if size else HEARTBEAT], offset, size)


def recognise_protocol(
    head: bytes, from_slave: bool, *, ended: bool = False, opening: bool = False
) -> HAProtocol | None:
    """Returns which protocol a frame that begins so belongs to; None: more bytes are needed to tell.

    A classic offset may begin like a state: from 4 GiB on with 1, from 8 with 2. Then all else must fit, and behind a
    slave's report another state. ended: no more bytes will come. opening: it is the first frame, which is no report.
    """
    if len(head) < _WORD.size:
        return HAProtocol.CLASSIC if ended else None
    state = _WORD.unpack_from(head)[0]
    if state not in (_GREETS, _TRANSFERS) or (opening and state == _TRANSFERS):
        return HAProtocol.CLASSIC
    found = read_head(head, from_slave, HAProtocol.CONTROLLED, ended)
    if not isinstance(found, HAFrame):
        return HAProtocol.CLASSIC if found == 0 or ended else None
    if not from_slave or state == _GREETS:
        return HAProtocol.CONTROLLED
    behind = head[_REPORT.size : _REPORT.size + _WORD.size]
    if len(behind) < _WORD.size and not ended:
        return None
    goes_on = any(_WORD.pack(each).startswith(behind) for each in (_GREETS, _TRANSFERS))
    return HAProtocol.CONTROLLED if goes_on else HAProtocol.CLASSIC


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
    """Reads the frame that begins with these bytes; None if there is none.

    kind: the protocol of the connection, if known.
    """
    first = recognise_protocol(prefix, from_slave, ended=True) if kind is None else kind
    kinds = [first, *(each for each in HAProtocol if each is not first)] if first is not None else list(HAProtocol)
    for each in kinds:
        found = read_head(prefix, from_slave, each, ended=True)
        if isinstance(found, HAFrame) and (not from_slave or found.size == len(prefix) or each is kind):
            return FrameView(each, found)
    return None


def is_from_slave(context: Context) -> bool:
    """Returns whether a slave sent a frame of such a context."""
    return context.role in _OF_SLAVE


def find_protocol(context: Context) -> HAProtocol:
    """Returns the protocol that a connection of the HA port uses."""
    name = (context.extra or {}).get(KIND)
    return HAProtocol.CLASSIC if name is None else HAProtocol[name]


LOOK = 2 * HEAD
"""Bytes that do to tell the kind: a head, and what the next one begins with."""


@dataclass(slots=True)
class HAFramer(Framer):
    """Of one direction, seen from its beginning if `opening`; `kind` None until its first frame."""

    from_slave: bool
    opening: bool
    kind: HAProtocol | None = None

    def length(self, message: Window, ended: bool) -> int | None:
        """Reads a frame's length from its head; 0 if no frame can begin here, negative if more bytes are needed."""
        head = message.read_bytes(0, min(len(message), LOOK))
        kind = self.kind
        if kind is None:
            kind = recognise_protocol(head, self.from_slave, ended=ended, opening=self.opening)
        if kind is None:
            return -len(head) - 1
        found = read_head(head, self.from_slave, kind, ended)
        if not isinstance(found, HAFrame):
            return found
        self.kind = kind
        return found.size

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """Finds the length of a frame with lost bytes in it, if its head is there; else 0."""
        found = read_head(
            message.read_bytes(0, min(lost.start, HEAD)), self.from_slave, self.kind or HAProtocol.CLASSIC
        )
        return found.size if isinstance(found, HAFrame) else 0


_LONGEST_STEP = 1 << 30
"""Bytes between two reports of a slave; but for the first, which may be of an empty log."""


class FrameLink(NamedTuple):
    """A frame and where it begins; `follows`: whether it goes on where those before it were."""

    at: int
    frame: HAFrame
    follows: bool


def iterate_links(data: bytes, from_slave: bool, kind: HAProtocol) -> Iterator[FrameLink]:
    """Yields the frames in bytes of one direction, up to what can be none; the last may be cut."""
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
    """Returns whether a frame may come after the last one of its side that had an offset."""
    if found.is_transfer:
        return found.offset == before.offset + before.data or before.offset < 0
    if found.form.operation == SLAVE_OFFSET:
        return before.offset <= found.offset and (before.offset <= 0 or found.offset - before.offset < _LONGEST_STEP)
    return True
