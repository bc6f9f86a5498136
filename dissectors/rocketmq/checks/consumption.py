"""Faults of consumers: pulls that come back at once with nothing, and messages that are sent back.

Facts (PullMessageProcessor, DefaultPullMessageResultHandler, PullSysFlag). If a queue has nothing new, a broker delays
the answer to a pull for up to suspendTimeoutMillis if its sysFlag allows it, or for a second if the broker's own long
polling is switched off, and then answers PULL_NOT_FOUND. Without that flag it answers at once. PULL_RETRY_IMMEDIATELY
tells the consumer to go on behind messages that the subscription does not want: nextBeginOffset is a later one.
PULL_OFFSET_MOVED means that the offset does not exist, and names another.

Facts (AbstractSendMessageProcessor.consumerSendMsgBack, DefaultMQPushConsumerImpl.sendMessageBack). A consumer of a
group sends a message back that it could not process, by its offset in the commit log. The broker delivers it again,
later each time, and keeps its first id (originMsgId). At maxReconsumeTimes, 16 by default, or with a delayLevel below
0, it goes to %DLQ%group instead. If sending back fails, the consumer sends it as a new message to %RETRY%group itself.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.correlator import (
    SECOND,
    BoundedTable,
    CountWindow,
    MessageEvent,
    Moment,
    Repeats,
    WindowTable,
    for_request,
)
from dissectors.message import Role
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, PULLS, RocketmqCheck, read_header, subscribe_to
from dissectors.rocketmq.reports.messages import BATCH_SEND, SINGLE_SENDS
from dissectors.slotted import field, make_slotted
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

_NOT_FOUND, _RETRY, _MOVED = 19, 20, 21

_Queue = tuple[int, str, str, int]
"""Connection, group, topic, queue."""


@make_slotted(frozen=False, eq=False)
class _MovedOffset(Repeats):
    """offset: the latest that was not there."""

    offset: int = -1


class _PullRequest(NamedTuple):
    """A pull. offset: where it begins."""

    queue: _Queue
    offset: int
    may_wait: bool
    moment: Moment


class EmptyPulls(RocketmqCheck):
    """Finds pulls that come back at once with nothing, again and again."""

    def _begin(self) -> None:
        self.empty: WindowTable[_Queue, Repeats] = WindowTable(Repeats, WINDOW)
        self.moved: WindowTable[_Queue, _MovedOffset] = WindowTable(_MovedOffset, 6 * WINDOW)

    def receive_pull(self, event: MessageEvent) -> None:
        """Notes the queue and offset of a pull, and whether the broker may hold it."""
        header = read_header(event.values)
        group, topic = text(header, "consumerGroup") or "", text(header, "topic") or ""
        queue = event.stream, group, topic, number(header, "queueId", -1)
        long = number(header, "suspendTimeoutMillis") * 1_000_000 > AT_ONCE
        may_wait = bool(number(header, "sysFlag") & SUSPEND) and long
        self.await_answer(event, _PullRequest(queue, number(header, "queueOffset", -1), may_wait, event.moment))

    def receive_answer(self, pending: _PullRequest, event: MessageEvent) -> None:
        """Notes whether an answer brings messages."""
        code = None if event.error is None else event.error[0]
        if code == _MOVED:
            self.move(pending, event)
        elif code in (_NOT_FOUND, _RETRY):
            self.come_back(pending, event)
        elif code is None:
            self.empty.pop(pending.queue)
            self.moved.pop(pending.queue)

    def come_back(self, pending: _PullRequest, event: MessageEvent) -> None:
        """Counts a pull that found nothing."""
        went_on = number(read_header(event.values), "nextBeginOffset", pending.offset) != pending.offset
        took = pending.moment.measure_until(event)
        if went_on or took is None or took > AT_ONCE:
            return
        repeats = self.empty.find_at(pending.queue, event.time)
        if repeats.add(STORM):
            sentence = "unsuspended" if pending.may_wait else "polling"
            took = event.time - repeats.begun
            self.find(sentence, who=_name_puller(pending.queue, event), count=repeats.count, took=took)

    def move(self, pending: _PullRequest, event: MessageEvent) -> None:
        """Handles an answer that says that the offset does not exist."""
        moved = self.moved.find_at(pending.queue, event.time)
        if pending.offset != moved.offset:
            moved = self.moved[pending.queue] = _MovedOffset(event.time, offset=pending.offset)
        if moved.add(MOVED):
            took = event.time - moved.begun
            self.find(
                "moved", who=_name_puller(pending.queue, event), offset=pending.offset, count=moved.count, took=took
            )

    on = subscribe_to(
        *(PULLS, (Role.REQUEST,), receive_pull, "consumerGroup", "topic", "queueId", "queueOffset", "sysFlag"),
        "suspendTimeoutMillis",
    ) | subscribe_to(PULLS, ANSWERS, for_request(receive_answer), "nextBeginOffset")


def _name_puller(queue: _Queue, event: MessageEvent) -> str:
    return f"{event.client}, group {queue[1]}, {queue[2]}[{queue[3]}]"


RETURN_WINDOW = 60 * SECOND
"""Nanoseconds that are looked at together."""

RETURN_STORM = 100
"""Messages that a group sends back within that time."""

TIMES = 5
"""How often one message is sent back before that is said, and again at each doubling."""

MOST_PLACES = 10_000
"""Messages of a group that are told apart within that time."""

MOST_TIMES = 16
"""maxReconsumeTimes of a group that says nothing of it; below nothing is the same."""

_BACK, _DEAD = "CONSUMER_SEND_MSG_BACK", "%DLQ%"


@make_slotted(frozen=False, eq=False)
class _ReturnWindow(CountWindow):
    """What a group sent back since `begun`. is_reported: whether that was too much already."""

    different: set[str] = field(default_factory=set)
    is_reported: bool = False


class ReturnedMessages(RocketmqCheck):
    """Finds groups that send messages back again and again, and messages that are given up."""

    def _begin(self) -> None:
        self.windows: WindowTable[tuple[str, str], _ReturnWindow] = WindowTable(_ReturnWindow, RETURN_WINDOW)
        self.times: BoundedTable[tuple[str, str, str], list[int]] = BoundedTable(make=lambda: [0, TIMES])
        """By message how often it was sent back, and at which count that is said."""

    def receive_send(self, event: MessageEvent) -> None:
        """Handles a SEND, which may go to the dead-letter topic."""
        topic = text(read_header(event.values), "topic") or ""
        if topic.startswith(_DEAD):
            self.find("dead", group=topic.removeprefix(_DEAD), client=event.client)

    def receive_back(self, event: MessageEvent) -> None:
        """Counts a message that a consumer returns."""
        header = read_header(event.values)
        group = text(header, "group") or ""
        message = text(header, "originMsgId") or f"at {number(header, 'offset')}"
        times = self.times.find((event.server, group, message))
        times[0] += 1
        most = number(header, "maxReconsumeTimes", -1)
        most = most if most >= 0 else MOST_TIMES
        # below 0 it is given up, as the message itself says
        if times[0] == most + 1 and number(header, "delayLevel") >= 0:
            self.find("spent", group=group, message=message, most=most)
        elif times[0] == times[1]:
            times[1] *= 2
            self.find("again", group=group, message=message, count=times[0], most=most)
        window = self.windows.find_at((event.server, group), event.time)
        window.count += 1
        if len(window.different) < MOST_PLACES:
            window.different.add(message)
        if window.count >= RETURN_STORM and not window.is_reported:
            window.is_reported = True
            took, different = event.time - window.begun, len(window.different)
            self.find("storm", group=group, count=window.count, took=took, different=different)

    on = subscribe_to(
        *(_BACK, (Role.REQUEST,), receive_back, "group", "originMsgId", "offset", "maxReconsumeTimes"),
        "delayLevel",
    ) | subscribe_to(f"{SINGLE_SENDS} {BATCH_SEND}", ASKS, receive_send, "topic")
