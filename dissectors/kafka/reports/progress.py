"""The report of progress: how far each group has read each partition, and what it has committed.

Facts. A consumer's Fetch names no group, and goes to the partition's leader on another connection than the requests to
the group's coordinator. Client id and host are the same on both, so they connect a fetch with its group. In a fetch
session (KIP-227) a request names only changed partitions, and an answer only those with news, so positions come from
answers: the offset behind the last batch. Consumers may read up to the high watermark; its distance from the position
is the lag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice, repeat
from typing import Any, NamedTuple

from dissectors.correlator import SECOND, BoundedTable, MergedMessages, MessageEvent, merge_by
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    Listed,
    format_counts,
    list_errors,
    list_fetched,
    list_partitions,
    read_error,
    read_replica,
    subscribe_to,
)
from dissectors.message import Role
from dissectors.report import OpenRow, Report, column
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, number, structs, text
from dissectors.wire.row_sentence import RowSentence

Reader = tuple[str | None, str]
"""Client id and host."""

_NO_OFFSET = -1
_OFFSET = ("topics", "partitions", "fetchOffset")
_ERROR, _HIGH_WATERMARK = (("responses", "partitions", name) for name in ("errorCode", "highWatermark"))
_BATCH = tuple(
    ("responses", "partitions", "records", name) for name in ("count", "length", "baseOffset", "lastOffsetDelta")
)
_BEATS = "JoinGroup Heartbeat ConsumerGroupHeartbeat ShareGroupHeartbeat"


class _News(NamedTuple):
    """What an answer to a Fetch says of a partition. base, end: the offset of the first record, and that behind the
    last one; None without any.
    """

    time: int
    records: int
    bytes: int
    base: int | None
    end: int | None
    high_watermark: int


def _read_news(event: MessageEvent, partition: Mapping[str, Any]) -> _News:
    batches = [batch for batch in structs(partition.get("records")) if "count" in batch]
    base = end = None
    if batches:
        base = number(batches[0], "baseOffset")
        end = number(batches[-1], "baseOffset") + number(batches[-1], "lastOffsetDelta") + 1
    records, size = (sum(number(batch, name) for batch in batches) for name in ("count", "length"))
    return _News(event.time, records, size, base, end, number(partition, "highWatermark", _NO_OFFSET))


def _list_news(merged: MergedMessages, partitions: Listed) -> Iterator[Iterable[_News]]:
    """What merged answers say of each of their partitions, in the order of the answers."""
    ends, places, times = iter(merged.list_numbers(_HIGH_WATERMARK)), count(), merged.list_times()
    counts, sizes, bases, deltas = (merged.list_numbers(path) for path in _BATCH)
    nothing: list[int] = [0] * merged.count
    for _, _, each in partitions:
        mine = list(islice(places, len(structs(each.get("records")))))
        records, size = (
            [sum(batches) for batches in zip(*(numbers[place] for place in mine), strict=True)] or nothing
            for numbers in (counts, sizes)
        )
        if mine:
            last = zip(bases[mine[-1]], deltas[mine[-1]], strict=True)
            behind = [base + delta + 1 for base, delta in last]
            yield map(_News, times, records, size, bases[mine[0]], behind, next(ends))
        else:
            yield map(_News, times, records, size, repeat(None), repeat(None), next(ends))


@make_slotted(frozen=False, eq=False)
class ProgressRow(OpenRow):
    """A group, or a client without one, and a partition.

    begun: when it read first, ns since 1970. consumer_row: the last row that names its consumer.
    """

    group: str | None = column("text", "the group; nothing of a client that reads without one")
    topic: str = column("text", "the topic", "")
    partition: int = column("number", "the partition", -1)
    consumer: str | None = column("text", "the client id that read it last")
    readers: int = column("number", "clients that read it", of=lambda row: len(row.clients))
    started: int | None = column("number", "the first position: the offset that it asked for, or of the first batch")
    position: int | None = column("number", "the next offset to read, behind the last batch")
    high_watermark: int | None = column("number", "the end of the partition for consumers, by the last answer")
    lag: int | None = column("number", "records between these", of=lambda row: row.measure_lag())
    first_lag: int | None = column("number", "the first lag that was seen")
    most_lag: int | None = column("number", "the largest")
    fetches: int = column("number", "answers that name the partition", 0)
    records: int = column("number", "records that it got", 0)
    bytes: int = column("number", "bytes of batches that it got, as they are sent", 0)
    records_a_second: int | None = column("number", "records a second", of=lambda row: row.measure_rate(row.records))
    bytes_a_second: int | None = column("number", "bytes a second", of=lambda row: row.measure_rate(row.bytes))
    committed: int | None = column("number", "the offset that was committed last")
    committed_by: str | None = column("text", "the client id that committed it")
    commit_lag: int | None = column(
        "number",
        "records between it and the high watermark",
        of=lambda row: (
            None if row.committed is None or row.high_watermark is None else max(row.high_watermark - row.committed, 0)
        ),
    )
    commit_age_ns: int | None = column(
        *("duration", "how long before the last news of the row it was committed"),
        of=lambda row: None if row.committed_at is None else max(row.last - row.committed_at, 0),
    )
    commits: int = column("number", "commits", 0)
    back: int = column("number", "commits of an offset before the one that was committed last", 0)
    errors: list[str] = column("texts", "errors of fetches and commits", of=lambda row: format_counts(row.failures))
    clients: dict[Reader, None] = field(default_factory=dict)
    committed_at: int | None = None
    begun: int | None = None
    ended: int = 0
    consumer_row: int = -1
    failures: Counter[str] = field(default_factory=Counter)

    most_rows = 16

    def measure_lag(self) -> int | None:
        """Records that are left to read."""
        if self.position is None or self.high_watermark is None:
            return None
        return max(self.high_watermark - self.position, 0)

    def measure_rate(self, amount: int) -> int | None:
        """Returns an amount per second, from the first answer to the last."""
        if self.begun is None or self.ended <= self.begun:
            return None
        return amount * SECOND // (self.ended - self.begun)

    def ask(self, offset: int) -> None:
        """Notes the offset that a Fetch asks for."""
        if offset >= 0:
            self.position = offset
            self.started = offset if self.started is None else self.started

    def advance(self, news: _News) -> None:
        """Notes the answer to a Fetch."""
        self.last = max(self.last, news.time)
        self.fetches += 1
        self.begun, self.ended = self.begun or news.time, news.time
        self.records += news.records
        self.bytes += news.bytes
        if news.end is not None:
            if self.started is None:
                self.started = news.base
            self.position = news.end
        if news.high_watermark >= 0:
            self.high_watermark = news.high_watermark
        lag = self.measure_lag()
        if lag is not None:
            self.first_lag = lag if self.first_lag is None else self.first_lag
            self.most_lag = max(self.most_lag or 0, lag)

    def commit(self, event: MessageEvent, offset: int) -> None:
        """Notes a commit, and whether it goes back."""
        self.commits += 1
        if self.committed is not None and offset < self.committed:
            self.back += 1
            self.note("goes back", event)
        self.committed, self.committed_at, self.committed_by = offset, event.time, event.client_name


class ProgressReport(Report[ProgressRow]):
    """A row for each group and partition; rows stay open until the capture ends."""

    name = "progress"
    about = "each group and partition: position, lag, rates, commits and those that went back"
    needs = KAFKA
    row = ProgressRow
    sentence = RowSentence(
        "{word}: (group {group}|client ({consumer=}|None)), {topic=}[{partition=}](, lag {lag%grouped})"
    )
    worst = ("lag", "back")
    selects = (("topic", "kafka.topic"), ("partition", "kafka.partition"))
    key = ("group", "topic", "partition")

    def _begin(self) -> None:
        self.groups: BoundedTable[Reader, str] = BoundedTable()
        """By client the group that it speaks for."""
        self.news: dict[ProgressRow, list[tuple[int, int | _News]]] = {}
        """What merged messages say: of requests the offset that they ask for, with their rows."""

    def find_reader(self, event: MessageEvent) -> Reader:
        """Returns the consumer on a connection."""
        return event.client_name, host_of(event.client)

    def receive_member(self, event: MessageEvent) -> None:
        """Handles a message of a group's member to its coordinator."""
        group = text(event.values, "groupId")
        if group is not None:
            self.groups[self.find_reader(event)] = group

    # ---- fetching

    def receive_fetch(self, event: MessageEvent) -> None:
        """Notes the positions in a Fetch of a consumer; Fetches of followers are ignored."""
        if read_replica(event.values) >= 0:
            return
        reader = self.find_reader(event)
        self.await_answer(event, reader)
        group = self.groups.get(reader)
        for name, index, each in list_partitions(event, event.values.get("topics"), index="partition"):
            row = self.find_row(event, group, name, index, reader)
            if row is not None:
                row.ask(number(each, "fetchOffset", _NO_OFFSET))

    def receive_fetches(self, merged: MergedMessages) -> None:
        """Handles many requests at once of consumers for the same partitions."""
        event = merged.first
        reader = self.find_reader(event)
        self.await_answers(merged, reader)
        rows, group = merged.list_rows(), self.groups.get(reader)
        partitions = list_partitions(event, event.values.get("topics"), index="partition")
        for (name, index, _), sought in zip(partitions, merged.list_numbers(_OFFSET), strict=True):
            row = self.find_row(event, group, name, index, reader, merged.last_row)
            if row is not None:
                self.add_news(row, zip(rows, sought, strict=True))

    def receive_fetched(self, event: MessageEvent) -> None:
        """Handles the answer to a consumer's Fetch."""
        reader = self.take_request(event)
        if reader is None:
            return
        group = self.groups.get(reader)
        for topic, partition, each in list_fetched(event):
            row = self.find_row(event, group, topic, partition, reader)
            error = read_error(each)
            if row is None:
                continue
            if error is None:
                row.advance(_read_news(event, each))
            else:
                row.failures[error] += 1
                row.note("error", event)

    def receive_all_fetched(self, merged: MergedMessages) -> None:
        """Handles many answers at once without an error, with as many batches each."""
        reader = self.take_requests(merged)
        if reader is None:
            return
        group, rows, event = self.groups.get(reader), merged.list_rows(), merged.first
        partitions = list_fetched(event)
        for (topic, partition, _), news in zip(partitions, _list_news(merged, partitions), strict=True):
            row = self.find_row(event, group, topic, partition, reader, merged.last_row)
            if row is not None:
                self.add_news(row, zip(rows, news, strict=True))

    def add_news(self, row: ProgressRow, news: Iterable[tuple[int, int | _News]]) -> None:
        """Keeps what many messages say of a partition until all is known that they stand between."""
        self.news.setdefault(row, []).extend(news)

    def settle(self) -> None:
        """Takes positions and answers in the order of rows."""
        for row, news in self.news.items():
            news.sort(key=lambda numbered: numbered[0])
            for _, each in news:
                if isinstance(each, int):
                    row.ask(each)
                else:
                    row.advance(each)
        self.news.clear()

    def find_row(
        self,
        event: MessageEvent,
        group: str | None,
        topic: str | None,
        partition: int,
        reader: Reader,
        last: int | None = None,
    ) -> ProgressRow | None:
        """Returns the row of a group, or of a client without one, and a partition.

        last: the last row of merged messages.
        """
        if not topic:
            return None
        key = group, topic, partition, reader if group is None else None
        row = self.rows.get(key)
        if row is None:
            row = self.find(key, event)
            row.add("reads", event.row)
        if reader not in row.clients and len(row.clients) < self.limit:
            row.clients[reader] = None
        at = event.row if last is None else last
        if at > row.consumer_row:
            row.consumer_row, row.consumer = at, event.client_name
        return row

    # ---- committing

    def receive_commit(self, event: MessageEvent) -> None:
        """Notes an OffsetCommit, or a TxnOffsetCommit, whose offsets count when the transaction is committed."""
        group = text(event.values, "groupId")
        if group is None:
            return
        reader = self.find_reader(event)
        self.groups[reader] = group
        self.await_answer(event, group)
        for name, index, each in list_partitions(event, event.values.get("topics")):
            row = self.find_row(event, group, name, index, reader)
            offset = number(each, "committedOffset", _NO_OFFSET)
            if row is not None and offset >= 0:
                row.hear(event)
                row.commit(event, offset)

    def receive_committed(self, event: MessageEvent) -> None:
        """Handles the answer: what was refused."""
        group = self.take_request(event)
        for name, index, each in list_partitions(event, event.values.get("topics") if group is not None else None):
            error = read_error(each)
            row = self.rows.get((group, name, index, None)) if error else None
            if row is not None and error is not None:
                row.failures[error] += 1
                row.note("refused", event)

    def receive_offsets(self, event: MessageEvent) -> None:
        """Handles the answer to OffsetFetch: the offsets from which the group continues."""
        for each in structs(event.values.get("groups")):
            group = text(each, "groupId")
            for name, index, partition in list_partitions(event, each.get("topics") if group is not None else None):
                offset = number(partition, "committedOffset", _NO_OFFSET)
                if offset >= 0 and name:
                    row = self.find((group, name, index, None), event)
                    row.committed = offset if row.committed is None else row.committed

    on = (
        subscribe_to(_BEATS, REQUESTS, receive_member, "groupId")
        | subscribe_to(
            *(
                "Fetch",
                REQUESTS,
                receive_fetch,
                "replicaId",
                "replicaState",
                ("topics", "topic"),
                ("topics", "topicId"),
            ),
            *(("topics", "partitions", "partition"), _OFFSET),
            merge=merge_by(receive_fetches, numbers=(_OFFSET,), quiet={("replicaId",): -1}),
        )
        | subscribe_to(
            *("Fetch", ANSWERS, receive_fetched, ("responses", "topic"), ("responses", "topicId")),
            *(("responses", "partitions", "partitionIndex"), _ERROR, _HIGH_WATERMARK, *_BATCH),
            merge=merge_by(receive_all_fetched, numbers=(_HIGH_WATERMARK, *_BATCH), quiet={_ERROR: 0}),
        )
        | subscribe_to("OffsetCommit TxnOffsetCommit", REQUESTS, receive_commit, "groupId", "topics")
        | subscribe_to("OffsetCommit TxnOffsetCommit", ANSWERS, receive_committed, "topics")
        | subscribe_to("OffsetFetch", ANSWERS, receive_offsets, "groups")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a row may mention a message: its first fetch, errors, commits that go back."""
        return operation in ("OffsetCommit", "TxnOffsetCommit") or any(list_errors(values))
