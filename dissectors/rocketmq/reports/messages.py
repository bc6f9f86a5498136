"""Messages as they are remembered: their sending, their deliveries, and what they are called.

Facts. A producer that got no answer, or one that does not please it, sends the same message again, under the same
UNIQ_KEY (DefaultMQProducerImpl.sendDefaultImpl); an application that sends the same object twice does so, too. What is
sent after it was stored is a message of its own here: an estimate.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.old_report import MessageEvent
from dissectors.rocketmq.reports.ids import Place
from dissectors.slotted import field, slotted

MOST = 200_000
"""Messages that are remembered; the oldest is forgotten first."""

MOST_READERS = 1024
"""Groups of one message that are told."""

MOST_ROWS = 64
"""Messages on the wire that a line names of each side."""

UNANSWERED, STORED, REFUSED, HALF, ROLLED_BACK, RECALLED = (
    "unanswered", "stored", "refused", "half", "rolled back", "recalled",
)  # fmt: skip
DELIVERED, RETURNED, DEAD, ACKED = "delivered", "returned", "dead", "acked"

Key = str | Place
"""UNIQ_KEY, or where it lies."""

Reader = tuple[str | None, str | None]
"""A group; and the client where each of the group gets all messages."""


@slotted(frozen=False, eq=False)
class Delivery:
    """To one group. client, stream: of the consumer that got it last; how: by pull or pop; at: its queue and offset.

    row, time: of the first one. again: how often it came again; count: how often by the broker's count. returned:
    whether it waits to come again; backs: how often it was sent back; acked, ack: since when nothing of it is left.
    """

    group: str | None
    client: str
    stream: int
    how: str
    at: tuple[object, ...]
    row: int
    time: int
    count: int = 0
    again: int = 0
    backs: int = 0
    returned: bool = False
    dead: bool = False
    open: bool = True
    acked: int | None = None
    ack: int | None = None
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message on the wire."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))

    @property
    def state(self) -> str:
        """How it stands."""
        if self.dead:
            return DEAD
        if self.returned:
            return RETURNED
        return DELIVERED if self.open or self.acked is None else ACKED


@slotted(frozen=False, eq=False)
class Message:
    """key: its UNIQ_KEY; place: where it lies; keys: what it is found by. queue, offset: where consumers find it.

    stream, client, language, group: who sends it; send, sent: row and time of the first SEND; answered: when it was
    stored or refused, and how (status). attempts: how often it was sent. due: when it shall be delivered, ns since
    1970. named, tags: its keys and tags.
    """

    topic: str | None
    first: int
    last: int
    key: str | None = None
    place: Place | None = None
    queue: int | None = None
    offset: int | None = None
    named: str | None = None
    tags: str | None = None
    state: str = STORED
    status: str | None = None
    stream: int | None = None
    client: str | None = None
    language: str | None = None
    group: str | None = None
    send: int | None = None
    sent: int | None = None
    answered: int | None = None
    size: int | None = None
    batch: int | None = None
    attempts: int = 0
    due: int | None = None
    half: bool = False
    rows: list[tuple[str, int]] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    to: dict[Reader, Delivery] = field(default_factory=dict)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message on the wire."""
        self.seen(told)
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))

    def seen(self, told: MessageEvent) -> None:
        """Something was heard of it."""
        self.last = max(self.last, told.time)


class Messages:
    """All messages, by what they are called."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Message] = OrderedDict()
        self._at: dict[Key, Message] = {}

    def all(self) -> Iterator[Message]:
        """Those that are not forgotten."""
        return iter(self._known.values())

    def find(self, *keys: Key | None) -> Message | None:
        """The message of the first of these keys that is known; of several of that name the latest."""
        return next((self._at[key] for key in keys if key is not None and key in self._at), None)

    def add(self, message: Message, *keys: Key | None) -> Message | None:
        """A message, and what it is called; the oldest, where there are too many: it is forgotten."""
        self._known.setdefault(id(message), message)
        for key in keys:
            if key is not None and self._at.get(key) is not message:
                self._at[key] = message
                if len(message.keys) < MOST_ROWS:
                    message.keys.append(key)
                else:
                    self._forget(message.keys[-1], message)
                    message.keys[-1] = key
        if len(self._known) <= MOST:
            return None
        _, oldest = self._known.popitem(last=False)
        for key in oldest.keys:
            self._forget(key, oldest)
        return oldest

    def _forget(self, key: Key, message: Message) -> None:
        if self._at.get(key) is message:
            del self._at[key]
