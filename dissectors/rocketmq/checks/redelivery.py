"""Messages that consumers send back, and those that are put aside.

Facts (AbstractSendMessageProcessor.consumerSendMsgBack, DefaultMQPushConsumerImpl.sendMessageBack). What a consumer of
a group could not process it sends back, by the offset in the commit log; the broker delivers it again, later each
time, and keeps its first id (originMsgId). At maxReconsumeTimes, 16 by default, or with a delayLevel below 0, it goes
to %DLQ%group instead. Where sending back fails, the consumer sends it as a new message to %RETRY%group itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.rocketmq.checks.saying import SECOND, Made, in_header, named, of, said
from dissectors.rocketmq.reports.fields import header
from dissectors.slotted import field, slotted
from dissectors.values import number, text

WINDOW = 60 * SECOND
"""Nanoseconds that are looked at together."""

STORM = 100
"""Messages that a group sends back within that time."""

TIMES = 5
"""How often one message is sent back before that is said, and again at each doubling."""

MOST_PLACES = 10_000
"""Messages of a group that are told apart within that time."""

MOST_TIMES = 16
"""maxReconsumeTimes of a group that says nothing of it; below nothing is the same."""

_BACK, _DEAD = "CONSUMER_SEND_MSG_BACK", "%DLQ%"
_SENDS = ("SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE")


@slotted(frozen=False, eq=False)
class _Window:
    """What a group sent back since `begun`. is_said: whether that was too much already."""

    begun: int = 0
    count: int = 0
    different: set[str] = field(default_factory=set)
    is_said: bool = False


class Redelivery(Check):
    """See the module."""

    wants = of(Role.REQUEST, [_BACK, *_SENDS]) | of(Role.ONEWAY, _SENDS)
    paths = in_header("group", "originMsgId", "offset", "maxReconsumeTimes", "delayLevel", "topic")

    def __init__(self) -> None:
        """Nothing sent back."""
        self._windows: Made[tuple[str, str], _Window] = Made(_Window)
        self._times: Made[tuple[str, str, str], list[int]] = Made(lambda: [0, TIMES])
        """By message how often it was sent back, and at which count that is said."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A message is sent back, or sent to where dead ones lie."""
        told = header(seen.values)
        if named(seen.context.code) == _BACK:
            yield from self._back(text(told, "group") or "", seen)
            return
        topic = text(told, "topic") or ""
        if topic.startswith(_DEAD):
            yield said("dead", group=topic.removeprefix(_DEAD), client=seen.client)

    def _back(self, group: str, seen: Seen) -> Iterator[Finding]:
        told = header(seen.values)
        message = text(told, "originMsgId") or f"at {number(told, 'offset')}"
        times = self._times.of((seen.server, group, message))
        times[0] += 1
        most = number(told, "maxReconsumeTimes", -1)
        most = most if most >= 0 else MOST_TIMES
        if (
            times[0] == most + 1 and number(told, "delayLevel") >= 0
        ):  # below 0 it is given up, as the message itself says
            yield said("spent", group=group, message=message, most=most)
        elif times[0] == times[1]:
            times[1] *= 2
            yield said("again", group=group, message=message, count=times[0], most=most)
        window = self._window((seen.server, group), seen.time)
        window.count += 1
        if len(window.different) < MOST_PLACES:
            window.different.add(message)
        if window.count >= STORM and not window.is_said:
            window.is_said = True
            took, different = seen.time - window.begun, len(window.different)
            yield said("storm", group=group, count=window.count, took=took, different=different)

    def _window(self, key: tuple[str, str], time: int) -> _Window:
        window = self._windows.of(key)
        if not window.count or time - window.begun > WINDOW:
            self._windows.take(key)
            window = self._windows.of(key)
            window.begun = time
        return window
