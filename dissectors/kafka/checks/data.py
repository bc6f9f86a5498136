"""Checks that need several messages: producers' sequence numbers, fetch sessions, record times.

Facts about sequence numbers (KIP-98). A producer with an id numbers the records of each partition from 0, anew with
each epoch. A batch carries the number of its first record, and numbers restart at 0 after 2^31 - 1. The broker
remembers the last five batches of each producer and partition. It answers a repeated one as before and does not write
it again; it refuses one that leaves a gap as OUT_OF_ORDER_SEQUENCE_NUMBER.

A batch that was refused as too large comes again in parts, the first of which has the number of the whole.

A capture may begin in the middle, may have lost requests, and may hold several clusters, all of which count producers
from 0. So each server is examined separately, and the first batch of a partition there is accepted as it is. A gap is
not the producer's fault if bytes are missing, if the connection is another one, or if the producer has written to the
partition at another server in between.

Facts about fetch sessions (KIP-227). A fetch with session id 0 and epoch 0 asks for a session. The answer names it, or
has id 0 if the broker has no room for another (max.incremental.fetch.session.cache.slots); then each fetch names all
its partitions again. In a session the epoch counts 1, 2, ... and restarts at 1 after 2^31 - 1; epoch -1 ends it. A
fetch out of step is answered by INVALID_FETCH_SESSION_EPOCH. An answer with any error leaves the session unchanged.

Facts about times. A record's time is milliseconds since 1970, set by the producer (CreateTime). From 3.6 on a broker
refuses times that are more than an hour ahead of its own clock (message.timestamp.after.max.ms, KIP-937). Old times are
legal, since data may be copied, but retention by time deletes such records. -1 is no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.check import Check
from dissectors.correlator import (
    ANSWERS_OF_IGNORED,
    BoundedTable,
    MessageEvent,
    NumberedKey,
    for_request,
    merge_by,
)
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports.fields import ANSWERS, REQUESTS, subscribe_to
from dissectors.slotted import field, make_slotted
from dissectors.values import structs

_DATA = "topicData"
_WHERE = ((_DATA, "name"), (_DATA, "topicId"), (_DATA, "partitionData", "index"))
"""The fields that tell topic and partition."""

_RECORDS = (_DATA, "partitionData", "records")
"""The path to a batch."""


class ProducedBatch(NamedTuple):
    """A batch, or a message of the formats before batches, on its way into a partition; `topic` is a name or an id."""

    topic: str
    partition: int
    batch: Mapping[str, Any]
    by_id: bool

    def place(self, event: MessageEvent) -> str:
        """Formats as `topic[partition]` for people, with the topic's name."""
        known = event.resolve_name("topic", self.topic) if self.by_id else None
        return f"{known or self.topic}[{self.partition}]"


def iterate_batches(values: Mapping[str, Any]) -> Iterator[ProducedBatch]:
    """Yields the entries of all partitions, as far as they could be read."""
    for topic in structs(values.get(_DATA)):
        name = topic.get("name", topic.get("topicId"))
        for partition in structs(topic.get("partitionData")) if isinstance(name, str) else ():
            index = partition.get("index")
            if index is not None:
                for entry in structs(partition.get("records")):
                    yield ProducedBatch(name, index, entry, "name" not in topic)


REMEMBERED = 5
"""Batches of a producer in a partition that the broker, and we, know again."""

MOST_PRODUCERS = 100_000
"""Producers and partitions that are remembered."""

_NUMBERS = 1 << 31

_Key = tuple[str, int, str, int]
"""Server, producer, topic and partition."""


@make_slotted(frozen=False, eq=False)
class _Written:
    """Of a producer in a partition: its epoch, the number of its next record, (first, count) of its last batches.

    began: the number from which on all batches are known; `source`: connection and losses (Seen) of the last.
    """

    key: _Key
    epoch: int
    began: int
    following: int
    source: tuple[int, int]
    last: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def begin(self, first: int) -> None:
        """Accepts the next batch without a comparison, and forgets the earlier ones."""
        self.began = self.following = first
        self.last.clear()


class SequenceCheck(Check):
    """Finds batches of idempotent producers that come twice, and gaps between batches (KIP-98)."""

    def _begin(self) -> None:
        self.written: BoundedTable[_Key, _Written] = BoundedTable(MOST_PRODUCERS, evict=self.forget)
        self.latest: dict[tuple[int, str, int], str] = {}
        """The server that a producer has last written a partition at, if it has been at one of `written`."""

    def forget(self, written: _Written) -> None:
        """Forgets a producer's partition, which was evicted."""
        self.latest.pop(written.key[1:], None)

    def receive_produce(self, event: MessageEvent) -> None:
        """Batches with the number of one before them, or with a number beyond the one that is next."""
        for each in iterate_batches(event.values):
            batch = each.batch
            producer, first, count = (batch.get(name, -1) for name in ("producerId", "baseSequence", "count"))
            if producer >= 0 and first >= 0 and count > 0:
                self.add(event, each, producer, first, count)

    def add(self, event: MessageEvent, each: ProducedBatch, producer: int, first: int, count: int) -> None:
        """Compares one batch with the earlier batches of its producer, and reports what does not fit."""
        epoch = each.batch.get("producerEpoch", 0)
        what, source = (producer, each.topic, each.partition), (event.stream, event.losses)
        key = event.server, *what
        known = self.written.get(key)
        if known is None:
            known = self.written[key] = _Written(key, epoch, first, first, source)
        self.written.renew(key)
        whole = source == known.source and self.latest.get(what) == event.server
        finding = _compare_sequence(known, epoch, first, count, whole)
        known.source = source
        self.latest[what] = event.server
        if finding is not None:
            severity, code, text = finding
            who = _format_producer(event, producer)
            self.emit(Finding(severity, code, f"{each.place(event)}: {who}, epoch {epoch}, {text}"))

    on = subscribe_to(
        *("Produce", REQUESTS, receive_produce, *_WHERE),
        *((*_RECORDS, name) for name in ("producerId", "producerEpoch", "baseSequence", "count")),
        merge=merge_by(None, quiet={(*_RECORDS, "producerId"): -1}),
    )


def _compare_sequence(
    known: _Written, epoch: int, first: int, count: int, whole: bool
) -> tuple[Severity, str, str] | None:
    """What is wrong with a batch behind those that are known, which it joins. whole: none can have come in between."""
    if epoch < known.epoch:
        return Severity.WARNING, "fenced-producer", f"writes behind epoch {known.epoch}: it is fenced off"
    finding = None
    if epoch > known.epoch:
        known.epoch = epoch
        known.begin(first)
        if first and whole:
            finding = f"begins with sequence {first}, and an epoch begins with 0"
    elif (first, count) in known.last:
        return Severity.NOTE, "duplicate-sequence", f"sends sequence {first} again: a retry"
    elif first != known.following:
        ahead = (first - known.following) % _NUMBERS
        if any(first == each and count < size for each, size in known.last):
            known.last.append((first, count))
            known.following = (first + count) % _NUMBERS
            return Severity.NOTE, "duplicate-sequence", f"sends sequence {first} again, in a smaller batch"
        if ahead < _NUMBERS // 2:
            finding = f"skips {ahead} records: sequence {first} where {known.following} is next" if whole else None
        elif _NUMBERS - ahead <= (known.following - known.began) % _NUMBERS:
            back = f"goes back {_NUMBERS - ahead} records"
            finding = f"{back}: sequence {first} where {known.following} is next"
        known.begin(first)
    known.following = (first + count) % _NUMBERS
    known.last.append((first, count))
    return None if finding is None else (Severity.WARNING, "out-of-order-sequence", finding)


def _format_producer(event: MessageEvent, producer: int) -> str:
    """A producer for people, with its transaction where that is known."""
    name = event.resolve_name("producer", str(producer))
    return f"producer {producer}{f' ({name})' if name else ''}"


MOST_SESSIONS = 100_000
"""Sessions that are remembered."""

_OPENING = 0, 0
"""Session and epoch of a request for a session."""

_LAST = (1 << 31) - 1


class FetchSessionCheck(Check):
    """Finds fetch sessions (KIP-227) that a client uses out of step."""

    def _begin(self) -> None:
        self.epochs: BoundedTable[NumberedKey, tuple[int, int]] = BoundedTable(MOST_SESSIONS)
        """By connection and session the epoch that is next, and the losses of who said so."""
        self.without: BoundedTable[int, bool] = BoundedTable()
        """Connections whose broker gives no session."""

    def receive_fetch(self, event: MessageEvent) -> None:
        """Checks that the epoch of a Fetch is the next one of its session (KIP-227)."""
        session, epoch = event.values.get("sessionId", 0), event.values.get("sessionEpoch")
        if (session, epoch) == _OPENING:
            self.await_answer(event, _OPENING)
        if not session or epoch is None:
            return
        if epoch <= 0:
            self.epochs.pop((event.stream, session))
            return
        expected, losses = self.epochs.get((event.stream, session)) or (epoch, event.losses)
        if epoch != expected and losses == event.losses:  # else the capture may lack what came between
            self.warn("fetch-session", f"session {session} is used with epoch {epoch} where {expected} is next")
        self.remember(event, session, 1 if epoch == _LAST else epoch + 1)

    def receive_answer(self, _: object, event: MessageEvent) -> None:
        """Handles an answer to Fetch, which opens a session or not."""
        session = event.values.get("sessionId")
        if event.values.get("errorCode") or session is None:
            return
        if session:
            self.remember(event, session, 1)
        elif event.stream not in self.without:
            self.without[event.stream] = True
            text = "the broker gives no fetch session, its cache of them may be full: each fetch names all partitions"
            self.note("fetch-session", text)

    def remember(self, event: MessageEvent, session: int, epoch: int) -> None:
        """Notes the epoch that the next fetch of a session must have."""
        self.epochs[event.stream, session] = epoch, event.losses
        self.epochs.renew((event.stream, session))

    on = subscribe_to(
        *("Fetch", REQUESTS, receive_fetch, "sessionId", "sessionEpoch"),
        merge=merge_by(None, quiet={("sessionId",): 0, ("sessionEpoch",): -1}),
    ) | subscribe_to(
        *("Fetch", ANSWERS, for_request(receive_answer), "sessionId", "errorCode"), merge=ANSWERS_OF_IGNORED
    )


_HOUR = 3_600_000
_DAY = 24 * _HOUR
AHEAD, BEHIND = _HOUR, 7 * _DAY
"""Milliseconds from the capture's time on that are worth saying: the broker's bound, and the usual retention."""

_NS = 1_000_000


def _is_near(written: Any, time: Any) -> Any:
    """Whether times in ms are near those of messages in ns, all one or all columns."""
    now = time // _NS
    return (written >= 0) & (now - written <= BEHIND) & (written - now <= AHEAD)


class ClockCheck(Check):
    """Finds records whose time is far from the time of the capture."""

    def receive_produce(self, event: MessageEvent) -> None:
        """Finds the first batch of a request whose time is far off, in each direction."""
        now = event.time // _NS
        early = late = False
        for each in iterate_batches(event.values):
            if _is_header_near(each.batch, event.time):
                continue
            first, last = _times(each.batch)
            if last is not None and last - now > AHEAD and not late:
                late = True
                text = f"{each.place(event)}: a record's time is {_format_span(last - now)} ahead of the capture's"
                self.warn("far-timestamp", text)
            if first is not None and now - first > BEHIND and not early:
                early = True
                text = f"{each.place(event)}: a record's time is {_format_span(now - first)} before the capture's"
                self.note("far-timestamp", text)

    on = subscribe_to(
        *("Produce", REQUESTS, receive_produce, *_WHERE, (*_RECORDS, "messages", "timestamp")),
        *((*_RECORDS, name) for name in ("baseTimestamp", "maxTimestamp", "timestamp")),
        merge=merge_by(None, quiet={(*_RECORDS, name): _is_near for name in ("baseTimestamp", "maxTimestamp")}),
    )


def _is_header_near(batch: Mapping[str, Any], time: int) -> bool:
    """Whether the header of a batch tells that all its times are near: true of nearly all, so this is asked first."""
    first, last = batch.get("baseTimestamp"), batch.get("maxTimestamp")
    if type(first) is not int or type(last) is not int or "messages" in batch:
        return False
    return bool(_is_near(first, time) & _is_near(last, time))


def _times(batch: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The first and the last time in a batch, or in a message and those that it wraps; None where there is none."""
    inner = [each.get("timestamp") for each in structs(batch.get("messages"))]
    first, last = (
        [time for time in (batch.get(name, batch.get("timestamp")), *inner) if time is not None and time >= 0]
        for name in ("baseTimestamp", "maxTimestamp")
    )
    return min(first, default=None), max(last, default=None)


def _format_span(milliseconds: int) -> str:
    """How far, in the largest unit of which there are two."""
    for size, unit in ((365 * _DAY, "years"), (_DAY, "days"), (_HOUR, "hours")):
        if milliseconds >= 2 * size:
            return f"{milliseconds // size:,} {unit}"
    return f"{milliseconds // 60_000:,} minutes"
