"""The report of queues: how far each group has read them, who read, and what came of its pulls.

Facts (PullMessageProcessor, PullRequestHoldService, PullSysFlag, PopMessageProcessor). A consumer of a queue pulls from
queueOffset on. The answer has nextBeginOffset, where to continue, and the queue's minOffset and maxOffset, which is one
beyond the last message. A pull may carry the group's committed offset (commitOffset, with a flag in sysFlag); otherwise
the client sends it every 5 s (UPDATE_CONSUMER_OFFSET). The broker delays the answer to a pull that finds nothing for up
to suspendTimeoutMillis if its flag allows it: that is waiting for messages, not slowness. A popping client keeps no
offset: the broker chooses the queue (-1), and restNum is the number of messages left.

Estimates. The lag is maxOffset of the latest answer minus the last committed offset, or the pulled offset if none was
committed; after that answer more messages may have come. An answer that was allowed to wait, and took longer than HELD,
was delayed on purpose: from the store it takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dissectors.correlator import MessageEvent, for_request
from dissectors.report import REPORTED, Report, add_name, column
from dissectors.rocketmq.reports.fields import (
    ANSWERS,
    ASKS,
    POPS,
    PULLS,
    ROCKETMQ,
    OngoingRow,
    read_header,
    subscribe_to,
)
from dissectors.slotted import make_slotted
from dissectors.values import number, text
from dissectors.wire.row_sentence import RowSentence

LONG_POLL_NS = 100_000_000
"""Nanoseconds: see the module."""

MAY_WAIT, COMMITS = 2, 1
"""Of a pull's sysFlag (PullSysFlag)."""

_COMMIT, _QUERY = "UPDATE_CONSUMER_OFFSET", "QUERY_CONSUMER_OFFSET"
_EMPTY = {19: "empty", 20: "retry", 21: "moved", 209: "full", 210: "empty"}
"""Response codes that say that there is nothing to be had now, and what is counted."""

_QUEUE = ("consumerGroup", "topic", "queueId")

_Key = tuple[str, str, str, int]
"""Broker, group, topic, queue."""


@make_slotted(frozen=False, eq=False)
class QueueRow(OngoingRow):
    """A queue that a group reads. Offsets are None while no message has them. client: who pulled last.

    rest: messages that a broker has left.
    """

    topic: str = column("text", "the queue's", "")
    queue: int = column("number", "its number; -1 where the broker chooses one, as it does for pops", -1)
    group: str = column("text", "who reads it", "")
    lag: int | None = column(
        *("number", "messages that the group has not committed, or not pulled; of pops what the broker says"),
        of=lambda row: row.behind,
    )
    committed: int | None = column("number", "the offset that was committed last, or that the broker said it knows")
    pulled: int | None = column("number", "where the next pull begins, by the latest answer")
    end: int | None = column("number", "maxOffset of the latest answer: one beyond the last message")
    asked: int = column("number", "pulls and pops", 0)
    found: int = column("number", "answers with messages", 0)
    empty: int = column("number", "answers that there is nothing new (PULL_NOT_FOUND, POLLING_TIMEOUT)", 0)
    held: int = column(
        "number", "answers that the broker held until there was something, or time was up (an estimate)", 0
    )
    longest_held_ns: int | None = column("duration", "the longest of these")
    slowest_ns: int | None = column("duration", "of the others")
    waiting: int = column("number", "pulls and pops without an answer", 0)
    retry: int = column("number", "answers to go on behind messages that nobody wants (PULL_RETRY_IMMEDIATELY)", 0)
    moved: int = column("number", "answers that the offset is not there (PULL_OFFSET_MOVED)", 0)
    full: int = column("number", "pops that the broker could not hold (POLLING_FULL)", 0)
    failed: int = column("number", "answers with another error", 0)
    error: str | None = column("text", "the latest of these")
    commits: int = column("number", "how often an offset was committed", 0)
    back: int = column("number", "of these to an earlier one", 0)
    begin: int | None = column("number", "where the first pull began")
    start: int | None = column("number", "minOffset of the latest answer")
    turns: int = column("number", "how often another client pulled than before", 0)
    clients: dict[str, None] = column("texts", "addresses that pulled", default_factory=dict)
    server: str = column("text", "the broker's address", "")
    rest: int | None = None
    client: str | None = None

    def commit(self, offset: int) -> None:
        """Notes the offset that the group has reached."""
        self.commits += 1
        self.back += self.committed is not None and offset < self.committed
        self.committed = offset

    def time(self, took: int, *, may_wait: bool) -> None:
        """Adds the latency of an answer."""
        if may_wait and took > LONG_POLL_NS:
            self.held += 1
            self.longest_held_ns = max(self.longest_held_ns or 0, took)
        else:
            self.slowest_ns = max(self.slowest_ns or 0, took)

    @property
    def behind(self) -> int | None:
        """The lag; see the module."""
        reached = self.pulled if self.committed is None else self.committed
        if self.end is None or reached is None:
            return self.rest
        return max(self.end - reached, 0)


class _QueueRequest(NamedTuple):
    """A request: its row, when it was, and whether it may be held."""

    row: QueueRow
    time: int
    may_wait: bool


class QueueReport(Report[QueueRow]):
    """The report of queues: one row for each queue that a group reads."""

    name = "queues"
    about = "each queue that a group reads: how far it has come, who pulls, and what came of its pulls and pops"
    needs = ROCKETMQ
    row = QueueRow
    sentence = RowSentence(
        "{word} {topic=}[{queue=}] for group {group=}(, committed up to {committed=})"
        "(, {lag%counted message} behind)({?turns: , pulled by {clients%counted client}})"
    )
    worst = ("lag", "failed", "slowest_ns")
    selects = (("topic", "rocketmq.topic"), ("queue", "rocketmq.queue"), ("server", "address"))
    key = ("server", "group", "topic", "queue")
    unnamed = (_QUERY,)

    def receive_request(self, event: MessageEvent) -> None:
        """Counts a pull, pop, commit or query of a queue."""
        values, name = read_header(event.values), event.operation
        group, topic = text(values, "consumerGroup"), text(values, "topic")
        if group is None or topic is None:
            return
        row = self.find((event.server, group, topic, number(values, "queueId", -1)), event)
        if name == _COMMIT:
            row.note("commits", event)
            row.commit(number(values, "commitOffset"))
        elif name != _QUERY:
            _count_pull(row, event.client, values, event)
        may_wait = number(values, "sysFlag") & MAY_WAIT > 0 or number(values, "pollTime") > 0
        self.await_answer(event, _QueueRequest(row, event.time, may_wait))

    def receive_offset(self, pending: _QueueRequest, event: MessageEvent) -> None:
        """Handles the answer to a query."""
        pending.row.hear(event)
        offset = read_header(event.values).get("offset")
        if event.error is None and isinstance(offset, int):
            pending.row.committed = offset

    def receive_messages(self, pending: _QueueRequest, event: MessageEvent) -> None:
        """Handles the answer to a pull or pop."""
        row, values = pending.row, read_header(event.values)
        row.hear(event)
        row.waiting -= 1
        what = "found" if event.error is None else _EMPTY.get(event.error[0], "failed")
        row.time(event.time - pending.time, may_wait=pending.may_wait and what != "failed")
        setattr(row, what, getattr(row, what) + 1)
        if what in ("moved", "failed"):
            row.note(what, event)
        if what == "failed" and event.error is not None:
            row.error = event.error[1]
            return
        row.pulled = _read_or_keep(values, "nextBeginOffset", row.pulled)
        row.start, row.end = _read_or_keep(values, "minOffset", row.start), _read_or_keep(values, "maxOffset", row.end)
        row.rest = _read_or_keep(values, "restNum", row.rest)

    on = (
        subscribe_to(PULLS, ASKS, receive_request, *_QUEUE, "queueOffset", "commitOffset", "sysFlag")
        | subscribe_to(
            *(PULLS, ANSWERS, for_request(receive_messages), REPORTED, "nextBeginOffset", "minOffset", "maxOffset"),
        )
        | subscribe_to(POPS, ASKS, receive_request, *_QUEUE, "pollTime")
        | subscribe_to(POPS, ANSWERS, for_request(receive_messages), REPORTED, "restNum")
        | subscribe_to(_COMMIT, ASKS, receive_request, *_QUEUE, "commitOffset")
        | subscribe_to(_QUERY, ASKS, receive_request, *_QUEUE)
        | subscribe_to(_QUERY, ANSWERS, for_request(receive_offset), REPORTED, "offset")
    )


def _count_pull(row: QueueRow, client: str, values: Mapping[str, Any], event: MessageEvent) -> None:
    """A pull or pop."""
    if row.client != client:
        row.turns += row.client is not None
        row.client = client
        add_name(row.clients, client)
        row.note("pulls", event)
    row.asked += 1
    if row.begin is None and (event.operation or "") in PULLS.split():
        row.begin = number(values, "queueOffset")
    if number(values, "sysFlag") & COMMITS:
        row.commit(number(values, "commitOffset"))
    row.waiting += 1


def _read_or_keep(values: Mapping[str, Any], name: str, before: int | None) -> int | None:
    found = values.get(name)
    return found if isinstance(found, int) else before
