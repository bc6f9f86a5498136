"""The report of producers: what each sends, how well it fills its batches, its retries and errors, with advice.

Facts (KIP-98). An idempotent producer has an id and an epoch, and numbers the records of each partition. A batch with
a repeated number is a retry, after an error or a missing answer. Producers without an id cannot be told apart on one
connection, so client id and host identify them.

Facts (KafkaProducer). Records wait in a batch for linger.ms, or until it has batch.size bytes, and batches are
compressed as a whole: small batches cost requests, and compress badly. The time between the first and the last record
of a batch is a lower bound of that wait, independent of the clocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from dissectors.correlator import MILLISECOND, BoundedTable, MergedMessages, MessageEvent, merge_by
from dissectors.errors import DecodeError
from dissectors.kafka.records.headers import CONTENT
from dissectors.kafka.reports.client_software import SOFTWARE, ClientSoftware
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    Listed,
    format_counts,
    format_ratio,
    list_batches,
    list_errors,
    list_produced,
    read_error,
    subscribe_to,
)
from dissectors.message import Role
from dissectors.report import MOST_NAMES, OpenRow, Report, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, number, structs, text
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.row_sentence import RowSentence

MOST_BATCHES = 100_000
"""Batches whose answers, or repetitions, are waited for."""

SAMPLES, LARGEST_SAMPLE = 32, 256 * 1024
"""Batches of a producer that are decompressed to know their ratio, and bytes of the largest of them."""

ENOUGH = 20
"""Batches from which on the figures of a producer are worth advice."""

_ACKS = {-1: "all", 0: "none", 1: "leader"}
_NO_ANSWER = "no answer"
_RECORDS = ("topicData", "partitionData", "records")
_COUNT, _LENGTH, _FIRST, _LAST, _SEQUENCE = (
    (*_RECORDS, name) for name in ("count", "length", "baseTimestamp", "maxTimestamp", "baseSequence")
)
_NUMBERS = (_COUNT, _LENGTH, _FIRST, _LAST, _SEQUENCE)
_THROTTLE, _ERROR = ("throttleTimeMs",), ("responses", "partitionResponses", "errorCode")


class _BatchKey(NamedTuple):
    """What is the same when a batch comes again."""

    producer: int
    epoch: int
    topic: str
    partition: int
    sequence: int
    records: int


class _SentBatches(NamedTuple):
    """The numbered batches of requests, by the rows of these and by partition, until their answers come."""

    row: ProducerRow
    batches: dict[int, dict[tuple[str, int], _BatchKey]]


class _Step(NamedTuple):
    """A batch with a number that a request in a row sends, or that an answer in it says is written."""

    row: int
    producer: ProducerRow
    batch: _BatchKey
    is_written: bool


class _Sample(NamedTuple):
    """A batch whose ratio is worth knowing."""

    row: int
    producer: ProducerRow
    codec: str
    content: bytes


@make_slotted(frozen=False, eq=False)
class ProducerRow(OpenRow):
    """One producer.

    configured: the row that last told its timeout. spans: ns between the first and last records of batches. sampled,
    unpacked: bytes of sampled batches,
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
    configured: int = -1
    spans: int = 0
    sampled: int = 0
    unpacked: int = 0
    left: int = SAMPLES
    answers: int = 0
    waited: int = 0

    def configure(self, values: Mapping[str, Any], at: int) -> None:
        """Notes what requests, of which the last is row `at`, say of the producer's settings."""
        transaction, acks = values.get("transactionalId"), number(values, "acks")
        if isinstance(transaction, str):
            self.transaction = transaction
        add_name(self.acks, _ACKS.get(acks) or str(acks))
        if at > self.configured:
            self.configured, self.timeout_ns = at, number(values, "timeoutMs") * MILLISECOND

    def add_batches(self, topic: str, partition: int, codec: str | None, records: list[int], size: int) -> None:
        """Counts some of its batches, by their records; size: bytes of them all."""
        self.batches += len(records)
        self.records += sum(records)
        self.bytes += size
        if len(self.written) < MOST_BATCHES:
            self.written[topic, partition] = None
        if codec not in self.codecs:
            add_name(self.codecs, codec)

    def add_spans(self, first: list[int], last: list[int]) -> None:
        """Adds the times in ms between the first and the last record of batches."""
        self.spans += (
            sum(end - begin for begin, end in zip(first, last, strict=True) if 0 <= begin <= end) * MILLISECOND
        )

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


def _find_sample(row: int, producer: ProducerRow, batch: Mapping[str, Any]) -> _Sample | None:
    """What can be sampled of a batch."""
    codec, content = text(batch, "compression"), batch.get(CONTENT)
    if codec in (None, "none") or not isinstance(content, bytes) or not 0 < len(content) <= LARGEST_SAMPLE:
        return None
    return _Sample(row, producer, str(codec), content)


def _sample_ratio(sample: _Sample) -> None:
    """Decompresses a batch to know its ratio."""
    row = sample.producer
    if not row.left:
        return
    row.left -= 1
    try:
        plain = decompress(sample.codec, sample.content, Budget(), "records", 0)
    except DecodeError:
        return
    row.sampled += len(sample.content)
    row.unpacked += len(plain)


class ProducerReport(Report[ProducerRow]):
    """A row for each producer; rows stay open until the capture ends."""

    name = "producers"
    about = "each producer: batches, compression, retries, errors, with advice"
    needs = KAFKA
    shares_name = True
    row = ProducerRow
    sentence = RowSentence(
        "{word}: (producer {producer=}|client ({client=}|None)) of ({host=}|None), {batches%grouped} batches of "
        "({records_a_batch=}|None) records(; {advice})"
    )
    worst = ("retries", "answer_ns")
    selects = (("client", "client"), ("host", "address"))

    def _begin(self) -> None:
        self.software = ClientSoftware()
        self.known: BoundedTable[tuple[int, str | None, int], ProducerRow] = BoundedTable()
        """By connection, client id and producer id."""
        self.sent: BoundedTable[_BatchKey, str] = BoundedTable(MOST_BATCHES)
        """Batches that were sent, and what they were answered with; `no answer` up to then."""
        self.steps: list[_Step] = []
        self.samples: list[_Sample] = []
        """What merged messages hold of these, until settle() takes it in the order of rows."""

    def receive_produce(self, event: MessageEvent) -> None:
        """Handles the batches of a Produce request."""
        batches = list_batches(event)
        producer = _find_producer_id(batches)
        row = self.find_producer(event, producer)
        row.hear(event)
        row.requests += 1
        row.configure(event.values, event.row)
        keys = {}
        for topic, partition, batch in batches:
            row.add_batches(
                topic, partition, text(batch, "compression"), [number(batch, "count")], number(batch, "length")
            )
            row.add_spans([number(batch, "baseTimestamp", -1)], [number(batch, "maxTimestamp", -1)])
            sample = _find_sample(event.row, row, batch) if row.left else None
            if sample is not None:
                _sample_ratio(sample)
            key = _make_key(
                producer, batch, topic, partition, number(batch, "baseSequence", -1), number(batch, "count")
            )
            if key.sequence >= 0:
                keys[topic, partition] = key
                self.note_sequence(_Step(event.row, row, key, is_written=False))
        self.await_answer(event, _SentBatches(row, {event.row: keys}))

    def receive_produces(self, merged: MergedMessages) -> None:
        """Handles many requests at once."""
        event = merged.first
        batches = list_batches(event)
        producer = _find_producer_id(batches)
        row = self.find_producer(event, producer)
        row.hear_all(merged)
        row.requests += merged.count
        row.configure(event.values, merged.last_row)
        counts, sizes = merged.list_numbers(_COUNT), merged.sum_numbers(_LENGTH)
        first, last, sequences = (merged.list_numbers(path) for path in (_FIRST, _LAST, _SEQUENCE))
        keys: dict[int, dict[tuple[str, int], _BatchKey]] = {}
        for place, (topic, partition, batch) in enumerate(batches):
            row.add_batches(topic, partition, text(batch, "compression"), counts[place], sizes[place])
            row.add_spans(first[place], last[place])
            if max(sequences[place]) >= 0:
                for at, sequence, records in zip(merged.list_rows(), sequences[place], counts[place], strict=True):
                    key = _make_key(producer, batch, topic, partition, sequence, records)
                    if sequence >= 0:
                        keys.setdefault(at, {})[topic, partition] = key
                        self.steps.append(_Step(at, row, key, is_written=False))
        if row.left and any(batch.get("compression") not in (None, "none") for _, _, batch in batches):
            self.samples += islice(_find_samples(merged, row), row.left)
        self.await_answers(merged, _SentBatches(row, keys))

    def settle(self) -> None:
        """Takes what merged messages hold in the order of their rows."""
        for step in sorted(self.steps, key=_row_of):
            self.note_sequence(step)
        for sample in sorted(self.samples, key=_row_of):
            _sample_ratio(sample)
        self.steps.clear()
        self.samples.clear()

    def find_producer(self, event: MessageEvent, producer: int) -> ProducerRow:
        """Returns the row of a producer, made with its first message on a connection."""
        key = event.stream, event.client_name, producer
        row = self.known.get(key)
        if row is not None:
            return row
        host = host_of(event.client)
        row = self.find((event.client_name, host, producer), event)
        if not row.rows:
            row.client, row.host, row.producer = event.client_name, host, producer if producer >= 0 else None
            row.add("sends", event.row)
        row.software = row.software or self.software.find(event.stream)
        self.known[key] = row
        return row

    def note_sequence(self, step: _Step) -> None:
        """Notes a batch with a sequence number, which may be a retry, or that one was written."""
        row, key = step.producer, step.batch
        if step.is_written:
            self.sent.pop(key)
            return
        add_name(row.epochs, str(key.epoch))
        before = self.sent.get(key)
        if before is not None:
            row.again[before] += 1
            row.add("sends again", step.row)
        self.sent[key] = _NO_ANSWER

    def receive_answer(self, event: MessageEvent) -> None:
        """Handles the answer, partition by partition."""
        pending = self.take_request(event)
        if pending is None:
            return
        row, requests = pending
        keys = requests.get(event.partner, {})
        row.hear(event)
        row.answers += 1
        row.waited += max(event.elapsed or 0, 0)
        row.throttle_ns += number(event.values, "throttleTimeMs") * MILLISECOND
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

    def receive_answers(self, merged: MergedMessages) -> None:
        """Handles many answers at once without an error."""
        pending = self.take_requests(merged)
        if pending is None:
            return
        row, requests = pending
        row.hear_all(merged)
        row.answers += merged.count
        row.waited += sum(max(each, 0) for each in merged.list_elapsed())
        row.throttle_ns += sum(merged.sum_numbers(_THROTTLE)) * MILLISECOND
        if requests:
            partitions = [(topic, partition) for topic, partition, _ in list_produced(merged.first)]
            for at, partner in zip(merged.list_rows(), merged.list_partners(), strict=True):
                keys = requests.pop(partner, {})
                for each in partitions:
                    if each in keys:
                        self.steps.append(_Step(at, row, keys[each], is_written=True))

    on = (
        SOFTWARE
        | subscribe_to(
            *("Produce", REQUESTS, receive_produce, "transactionalId", "acks", "timeoutMs"),
            *(("topicData", name) for name in ("name", "topicId")),
            ("topicData", "partitionData", "index"),
            *((*_RECORDS, name) for name in ("producerId", "producerEpoch", "compression", CONTENT)),
            *_NUMBERS,
            merge=merge_by(receive_produces, numbers=_NUMBERS),
        )
        | subscribe_to(
            *("Produce", ANSWERS, receive_answer, _THROTTLE, ("responses", "name"), ("responses", "topicId")),
            *(("responses", "partitionResponses", "index"), _ERROR),
            merge=merge_by(receive_answers, numbers=(_THROTTLE,), quiet={_ERROR: 0}),
        )
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message has an error: no other message can be in a row without being added to it."""
        return any(list_errors(values))


def _row_of(found: _Step | _Sample) -> int:
    return found.row


def _find_producer_id(batches: Listed) -> int:
    """The id of the producer of a request; -1 where it has none."""
    return max((number(batch, "producerId", -1) for _, _, batch in batches), default=-1)


def _make_key(
    producer: int, batch: Mapping[str, Any], topic: str, partition: int, sequence: int, records: int
) -> _BatchKey:
    return _BatchKey(producer, number(batch, "producerEpoch", -1), topic, partition, sequence, records)


def _find_samples(merged: MergedMessages, row: ProducerRow) -> Iterator[_Sample]:
    """The batches of merged requests that can be sampled."""
    for at, values in zip(merged.list_rows(), merged.list_values(), strict=True):
        for topic in structs(values.get("topicData")):
            for partition in structs(topic.get("partitionData")):
                for batch in structs(partition.get("records")):
                    sample = _find_sample(at, row, batch)
                    if sample is not None:
                        yield sample
