"""What was delivered and is not acknowledged.

Facts (CommandAck, MessageIdData, Consumer.individualAckNormal, Consumer.messageAcked). An individual ACK names entries;
a cumulative one names the last of all that it acknowledges. Of a batch an ACK may have an ack set, whose bits are set
for what it does *not* acknowledge: what is left is what is set in all of them. Without one it is the whole entry.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, NamedTuple, TypeVar

from dissectors.pulsar.reports.asked import Place
from dissectors.pulsar.reports.permits import MOST_WORDS
from dissectors.slotted import slotted

MOST = 200_000
"""Entries that are remembered; the oldest is forgotten first."""

_MOST_BITS = 64 * MOST_WORDS
_SLACK = 64

_Thing = TypeVar("_Thing")


@slotted(frozen=False, eq=False)
class _Item(Generic[_Thing]):
    """An entry. left: messages of it; bits: of which these, None for the first `left` ones."""

    thing: _Thing
    left: int
    bits: int | None


class Acked(NamedTuple, Generic[_Thing]):
    """What became of an entry: how many of its messages were acknowledged now, and whether all are."""

    thing: _Thing
    messages: int
    whole: bool


class Outstanding(Generic[_Thing]):
    """The entries of all readers; who a reader is says the caller."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[Hashable, Place], _Item[_Thing]] = OrderedDict()
        self._order: dict[Hashable, list[Place]] = {}
        """The places of a reader, the least first; some of them are gone."""
        self._sized: dict[Hashable, int] = {}
        """How many of them there were when it was last seen to."""

    def deliver(
        self, reader: Hashable, place: Place, thing: _Thing, left: int, bits: int | None
    ) -> Acked[_Thing] | None:
        """One more; what stood there before, or else the oldest where there are too many."""
        key = reader, place
        before = self._held.pop(key, None)
        self._held[key] = _Item(thing, left, bits)
        if before is not None:
            return Acked(before.thing, before.left, False)
        order = self._order.setdefault(reader, [])
        heappush(order, place)
        if len(order) > 2 * self._sized.get(reader, 0) + _SLACK:
            order[:] = {each for each in order if (reader, each) in self._held}
            heapify(order)
            self._sized[reader] = len(order)
        return None

    def oldest(self) -> Acked[_Thing] | None:
        """The oldest, where there are too many: it is forgotten."""
        if len(self._held) <= MOST:
            return None
        _, item = self._held.popitem(last=False)
        return Acked(item.thing, item.left, False)

    def acked(self, reader: Hashable, place: Place, kept: int | None) -> Acked[_Thing] | None:
        """One is acknowledged but for the bits that are `kept`; None where it is not there."""
        item = self._held.get((reader, place))
        if item is None:
            return None
        before = item.left
        if kept is None:
            item.left = 0
        elif item.bits is not None or before <= _MOST_BITS:
            item.bits = ((1 << before) - 1 if item.bits is None else item.bits) & kept
            item.left = min(item.bits.bit_count(), before)
        if not item.left:
            del self._held[reader, place]
        return Acked(item.thing, before - item.left, not item.left)

    def acked_to(self, reader: Hashable, place: Place, kept: int | None) -> list[Acked[_Thing]]:
        """All up to one are acknowledged, of that one but for the bits that are `kept`."""
        found: list[Acked[_Thing] | None] = []
        order = self._order.get(reader, [])
        while order and order[0] < place:
            found.append(self.acked(reader, heappop(order), None))
        found.append(self.acked(reader, place, kept))
        return [each for each in found if each is not None]

    def drop(self, reader: Hashable) -> list[Place]:
        """All of a reader are forgotten; where they lay."""
        self._sized.pop(reader, None)
        return [place for place in self._order.pop(reader, ()) if self._held.pop((reader, place), None) is not None]
