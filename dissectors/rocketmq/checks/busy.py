"""Brokers that refuse much of what they are asked for, because they are busy.

Facts (BrokerFastFailure, SendMessageProcessor, PullMessageProcessor, PopMessageProcessor). A broker answers SYSTEM_BUSY
where the page cache is slow, or a request has waited longer in its queue than it may (waitTimeMillsInSendQueue, 200
ms), and FLOW_CONTROL where a topic or group has no quota left. Clients try another broker, or wait a few seconds.
"""

from __future__ import annotations

from collections import Counter

from dissectors.correlator import SECOND, MessageEvent, Window, WindowTable, for_request
from dissectors.message import Role
from dissectors.rocketmq.checks.sentences import RocketmqCheck
from dissectors.rocketmq.reports.fields import ANSWERS, subscribe_to
from dissectors.slotted import field, slotted

WINDOW = 60 * SECOND
"""Nanoseconds that are looked at together."""

STORM, SHARE = 20, 10
"""Requests that are refused within that time, and are one in so many or more."""

_BUSY = frozenset({2, 215})
"""SYSTEM_BUSY, FLOW_CONTROL."""

_ASKED = (
    "SEND_MESSAGE SEND_MESSAGE_V2 SEND_BATCH_MESSAGE SEND_REPLY_MESSAGE SEND_REPLY_MESSAGE_V2 PULL_MESSAGE "
    "LITE_PULL_MESSAGE POP_MESSAGE POP_LITE_MESSAGE CONSUMER_SEND_MSG_BACK ACK_MESSAGE BATCH_ACK_MESSAGE HEART_BEAT "
    "QUERY_MESSAGE"
)


@slotted(frozen=False, eq=False)
class _AnswerWindow(Window):
    """What a server answered since `begun`. is_said: whether that was too much already."""

    busy: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    is_said: bool = False


class BusyBrokers(RocketmqCheck):
    """See the module."""

    def _begin(self) -> None:
        self.windows: WindowTable[str, _AnswerWindow] = WindowTable(_AnswerWindow, WINDOW)

    def receive_request(self, event: MessageEvent) -> None:
        """Nothing is wanted of a request but that its answer comes."""
        self.await_answer(event, True)

    def receive_answer(self, _: object, event: MessageEvent) -> None:
        """An answer."""
        window = self.windows.find_at(event.server, event.time)
        window.count += 1
        if event.error is None or event.error[0] not in _BUSY:
            return
        window.busy += 1
        window.errors[event.error[1]] += 1
        if window.busy >= STORM and SHARE * window.busy >= window.count and not window.is_said:
            window.is_said = True
            errors = ", ".join(f"{count} {name}" for name, count in window.errors.most_common())
            counts = {"busy": window.busy, "all": window.count, "took": event.time - window.begun}
            self.find("busy", server=event.server, errors=errors, **counts)

    on = subscribe_to(_ASKED, (Role.REQUEST,), receive_request) | subscribe_to(
        _ASKED, ANSWERS, for_request(receive_answer)
    )
