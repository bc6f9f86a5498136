"""The story of queues: how far each group has read them, who read, and what came of its pulls.

Facts (PullMessageProcessor, PullRequestHoldService, PullSysFlag, PopMessageProcessor). A consumer of a queue pulls from
queueOffset on and is told nextBeginOffset, where to go on, and the queue's minOffset and maxOffset, which is one beyond
the last message. A pull may say how far the group has come (commitOffset, with a flag in sysFlag); else the client
says so every 5 s (UPDATE_CONSUMER_OFFSET). A pull that finds nothing is held for up to suspendTimeoutMillis where its
flag allows it: that is waiting for messages, not slowness. What is popped has no offset that a client keeps: the broker
chooses the queue (-1), and restNum is how many messages it has left.

Estimates. The lag is maxOffset of the latest answer less the offset that was committed last, or pulled to where none
was; after that answer more may have come. An answer that was allowed to wait, and took longer than HELD, was held: from
the store it takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import REPORTED, Column, Ends, MessageEvent, ReportRow, said_of
from dissectors.remembered import Remembered
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, number, of, text
from dissectors.rocketmq.reports.lines import Line, LineStory, add_name
from dissectors.slotted import field, slotted
from dissectors.wire.amounts import count_text

HELD = 100_000_000
"""Nanoseconds: see the module."""

MAY_WAIT, COMMITS = 2, 1
"""Of a pull's sysFlag (PullSysFlag)."""

_PULLS, _POPS = ("PULL_MESSAGE", "LITE_PULL_MESSAGE"), ("POP_MESSAGE", "POP_LITE_MESSAGE")
_COMMIT, _QUERY = "UPDATE_CONSUMER_OFFSET", "QUERY_CONSUMER_OFFSET"
_EMPTY = {19: "empty", 20: "retry", 21: "moved", 209: "full", 210: "empty"}
"""Response codes that say that there is nothing to be had now, and what is counted."""

_Key = tuple[str, str, str, int]
"""Broker, group, topic, queue."""


@slotted(frozen=False, eq=False)
class _Queue(Line):
    """Offsets are None where nobody told them. client: who pulled last; clients: all who did.

    counts: of answers, by what came of them. waiting: pulls without an answer. held, longest: answers that were held,
    and the longest of these, ns; slowest: ns of an answer that was not.
    """

    key: _Key = ("", "", "", -1)
    asked: int = 0
    begun: int | None = None
    pulled: int | None = None
    committed: int | None = None
    least: int | None = None
    most: int | None = None
    rest: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    held: int = 0
    longest: int | None = None
    slowest: int | None = None
    commits: int = 0
    back: int = 0
    client: str | None = None
    clients: dict[str, None] = field(default_factory=dict)
    turns: int = 0
    error: str | None = None

    def count(self, what: str) -> None:
        """One more of something."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def commit(self, offset: int) -> None:
        """The group has come so far."""
        self.commits += 1
        self.back += self.committed is not None and offset < self.committed
        self.committed = offset

    @property
    def lag(self) -> int | None:
        """See the module."""
        reached = self.pulled if self.committed is None else self.committed
        if self.most is None or reached is None:
            return self.rest
        return max(self.most - reached, 0)


class Queues(LineStory[_Key, _Queue]):
    """See the module."""

    name = "queues"
    about = "each queue that a group reads: how far it has come, who pulls, and what came of its pulls and pops"
    needs = ROCKETMQ
    columns = (
        Column("topic", "text", "the queue's"),
        Column("queue", "number", "its number; -1 where the broker chooses one, as it does for pops"),
        Column("group", "text", "who reads it"),
        Column(
            "lag", "number", "messages that the group has not committed, or not pulled; of pops what the broker says"
        ),
        Column("committed", "number", "the offset that was committed last, or that the broker said it knows"),
        Column("pulled", "number", "where the next pull begins, by the latest answer"),
        Column("end", "number", "maxOffset of the latest answer: one beyond the last message"),
        Column("asked", "number", "pulls and pops"),
        Column("found", "number", "answers with messages"),
        Column("empty", "number", "answers that there is nothing new (PULL_NOT_FOUND, POLLING_TIMEOUT)"),
        Column(
            "held", "number", "answers that the broker held until there was something, or time was up (an estimate)"
        ),
        Column("longest_held_ns", "duration", "the longest of these"),
        Column("slowest_ns", "duration", "of the others"),
        Column("waiting", "number", "pulls and pops without an answer"),
        Column("retry", "number", "answers to go on behind messages that nobody wants (PULL_RETRY_IMMEDIATELY)"),
        Column("moved", "number", "answers that the offset is not there (PULL_OFFSET_MOVED)"),
        Column("full", "number", "pops that the broker could not hold (POLLING_FULL)"),
        Column("failed", "number", "answers with another error"),
        Column("error", "text", "the latest of these"),
        Column("commits", "number", "how often an offset was committed"),
        Column("back", "number", "of these to an earlier one"),
        Column("begin", "number", "where the first pull began"),
        Column("start", "number", "minOffset of the latest answer"),
        Column("turns", "number", "how often another client pulled than before"),
        Column("clients", "texts", "addresses that pulled"),
        Column("server", "text", "the broker's address"),
    )
    wants: ClassVar = {
        **of(_PULLS, ASKS, "consumerGroup", "topic", "queueId", "queueOffset", "commitOffset", "sysFlag"),
        **of(_PULLS, ANSWERS, REPORTED, *(("header", name) for name in ("nextBeginOffset", "minOffset", "maxOffset"))),
        **of(_POPS, ASKS, "consumerGroup", "topic", "queueId", "pollTime"),
        **of(_POPS, ANSWERS, REPORTED, "restNum"),
        **of([_COMMIT], ASKS, "consumerGroup", "topic", "queueId", "commitOffset"),
        **of([_QUERY], ASKS, "consumerGroup", "topic", "queueId"),
        **of([_QUERY], ANSWERS, REPORTED, "offset"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._asked: Remembered[int, tuple[_Queue, int, bool]] = Remembered()
        """By row of a request its line, when it was, and whether it may be held."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """A request, or its answer."""
        if told.context.role is not Role.RESPONSE:
            self._ask(told)
            return self.given()
        asked = self._asked.take(told.partner)
        if asked is not None:
            self._answered(*asked, told)
        return ()

    def made(self, key: _Key, told: MessageEvent) -> _Queue:
        """See LineStory."""
        return _Queue(told.time, told.time, key=key)

    def _ask(self, told: MessageEvent) -> None:
        values, name = header(told.values), told.operation
        group, topic = text(values, "consumerGroup"), text(values, "topic")
        if group is None or topic is None:
            return
        client, server = self.ends(told.stream)
        line = self.line((server, group, topic, number(values, "queueId", -1)), told)
        if name == _COMMIT:
            line.note("commits", told)
            line.commit(number(values, "commitOffset"))
        elif name != _QUERY:
            self._pull(line, client, values, told)
        if told.partner is not None:
            may_wait = number(values, "sysFlag") & MAY_WAIT > 0 or number(values, "pollTime") > 0
            self._asked.keep(told.row, (line, told.time, may_wait))

    @staticmethod
    def _pull(line: _Queue, client: str, values: Mapping[str, Any], told: MessageEvent) -> None:
        if line.client != client:
            line.turns += line.client is not None
            line.client = client
            add_name(line.clients, client)
            line.note("pulls", told)
        line.asked += 1
        if line.begun is None and told.operation in _PULLS:
            line.begun = number(values, "queueOffset")
        if number(values, "sysFlag") & COMMITS:
            line.commit(number(values, "commitOffset"))
        line.count("waiting")

    def _answered(self, line: _Queue, asked: int, may_wait: bool, told: MessageEvent) -> None:
        values = header(told.values)
        line.heard(told)
        if told.operation == _QUERY:
            if told.error is None and isinstance(values.get("offset"), int):
                line.committed = number(values, "offset")
            return
        if told.operation == _COMMIT:
            line.error = line.error if told.error is None else told.error[1]
            return
        line.counts["waiting"] -= 1
        what = "found" if told.error is None else _EMPTY.get(told.error[0], "failed")
        self._timed(line, told.time - asked, may_wait and what != "failed")
        line.count(what)
        if what in ("moved", "failed"):
            line.note(what, told)
        if what == "failed" and told.error is not None:
            line.error = told.error[1]
            return
        line.pulled = _known(values, "nextBeginOffset", line.pulled)
        line.least, line.most = _known(values, "minOffset", line.least), _known(values, "maxOffset", line.most)
        line.rest = _known(values, "restNum", line.rest)

    @staticmethod
    def _timed(line: _Queue, took: int, may_wait: bool) -> None:
        if may_wait and took > HELD:
            line.held += 1
            line.longest = max(line.longest or 0, took)
        else:
            line.slowest = max(line.slowest or 0, took)

    def entry(self, line: _Queue) -> ReportRow:
        """See LineStory."""
        server, group, topic, queue = line.key
        counts = {name: line.counts.get(name, 0) for name in ("found", "empty", "waiting", "retry", "moved", "full")}
        values = (
            topic,
            queue,
            group,
            line.lag,
            line.committed,
            line.pulled,
            line.most,
            line.asked,
            counts["found"],
            counts["empty"],
            line.held,
            line.longest,
            line.slowest,
            counts["waiting"],
            counts["retry"],
            counts["moved"],
            counts["full"],
            line.counts.get("failed", 0),
            line.error,
            line.commits,
            line.back,
            line.begun,
            line.least,
            line.turns,
            list(line.clients),
            server,
        )
        return ReportRow(values, tuple(line.rows), line.first, line.last)

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Lines name requests, and answers that something is wrong; see OldReport."""
        return operation != _QUERY

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        lag = "" if said["lag"] is None else f", {count_text(said['lag'], 'message')} behind"
        committed = "" if said["committed"] is None else f", committed up to {said['committed']}"
        turns = f", pulled by {count_text(len(said['clients']), 'client')}" if said["turns"] else ""
        return f"{word} {said['topic']}[{said['queue']}] for group {said['group']}{committed}{lag}{turns}"


def _known(values: Mapping[str, Any], name: str, before: int | None) -> int | None:
    found = values.get(name)
    return found if isinstance(found, int) else before
