"""Brokers that refuse much of what they are asked for, because they are busy.

Facts (BrokerFastFailure, SendMessageProcessor, PullMessageProcessor, PopMessageProcessor). A broker answers SYSTEM_BUSY
where the page cache is slow, or a request has waited longer in its queue than it may (waitTimeMillsInSendQueue, 200
ms), and FLOW_CONTROL where a topic or group has no quota left. Clients try another broker, or wait a few seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.rocketmq.checks.saying import REMARK, SECOND, Made, of, said
from dissectors.slotted import field, slotted

WINDOW = 60 * SECOND
"""Nanoseconds that are looked at together."""

STORM, SHARE = 20, 10
"""Requests that are refused within that time, and are one in so many or more."""

_BUSY = frozenset({2, 215})
"""SYSTEM_BUSY, FLOW_CONTROL."""

_ASKED = (
    *("SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "SEND_REPLY_MESSAGE", "SEND_REPLY_MESSAGE_V2"),
    *("PULL_MESSAGE", "LITE_PULL_MESSAGE", "POP_MESSAGE", "POP_LITE_MESSAGE", "CONSUMER_SEND_MSG_BACK"),
    *("ACK_MESSAGE", "BATCH_ACK_MESSAGE", "HEART_BEAT", "QUERY_MESSAGE"),
)


@slotted(frozen=False, eq=False)
class _Window:
    """What a server answered since `begun`. is_said: whether that was too much already."""

    begun: int = 0
    all: int = 0
    busy: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    is_said: bool = False


class Busy(Check):
    """See the module."""

    wants = of(Role.REQUEST, _ASKED) | of(Role.RESPONSE, _ASKED)
    paths = frozenset({REMARK})

    def __init__(self) -> None:
        """Nobody answered."""
        self._windows: Made[str, _Window] = Made(_Window)

    def see(self, seen: Seen) -> Iterator[Finding]:
        """An answer."""
        if seen.context.role is not Role.RESPONSE:
            return
        window = self._windows.of(seen.server)
        if not window.all or seen.time - window.begun > WINDOW:
            self._windows.take(seen.server)
            window = self._windows.of(seen.server)
            window.begun = seen.time
        window.all += 1
        if seen.error is None or seen.error[0] not in _BUSY:
            return
        window.busy += 1
        window.errors[seen.error[1]] += 1
        if window.busy >= STORM and SHARE * window.busy >= window.all and not window.is_said:
            window.is_said = True
            errors = ", ".join(f"{count} {name}" for name, count in window.errors.most_common())
            took = seen.time - window.begun
            yield said("busy", server=seen.server, busy=window.busy, all=window.all, took=took, errors=errors)

    def kept(self, seen: Seen) -> object:
        """Nothing is wanted of a request but that its answer comes."""
        return True
