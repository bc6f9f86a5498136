"""The report of producers: what each sends, how well it fills its batches, its retries and errors, with advice.

Facts (KIP-98). An idempotent producer has an id and an epoch, and numbers the records of each partition; a batch that
comes again with the same number is a retry, of an answer with an error or of one that did not come. Producers without
an id can't be told apart on one connection, so client id and host stand for them.

Facts (KafkaProducer). Records wait in a batch for linger.ms, or until it has batch.size bytes, and batches are
compressed as a whole: small batches cost requests, and compress badly. The time between the first and the last record
of a batch is at least a part of that wait, whatever the clocks are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.errors import DecodeError
from dissectors.kafka.records.headers import CONTENT
from dissectors.kafka.reports.client_software import SOFTWARE, ClientSoftware
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    format_counts,
    format_ratio,
    list_batches,
    list_errors,
    list_produced,
    read_error,
    subscribe_to,
)
from dissectors.message import Role
from dissectors.report import MOST_NAMES, OpenRow, Report, ReportRow, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, number, text
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress

MOST_BATCHES = 100_000
"""Batches whose answers, or repetitions, are waited for."""

SAMPLES, LARGEST_SAMPLE = 32, 256 * 1024
"""Batches of a producer that are decompressed to know their ratio, and bytes of the largest of them."""

ENOUGH = 20
"""Batches from which on the figures of a producer are worth advice."""

_MS = 1_000_000
_ACKS = {-1: "all", 0: "none", 1: "leader"}
_NO_ANSWER = "no answer"
_RECORDS = ("topicData", "partitionData", "records")
_FIELDS = ("producerId", "producerEpoch", "baseSequence", "count", "compression", "length", "baseTimestamp",
           "maxTimestamp", "control", CONTENT)  # fmt: skip


class _BatchKey(NamedTuple):
    """What is the same when a batch comes again."""

    producer: int
    epoch: int
    topic: str
    partition: int
    sequence: int
    records: int


class _SentBatches(NamedTuple):
    """The batches of a request until its answer comes."""

    row: ProducerRow
    batches: Mapping[tuple[str, int], _BatchKey]
    time: int


@make_slotted(frozen=False, eq=False)
class ProducerRow(OpenRow):
    """One producer.

    spans: ns between the first and last records of batches, all together. sampled, unpacked: bytes of sampled batches,
    compressed and not; left: how many are still to be sampled.
    """

    client: str | None = column("text", "its client id")
    host: str | None = column("text", "the address that it speaks from")
    producer: int | None = column("number", "its producer id; nothing where it is not idempotent")
    epochs: dict[str, None] = column("texts", "its epochs", default_factory=dict)
    transaction: str | None = column("text", "its transactional id")
    software: str | None = column("text", "its client library and version, where its connection tells")
    acks: dict[str, None] = column("texts", "which acks it asks for", default_factory=dict)
    timeout_ns: int | None = column("duration", "how long the broker may wait for acks")
    topics: list[str] = column(
        "texts",
        "topics that it writes to",
        of=lambda row: list(dict.fromkeys(topic for topic, _ in row.written))[:MOST_NAMES],
    )
    partitions: int = column("number", "partitions that it writes to", of=lambda row: len(row.written))
    requests: int = column("number", "Produce requests", 0)
    batches: int = column("number", "batches", 0)
    records: int = column("number", "records", 0)
    bytes: int = column("number", "bytes of batches, as they are sent", 0)
    records_a_batch: str | None = column(
        "text", "records a batch", of=lambda row: format_ratio(row.records, row.batches)
    )
    bytes_a_batch: int | None = column(
        "number", "bytes a batch", of=lambda row: row.bytes // row.batches if row.batches else None
    )
    compression: list[str] = column("texts", "compression of batches", of=lambda row: list(row.codecs))
    ratio: str | None = column(
        *("text", "compressed bytes to uncompressed ones, of some batches"),
        of=lambda row: format_ratio(row.sampled, row.unpacked),
    )
    linger_ns: int | None = column(
        *("duration", "how long batches collected records: from the first to the last of each, on average"),
        of=lambda row: row.spans // row.batches if row.batches else None,
    )
    retries: list[str] = column(
        *("texts", "batches that were sent again, and after what"), of=lambda row: format_counts(row.again)
    )
    errors: list[str] = column(
        "texts", "errors of the answers, by partition", of=lambda row: format_counts(row.failures)
    )
    throttle_ns: int = column("duration", "how long brokers throttled it, all together", 0)
    answer_ns: int | None = column(
        *("duration", "how long answers took, on average"),
        of=lambda row: row.waited // row.answers if row.answers else None,
    )
    advice: str | None = column("text", "what to change, where the figures ask for it", of=lambda row: row.advise())
    written: dict[tuple[str, int], None] = field(default_factory=dict)
    codecs: dict[str, None] = field(default_factory=dict)
    again: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    spans: int = 0
    sampled: int = 0
    unpacked: int = 0
    left: int = SAMPLES
    answers: int = 0
    waited: int = 0

    def add_batch(self, topic: str, partition: int, batch: Mapping[str, Any]) -> None:
        """Counts one of its batches, and samples its compression."""
        self.batches += 1
        self.records += number(batch, "count")
        self.bytes += number(batch, "length")
        if len(self.written) < MOST_BATCHES:
            self.written[topic, partition] = None
        codec = batch.get("compression")
        if codec not in self.codecs:
            add_name(self.codecs, text(batch, "compression"))
        first, last = number(batch, "baseTimestamp", -1), number(batch, "maxTimestamp", -1)
        if 0 <= first <= last:
            self.spans += (last - first) * _MS
        content = batch.get(CONTENT)
        if self.left and codec not in (None, "none") and isinstance(content, bytes) and content:
            _sample_ratio(self, str(codec), content)

    def advise(self) -> str | None:
        """Returns advice about settings in a sentence; None if the figures need none."""
        if self.batches < ENOUGH:
            return None
        notes = []
        filled, ratio = self.records / self.batches, self.sampled / self.unpacked if self.unpacked else None
        codec = next((each for each in self.codecs if each != "none"), None)
        if filled < 2:
            notes.append(f"{format_ratio(self.records, self.batches)} records a batch: raise linger.ms")
        if ratio is not None and ratio > 0.9:
            notes.append(f"{codec} ratio {ratio:.2f}: larger batches compress better, or turn compression off")
        if self.again.total() * 100 > self.batches:
            notes.append(f"{self.again.total():,} of {self.batches:,} batches were sent again: see errors")
        if self.throttle_ns:
            notes.append("the broker throttles it: see its quota")
        return "; ".join(notes) or None


def _sample_ratio(row: ProducerRow, codec: str, content: bytes) -> None:
    """Decompresses a batch to know its ratio."""
    if len(content) > LARGEST_SAMPLE:
        return
    row.left -= 1
    try:
        plain = decompress(codec, content, Budget(), "records", 0)
    except DecodeError:
        return
    row.sampled += len(content)
    row.unpacked += len(plain)


class ProducerReport(Report[ProducerRow]):
    """A row for each producer; rows stay open until the capture ends."""

    name = "producers"
    about = "each producer: batches, compression, retries, errors, with advice"
    needs = KAFKA
    shares_name = True
    row = ProducerRow

    def _begin(self) -> None:
        self.software = ClientSoftware()
        self.known: BoundedTable[tuple[int, str | None, int], ProducerRow] = BoundedTable()
        """By connection, client id and producer id."""
        self.sent: BoundedTable[_BatchKey, str] = BoundedTable(MOST_BATCHES)
        """Batches that were sent, and what they were answered with; `no answer` up to then."""

    def receive_produce(self, event: MessageEvent) -> None:
        """The batches of a Produce request."""
        batches = list_batches(event)
        producer = max((number(batch, "producerId", -1) for _, _, batch in batches), default=-1)
        key = event.stream, event.client_name, producer
        row = self.known.get(key) or self.find_producer(event, key)
        row.hear(event)
        row.requests += 1
        transaction, acks = event.values.get("transactionalId"), number(event.values, "acks")
        if isinstance(transaction, str):
            row.transaction = transaction
        add_name(row.acks, _ACKS.get(acks) or str(acks))
        row.timeout_ns = number(event.values, "timeoutMs") * _MS
        keys = {}
        for topic, partition, batch in batches:
            row.add_batch(topic, partition, batch)
            sequence = number(batch, "baseSequence", -1)
            if sequence >= 0:
                keys[topic, partition] = self.note_sequence(row, event, producer, topic, partition, batch)
        self.await_answer(event, _SentBatches(row, keys, event.time))

    def find_producer(self, event: MessageEvent, key: tuple[int, str | None, int]) -> ProducerRow:
        """Returns the row of a producer, made with its first message on a connection."""
        host, producer = host_of(event.client), key[2]
        row = self.find((event.client_name, host, producer), event)
        if not row.rows:
            row.client, row.host, row.producer = event.client_name, host, producer if producer >= 0 else None
            row.add("sends", event.row)
        row.software = row.software or self.software.find(event.stream)
        self.known[key] = row
        return row

    def note_sequence(
        self, row: ProducerRow, event: MessageEvent, producer: int, topic: str, partition: int, batch: Mapping[str, Any]
    ) -> _BatchKey:
        """Notes a batch with a sequence number, which may be a retry."""
        epoch = number(batch, "producerEpoch", -1)
        add_name(row.epochs, str(epoch))
        key = _BatchKey(producer, epoch, topic, partition, number(batch, "baseSequence"), number(batch, "count"))
        before = self.sent.get(key)
        if before is not None:
            row.again[before] += 1
            row.note("sends again", event)
        self.sent[key] = _NO_ANSWER
        return key

    def receive_answer(self, event: MessageEvent) -> None:
        """The answer, partition by partition."""
        pending = self.take_request(event)
        if pending is None:
            return
        row, keys, time = pending
        row.hear(event)
        row.answers += 1
        row.waited += max(event.time - time, 0)
        row.throttle_ns += number(event.values, "throttleTimeMs") * _MS
        for topic, partition, each in list_produced(event):
            error = read_error(each)
            key = keys.get((topic, partition))
            if error is not None:
                row.failures[f"{topic}[{partition}] {error}"] += 1
                row.note("refuses", event)
            if key is not None:
                if error is None:
                    self.sent.pop(key)
                else:
                    self.sent[key] = error

    on = (
        SOFTWARE
        | subscribe_to(
            *("Produce", REQUESTS, receive_produce, "transactionalId", "acks", "timeoutMs"),
            *(("topicData", name) for name in ("name", "topicId")),
            ("topicData", "partitionData", "index"),
            *((*_RECORDS, name) for name in _FIELDS),
        )
        | subscribe_to(
            *("Produce", ANSWERS, receive_answer, "throttleTimeMs", ("responses", "name"), ("responses", "topicId")),
            *(("responses", "partitionResponses", name) for name in ("index", "errorCode")),
        )
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message has an error; nothing else in a message tells that a row mentions it."""
        return any(list_errors(values))

    @classmethod
    def phrase(cls, word: str, cells: Mapping[str, Any], entry: ReportRow) -> str:
        """Describes in one sentence what a message is to its producer."""
        who = f"producer {cells['producer']}" if cells["producer"] is not None else f"client {cells['client']}"
        advice = f"; {cells['advice']}" if cells["advice"] else ""
        batches = f"{cells['batches']:,} batches of {cells['records_a_batch']} records"
        return f"{word}: {who} of {cells['host']}, {batches}{advice}"
