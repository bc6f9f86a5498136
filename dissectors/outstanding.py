"""Deliveries that are not acknowledged yet, by reader and place; bounded, the oldest is evicted first.

Theory. An acknowledgement names one entry, or an entry and all before it. If an entry is a batch, the acknowledgement
may carry a bit set of the messages that are *not* acknowledged yet; the messages left are those whose bits are set in
all such sets. The places of a reader form a heap from which removed entries are deleted lazily, when it has doubled in
size.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, NamedTuple, TypeVar

from dissectors.slotted import make_slotted

LIMIT = 200_000
"""Entries that are remembered."""

MOST_BITS = 4096
"""Messages of a batch that are told apart."""

_SLACK = 64

_Thing = TypeVar("_Thing")


@make_slotted(frozen=False, eq=False)
class _Entry(Generic[_Thing]):
    """left: messages of it; bits: of which these, None for the first `left` ones."""

    thing: _Thing
    left: int
    bits: int | None


class Acknowledgement(NamedTuple, Generic[_Thing]):
    """The result for an entry: how many of its messages were acknowledged now, and whether all are."""

    thing: _Thing
    messages: int
    whole: bool


class Outstanding(Generic[_Thing]):
    """Entries that were delivered to readers and not acknowledged; the caller defines readers and places.

    evict: what gets an entry that is evicted, and the messages that were left of it.
    """

    def __init__(self, evict: Callable[[_Thing, int], object] | None = None) -> None:
        self._entries: OrderedDict[tuple[Hashable, Any], _Entry[_Thing]] = OrderedDict()
        self._evict = evict
        self._order: dict[Hashable, list[Any]] = {}
        """The places of a reader, the least first; some of them are gone."""
        self._sized: dict[Hashable, int] = {}
        """How many of them there were when it was last cleared."""

    def deliver(
        self, reader: Hashable, place: Any, thing: _Thing, left: int = 1, bits: int | None = None
    ) -> Acknowledgement[_Thing] | None:
        """Adds an entry; returns the one that was at its place before."""
        key = reader, place
        before = self._entries.pop(key, None)
        self._entries[key] = _Entry(thing, left, bits)
        if before is not None:
            return Acknowledgement(before.thing, before.left, False)
        order = self._order.setdefault(reader, [])
        heappush(order, place)
        if len(order) > 2 * self._sized.get(reader, 0) + _SLACK:
            order[:] = {each for each in order if (reader, each) in self._entries}
            heapify(order)
            self._sized[reader] = len(order)
        if len(self._entries) > LIMIT:
            (evicted, _), entry = self._entries.popitem(last=False)
            self._clear(evicted)
            if self._evict is not None:
                self._evict(entry.thing, entry.left)
        return None

    def acknowledge(
        self, reader: Hashable, place: Any, unacknowledged: int | None = None
    ) -> Acknowledgement[_Thing] | None:
        """Acknowledges an entry but for the bits that are `unacknowledged`; None if it does not exist."""
        entry = self._entries.get((reader, place))
        if entry is None:
            return None
        before = entry.left
        if unacknowledged is None:
            entry.left = 0
        elif entry.bits is not None or before <= MOST_BITS:
            entry.bits = ((1 << before) - 1 if entry.bits is None else entry.bits) & unacknowledged
            entry.left = min(entry.bits.bit_count(), before)
        if not entry.left:
            del self._entries[reader, place]
            self._clear(reader)
        return Acknowledgement(entry.thing, before - entry.left, not entry.left)

    def acknowledge_before(self, reader: Hashable, place: Any) -> list[Acknowledgement[_Thing]]:
        """Acknowledges all entries before a place, the lowest first."""
        found = []
        order = self._order.get(reader, [])
        while order and order[0] < place:
            entry = self._entries.pop((reader, heappop(order)), None)
            if entry is not None:
                found.append(Acknowledgement(entry.thing, entry.left, True))
        self._clear(reader)
        return found

    def acknowledge_to(
        self, reader: Hashable, place: Any, unacknowledged: int | None = None
    ) -> list[Acknowledgement[_Thing]]:
        """Acknowledges all entries up to a place; of the last one, the bits that are `unacknowledged` remain."""
        found = self.acknowledge_before(reader, place)
        last = self.acknowledge(reader, place, unacknowledged)
        return found if last is None else [*found, last]

    def drop(self, reader: Hashable) -> list[Any]:
        """Removes all entries of a reader and returns their places."""
        self._sized.pop(reader, None)
        places = self._order.pop(reader, ())
        return [place for place in places if self._entries.pop((reader, place), None) is not None]

    def _clear(self, reader: Hashable) -> None:
        """Forgets places that are gone, and a reader without any."""
        order = self._order.get(reader)
        while order and (reader, order[0]) not in self._entries:
            heappop(order)
        if not order:
            self._order.pop(reader, None)
            self._sized.pop(reader, None)
