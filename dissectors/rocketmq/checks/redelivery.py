"""Messages that consumers send back, and those that are put aside.

Facts (AbstractSendMessageProcessor.consumerSendMsgBack, DefaultMQPushConsumerImpl.sendMessageBack). What a consumer of
a group could not process it sends back, by the offset in the commit log; the broker delivers it again, later each
time, and keeps its first id (originMsgId). At maxReconsumeTimes, 16 by default, or with a delayLevel below 0, it goes
to %DLQ%group instead. Where sending back fails, the consumer sends it as a new message to %RETRY%group itself.
"""

from __future__ import annotations

from dissectors.correlator import SECOND, BoundedTable, MessageEvent, Window, WindowTable
from dissectors.message import Role
from dissectors.rocketmq.checks.sentences import RocketmqCheck
from dissectors.rocketmq.reports.fields import ASKS, read_header, subscribe_to
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
_SENDS = "SEND_MESSAGE SEND_MESSAGE_V2 SEND_BATCH_MESSAGE"


@slotted(frozen=False, eq=False)
class _ReturnWindow(Window):
    """What a group sent back since `begun`. is_said: whether that was too much already."""

    different: set[str] = field(default_factory=set)
    is_said: bool = False


class ReturnedMessages(RocketmqCheck):
    """See the module."""

    def _begin(self) -> None:
        self.windows: WindowTable[tuple[str, str], _ReturnWindow] = WindowTable(_ReturnWindow, WINDOW)
        self.times: BoundedTable[tuple[str, str, str], list[int]] = BoundedTable(make=lambda: [0, TIMES])
        """By message how often it was sent back, and at which count that is said."""

    def receive_send(self, event: MessageEvent) -> None:
        """A SEND, perhaps to where dead messages lie."""
        topic = text(read_header(event.values), "topic") or ""
        if topic.startswith(_DEAD):
            self.find("dead", group=topic.removeprefix(_DEAD), client=event.client)

    def receive_back(self, event: MessageEvent) -> None:
        """A message is sent back."""
        said = read_header(event.values)
        group = text(said, "group") or ""
        message = text(said, "originMsgId") or f"at {number(said, 'offset')}"
        times = self.times.find((event.server, group, message))
        times[0] += 1
        most = number(said, "maxReconsumeTimes", -1)
        most = most if most >= 0 else MOST_TIMES
        # below 0 it is given up, as the message itself says
        if times[0] == most + 1 and number(said, "delayLevel") >= 0:
            self.find("spent", group=group, message=message, most=most)
        elif times[0] == times[1]:
            times[1] *= 2
            self.find("again", group=group, message=message, count=times[0], most=most)
        window = self.windows.find_at((event.server, group), event.time)
        window.count += 1
        if len(window.different) < MOST_PLACES:
            window.different.add(message)
        if window.count >= STORM and not window.is_said:
            window.is_said = True
            took, different = event.time - window.begun, len(window.different)
            self.find("storm", group=group, count=window.count, took=took, different=different)

    on = subscribe_to(
        *(_BACK, (Role.REQUEST,), receive_back, "group", "originMsgId", "offset", "maxReconsumeTimes"),
        "delayLevel",
    ) | subscribe_to(_SENDS, ASKS, receive_send, "topic")
