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

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from dissectors.api import HEADLESS, Context, Framer, MessageHeader, Role, Window
from dissectors.wire import INT16, INT32, INT64, leaves
from dissectors.wire.plan import Leaf
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.specs import LayoutSpec


class HAProtocol(IntEnum):
    """The two protocols of HA connections, of which a connection uses one."""

    CLASSIC = 0
    CONTROLLED = 1


class HeadLayout:
    """The head of an operation's frames. plausible: numbers that its fields may be, by name; others may be any.

    counts: the field that tells how many bytes stand behind the head; None if nothing does.
    """

    def __init__(
        self,
        operation: str,
        head: tuple[Leaf, ...],
        plausible: Mapping[str, Container[int]],
        counts: str | None = None,
    ) -> None:
        self.operation, self.head, self.counts = operation, head, counts
        self._checks = [plausible.get(leaf.spec.name) for leaf in head]
        self._names = [leaf.spec.name for leaf in head]
        codes = (leaf.primitive.code for leaf in head if isinstance(leaf.primitive, FixedWidth))
        self._struct = Struct(">" + "".join(codes))
        self.size = self._struct.size

    def read_frame(self, head: bytes) -> HAFrame | int:
        """Returns the frame that begins with these bytes; else as read_head says."""
        if len(head) < self.size:
            return -self.size
        numbers = self._struct.unpack_from(head)
        if not all(check is None or number in check for check, number in zip(self._checks, numbers, strict=True)):
            return 0
        found = dict(zip(self._names, numbers, strict=True))
        return HAFrame(self, found.get("offset", 0), 0 if self.counts is None else found[self.counts])


class HAFrame(NamedTuple):
    """A frame of the replication port, as described by its head. offset: in the log.

    data: bytes of log, epochs or an address behind the head.
    """

    form: HeadLayout
    offset: int
    data: int

    @property
    def operation(self) -> str:
        """The name of its operation."""
        return HEARTBEAT if self.form.operation == TRANSFER and not self.data else self.form.operation

    @property
    def size(self) -> int:
        """Length of the frame in bytes."""
        return self.form.size + self.data

    @property
    def is_transfer(self) -> bool:
        """Whether the frame has the master's position in its log."""
        return self.form.operation == TRANSFER


MAXIMUM = 4 * 1024 * 1024
"""Bytes that a slave reads at once; of a frame that is larger it never sees the end."""

NAMES = range(7, 51)
"""Bytes of a slave's address, for which one of 5.0 has room for 50. Fewer are none, but may be half an offset."""

ENTRY = leaves({"epoch": INT32, "startOffset": INT64})
"""An epoch in a master's handshake."""

ENTRY_SIZE = sum(leaf.minimum for leaf in ENTRY)
MOST_EPOCHS = 1000
"""Epochs for which a master has room in its handshake."""

FARTHEST = 1 << 47
"""Beyond any log: files of a GiB, so many as nobody keeps. What is above is no offset."""

HANDSHAKE, SLAVE_OFFSET, TRANSFER, HEARTBEAT = "HANDSHAKE", "SLAVE_OFFSET", "TRANSFER", "HEARTBEAT"
OPERATIONS = (HANDSHAKE, SLAVE_OFFSET, TRANSFER, HEARTBEAT)

_GREETS, _TRANSFERS = 1, 2
_NONE = -1
"""An offset or epoch that a master without any log says."""

_WORD = INT32.layout
_FROM_ZERO, _PLACES, _FLAG = range(FARTHEST), range(_NONE, FARTHEST), range(2)
_PLAUSIBLE = {
    **dict.fromkeys(("offset", "epochStartOffset", "confirmOffset"), _PLACES),
    **dict.fromkeys(("syncFromLastFile", "asyncLearner"), _FLAG),
    "epoch": range(_NONE, 1 << 31),
}

_STATE = leaves({"state": INT32})
_EPOCHS = (*_STATE, *leaves({"size": INT32, "offset": INT64, "epoch": INT32}))
_STARTS = leaves({"epochStartOffset": INT64, "confirmOffset": INT64})
_FLAGS = (*_STATE, *leaves({"syncFromLastFile": INT16, "asyncLearner": INT16}))
_LENGTH = Leaf(LayoutSpec("length", "int32"), INT32)

_CLASSIC_REPORT = HeadLayout(SLAVE_OFFSET, leaves({"offset": INT64}), {"offset": _FROM_ZERO})
_CLASSIC_HEAD = leaves({"offset": INT64, "size": INT32})
_CLASSIC_TRANSFER = HeadLayout(TRANSFER, _CLASSIC_HEAD, {"offset": _FROM_ZERO, "size": range(MAXIMUM - 12 + 1)}, "size")
REPORT = HeadLayout(SLAVE_OFFSET, (*_STATE, *leaves({"offset": INT64})), _PLAUSIBLE)
BLOCK = HeadLayout(TRANSFER, (*_EPOCHS, *_STARTS), {**_PLAUSIBLE, "size": range(MAXIMUM - 36 + 1)}, "size")
_ADDRESS = HeadLayout(HANDSHAKE, (*_FLAGS, _LENGTH), {**_PLAUSIBLE, "length": {0, *NAMES}}, "length")
GREETING = HeadLayout(HANDSHAKE, (*_FLAGS, *leaves({"brokerId": INT64})), _PLAUSIBLE)
_ENTRIES = {**_PLAUSIBLE, "size": range(0, ENTRY_SIZE * MOST_EPOCHS + 1, ENTRY_SIZE)}
_ANSWER = HeadLayout(HANDSHAKE, _EPOCHS, _ENTRIES, "size")
_ANSWER_OF_5_0 = HeadLayout(HANDSHAKE, (*_EPOCHS, *_STARTS), {}, "size")

HEAD = BLOCK.size
"""Bytes in which the longest head lies."""


def read_head(head: bytes, from_slave: bool, kind: HAProtocol, ended: bool = False) -> HAFrame | int:
    """Returns the frame that begins with these bytes; 0 if none can, negative: so many bytes are needed to tell.

    ended: no more bytes will come.
    """
    if kind is HAProtocol.CLASSIC:
        return (_CLASSIC_REPORT if from_slave else _CLASSIC_TRANSFER).read_frame(head)
    if len(head) < _WORD.size:
        return -_WORD.size
    state = _WORD.unpack_from(head)[0]
    if state == _TRANSFERS:
        return (REPORT if from_slave else BLOCK).read_frame(head)
    if state != _GREETS:
        return 0
    found = (_ADDRESS if from_slave else _ANSWER).read_frame(head)
    if not isinstance(found, HAFrame) or (from_slave and found.data):
        return found
    if from_slave:
        return GREETING.read_frame(head)
    behind = head[_ANSWER.size : _ANSWER.size + _WORD.size]
    if len(behind) < _WORD.size and not ended:
        return -_ANSWER.size - _WORD.size
    return found._replace(form=_ANSWER_OF_5_0) if behind == bytes(_WORD.size) else found


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
    behind = head[REPORT.size : REPORT.size + _WORD.size]
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
        if found.is_transfer or found.operation == SLAVE_OFFSET:
            before = found
        at += found.size


def can_follow(before: HAFrame, found: HAFrame) -> bool:
    """Returns whether a frame may come after the last one of its side that had an offset."""
    if found.is_transfer:
        return found.offset == before.offset + before.data or before.offset < 0
    if found.operation == SLAVE_OFFSET:
        return before.offset <= found.offset and (before.offset <= 0 or found.offset - before.offset < _LONGEST_STEP)
    return True
