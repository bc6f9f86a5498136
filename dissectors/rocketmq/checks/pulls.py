"""Pulls that come back at once with nothing, again and again.

Facts (PullMessageProcessor, DefaultPullMessageResultHandler, PullSysFlag). Where a queue has nothing new, a broker
holds a pull whose sysFlag says so for up to suspendTimeoutMillis, or a second where its own long polling is switched
off, and answers PULL_NOT_FOUND then. Without that flag it answers at once. PULL_RETRY_IMMEDIATELY says to go on behind
messages that the subscription does not want: nextBeginOffset is a later one. PULL_OFFSET_MOVED says that the offset is
not there, and where to go on.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.rocketmq.checks.saying import SECOND, Counted, Made, in_header, of, said
from dissectors.rocketmq.reports.fields import header
from dissectors.slotted import field, slotted
from dissectors.values import number, text

WINDOW = 10 * SECOND
"""Nanoseconds within which it counts. A consumer that has to wait a little between pulls waits some 3 s."""

AT_ONCE = SECOND // 2
"""What is answered within so many nanoseconds was not held."""

STORM = 50
"""Pulls of one queue that come back with nothing within that time, before that is said, and again at each doubling."""

MOVED = 5
"""How often the same offset is asked for that is not there."""

SUSPEND = 2
"""Of a pull's sysFlag: it may be held."""

_PULLS = ("PULL_MESSAGE", "LITE_PULL_MESSAGE")
_NOT_FOUND, _RETRY, _MOVED = 19, 20, 21

_Queue = tuple[int, str, str, int]
"""Connection, group, topic, queue."""


@slotted(frozen=False, eq=False)
class _Pulled:
    """What became of a queue's pulls. offset: the latest that was not there."""

    empty: Counted = field(default_factory=Counted)
    moved: Counted = field(default_factory=Counted)
    offset: int = -1


@slotted
class _Asked:
    """A pull. offset: where it begins."""

    queue: _Queue
    offset: int
    may_wait: bool
    time: int
    losses: int


class Pulls(Check):
    """See the module."""

    wants = of(Role.REQUEST, _PULLS) | of(Role.RESPONSE, _PULLS)
    paths = in_header(
        *("consumerGroup", "topic", "queueId", "queueOffset", "sysFlag", "suspendTimeoutMillis", "nextBeginOffset")
    )

    def __init__(self) -> None:
        """Nothing pulled."""
        self._queues: Made[_Queue, _Pulled] = Made(_Pulled)

    def see(self, seen: Seen) -> Iterator[Finding]:
        """An answer."""
        asked = seen.request
        if not isinstance(asked, _Asked):
            return
        code = None if seen.error is None else seen.error[0]
        if code == _MOVED:
            yield from self._moved(asked, seen)
        elif code in (_NOT_FOUND, _RETRY):
            yield from self._empty(asked, seen)
        elif code is None:
            self._queues.take(asked.queue)

    def kept(self, seen: Seen) -> object:
        """Which queue, from where, and whether the broker may wait."""
        asked = header(seen.values)
        group, topic = text(asked, "consumerGroup") or "", text(asked, "topic") or ""
        queue = seen.stream, group, topic, number(asked, "queueId", -1)
        may_wait = (
            bool(number(asked, "sysFlag") & SUSPEND) and number(asked, "suspendTimeoutMillis") * 1_000_000 > AT_ONCE
        )
        return _Asked(queue, number(asked, "queueOffset", -1), may_wait, seen.time, seen.losses)

    def _empty(self, asked: _Asked, seen: Seen) -> Iterator[Finding]:
        went_on = number(header(seen.values), "nextBeginOffset", asked.offset) != asked.offset
        if went_on or seen.time - asked.time > AT_ONCE or seen.losses != asked.losses:
            return
        count = self._queues.of(asked.queue).empty
        if count.add(seen.time, WINDOW, STORM):
            took = seen.time - count.first
            sentence = "unsuspended" if asked.may_wait else "polling"
            yield said(sentence, who=_who(asked.queue, seen), count=count.count, took=took)

    def _moved(self, asked: _Asked, seen: Seen) -> Iterator[Finding]:
        queue = self._queues.of(asked.queue)
        if asked.offset != queue.offset:
            queue.offset, queue.moved = asked.offset, Counted()
        if queue.moved.add(seen.time, 6 * WINDOW, MOVED):
            took, count = seen.time - queue.moved.first, queue.moved.count
            yield said("moved", who=_who(asked.queue, seen), offset=asked.offset, count=count, took=took)


def _who(queue: _Queue, seen: Seen) -> str:
    return f"{seen.client}, group {queue[1]}, {queue[2]}[{queue[3]}]"
