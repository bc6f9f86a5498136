"""Permits of a consumer: the number of messages that it may still receive.

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

from collections.abc import Mapping
from typing import Any

from dissectors.outstanding import MOST_BITS
from dissectors.slotted import make_slotted

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
