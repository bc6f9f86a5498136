"""Subscriptions of Pulsar's reports and checks: commands by name, the fields that they read; permits of consumers.

Facts (Consumer.flowPermits, Consumer.sendMessages, AbstractBaseDispatcher.filterEntriesForConsumer). A new consumer has
no permits; each FLOW adds some. Each message that the broker sends takes one; a batch takes as many as its metadata
counts, less those that its ack set marks as acknowledged; a chunk takes one. An entry is sent while there is one
permit, so a batch may take more than there were, and permits may be negative. A requested redelivery gives nothing
back.

Estimates. A broker that has blocked a consumer for its unacknowledged messages (maxUnackedMessagesPerConsumer, 50,000)
sets the permits of FLOW aside, which is not visible on the wire. For a consumer that was created before the capture, or
whose connection lost bytes, only granted and taken permits are known, so it has no number of permits rather than a
wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dissectors.correlator import BoundedTable, Handler, MessageEvent, MessageKind, Subscription, subscribe
from dissectors.message import Path, Role
from dissectors.outstanding import MOST_BITS
from dissectors.pulsar.commands import commands
from dissectors.pulsar.tables import table
from dissectors.slotted import make_slotted
from dissectors.table_check import TableCheck

PULSAR = "pulsar"

NO_NUMBER = 0xFFFF_FFFF_FFFF_FFFF
"""-1 as an id: of a message that the broker knew already and did not write again, and of no request."""

Place = tuple[int, int]
"""Ledger and entry. Within a topic a greater place is a later one (PositionImpl.compareTo)."""


@cache
def command_codes() -> Mapping[str, int]:
    """Returns the types of commands by name."""
    return {command.name: code for code, command in commands().items()}


def subscribe_to(
    names: str, handle: Handler, *paths: str | Path, roles: Iterable[Role] = tuple(Role)
) -> dict[MessageKind, Subscription]:
    """Subscribes a handler to commands (names with spaces between) in some roles; paths: the fields that it reads."""
    kinds = [(PULSAR, command_codes()[name], role) for name in names.split() for role in roles]
    return subscribe(kinds, handle, ((path,) if isinstance(path, str) else path for path in paths))


def read_text(values: Mapping[str, Any], name: str) -> str | None:
    """Returns a text or the name of an enum's value; None if there is none."""
    found = values.get(name)
    if isinstance(found, str):
        return found or None
    return str(found) if isinstance(found, int) else None


def read_place(value: object) -> Place | None:
    """Returns the place of a message from its MessageIdData, or None."""
    if not isinstance(value, dict):
        return None
    ledger, entry = value.get("ledgerId"), value.get("entryId")
    return (ledger, entry) if isinstance(ledger, int) and isinstance(entry, int) else None


class ProxiedBrokers:
    """The broker to which a proxy connects each connection, as CONNECT says; bounded."""

    def __init__(self) -> None:
        self._urls: BoundedTable[int, str] = BoundedTable()

    def connect(self, event: MessageEvent) -> None:
        """Notes to which broker a CONNECT asks a proxy to lead."""
        url = read_text(event.values, "proxy_to_broker_url")
        if url is not None:
            self._urls[event.stream] = url

    def find_broker(self, stream: int) -> str | None:
        """Returns the broker behind a proxy; None without a proxy."""
        return self._urls.get(stream)


class PulsarCheck(TableCheck):
    """A check whose sentences are in tables/checks.json."""

    table = staticmethod(table)


def name_producer(number: int, topic: str | None) -> str:
    """Returns the name of a producer for sentences."""
    return f"producer {number}" + (f" of {topic}" if topic else "")


def name_consumer(number: int, values: Mapping[str, Any]) -> str:
    """Returns the name of a consumer for sentences, from its SUBSCRIBE."""
    names = [(key, read_text(values, key)) for key in ("subscription", "topic")]
    return ", ".join([f"consumer {number}", *(f"{key} {name}" for key, name in names if name is not None)])


MOST_WORDS = MOST_BITS // 64
"""Words of 64 bits of an ack set that are looked at: 4,096 messages. Clients put a thousand into a batch."""

_WORD = 0xFFFF_FFFF_FFFF_FFFF


@make_slotted(frozen=False, eq=False)
class ConsumerPermits:
    """The permits of one consumer. known: whether all of it is in the capture.

    now and least: None where nobody knows. granted: by all FLOWs. empty: since when there is none, ns since 1970, None
    while there are some. starved and longest: how long there was none, in all and at one time, ns, without what goes
    on.
    """

    known: bool
    now: int | None = None
    least: int | None = None
    granted: int = 0
    empty: int | None = None
    starved: int = 0
    longest: int = 0

    def __post_init__(self) -> None:
        """With no FLOW yet it waits for nothing: it has not begun to ask."""
        if self.known:
            self.now = 0

    def grant(self, permits: int, time: int) -> None:
        """Adds the permits of a FLOW. A broker refuses a FLOW without permits."""
        if permits <= 0:
            return
        self.granted += permits
        if self.now is None:
            return
        if self.least is None:
            self.least = permits
        self.now += permits
        if self.now > 0:
            self.end_starving(time)

    def take(self, messages: int, time: int) -> None:
        """Takes the permits that a MESSAGE uses."""
        if self.now is None or messages <= 0:
            return
        self.now -= messages
        self.least = self.now if self.least is None else min(self.least, self.now)
        if self.now <= 0 and self.empty is None:
            self.empty = time

    def forget(self) -> None:
        """Forgets the number of permits, because lost bytes may have been FLOWs or MESSAGEs."""
        self.known, self.now, self.least, self.empty = False, None, None, None

    def end_starving(self, time: int) -> None:
        """Ends a time without permits: some came, or the consumer is gone."""
        if self.empty is not None:
            lasted = max(time - self.empty, 0)
            self.starved += lasted
            self.longest = max(self.longest, lasted)
            self.empty = None


def read_ack_set(ack_set: object) -> int | None:
    """Returns an ack set as one number, whose bits are set for what is not acknowledged; None where there is none.

    Facts (MessageIdData, BatchMessageAcker). Words are int64 and the first holds the lowest bits.
    """
    if not isinstance(ack_set, list) or not ack_set:
        return None
    found = 0
    for place, word in enumerate(ack_set[:MOST_WORDS]):
        if isinstance(word, int):
            found |= (word & _WORD) << 64 * place
    return found


def count_messages(values: Mapping[str, Any]) -> int:
    """Returns the number of messages in a MESSAGE: those of its batch that its ack set does not exclude."""
    count = count_batch(values.get("metadata"))
    left = read_ack_set(values.get("ack_set"))
    return count if left is None else min(left.bit_count(), count)


def count_batch(metadata: object) -> int:
    """Returns the number of messages in an entry, from its metadata; 1 if that is unknown."""
    count = metadata.get("num_messages_in_batch", 1) if isinstance(metadata, dict) else 1
    return count if isinstance(count, int) and count > 0 else 1
