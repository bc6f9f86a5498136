"""What was delivered to consumers and is not acknowledged, by queue and offset.

Facts (ConsumerOffsetManager, AckMessageProcessor). Who pulls commits, for a group and a queue, the offset of the next
message, and so all before it; who pops acknowledges each by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

MOST = 200_000
"""Messages that are remembered; the oldest is forgotten first."""

_SLACK = 64

_Thing = TypeVar("_Thing")


class Outstanding(Generic[_Thing]):
    """Things by queue and offset; what a queue is says the caller."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[Hashable, int], _Thing] = OrderedDict()
        self._order: dict[Hashable, list[int]] = {}
        """The offsets of a queue, the least first; some of them are gone."""
        self._sized: dict[Hashable, int] = {}
        """How many of them there were when it was last seen to."""

    def deliver(self, queue: Hashable, offset: int, thing: _Thing) -> None:
        """One more, or another at its place."""
        key = queue, offset
        if self._held.pop(key, None) is None:
            self._ordered(queue, offset)
        self._held[key] = thing
        if len(self._held) > MOST:
            (gone, _), _ = self._held.popitem(last=False)
            self._tidy(gone)

    def _ordered(self, queue: Hashable, offset: int) -> None:
        order = self._order.setdefault(queue, [])
        heappush(order, offset)
        if len(order) > 2 * self._sized.get(queue, 0) + _SLACK:
            order[:] = {each for each in order if (queue, each) in self._held} | {offset}
            heapify(order)
            self._sized[queue] = len(order)

    def take(self, queue: Hashable, offset: int) -> _Thing | None:
        """One is acknowledged."""
        thing = self._held.pop((queue, offset), None)
        if thing is not None:
            self._tidy(queue)
        return thing

    def before(self, queue: Hashable, offset: int) -> list[_Thing]:
        """All before an offset are, the least first."""
        order = self._order.get(queue, [])
        found = []
        while order and order[0] < offset:
            thing = self._held.pop((queue, heappop(order)), None)
            if thing is not None:
                found.append(thing)
        self._tidy(queue)
        return found

    def _tidy(self, queue: Hashable) -> None:
        """Forgets a queue without anything in it."""
        order = self._order.get(queue)
        while order and (queue, order[0]) not in self._held:
            heappop(order)
        if not order:
            self._order.pop(queue, None)
            self._sized.pop(queue, None)
