"""Sequence numbers of idempotent producers (KIP-98): batches that come twice, and batches that are missing.

Facts. A producer with an id numbers the records of each partition from 0, anew with each epoch; a batch carries the
number of its first record, and numbers go on at 0 behind 2^31 - 1. The broker keeps the last five batches of each
producer and partition: one that comes again is answered as before and not written again, one that leaves a hole is
refused as OUT_OF_ORDER_SEQUENCE_NUMBER.

A batch that was refused as too large comes again in parts, the first of which has the number of the whole.

A capture may begin in the middle, may have lost requests, and may hold several clusters, all of which count producers
from 0. So each server is looked at for itself, the first batch that is seen of a partition there is taken as it is, and
a hole is none of the producer's where bytes are missing, the connection is another one, or the producer has written to
the partition at another server in between.
"""

from __future__ import annotations

from collections import deque

from dissectors.check import Check
from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.finding import Finding, Severity
from dissectors.kafka.checks.produced import RECORDS, ProducedBatch, iterate_batches, on_produce
from dissectors.slotted import field, slotted

REMEMBERED = 5
"""Batches of a producer in a partition that the broker, and we, know again."""

MOST_PRODUCERS = 100_000
"""Producers and partitions that are remembered."""

_NUMBERS = 1 << 31

_Key = tuple[str, int, str, int]
"""Server, producer, topic and partition."""


@slotted(frozen=False, eq=False)
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
        """What comes next is taken as it is."""
        self.began = self.following = first
        self.last.clear()


class SequenceCheck(Check):
    """See the module."""

    def _begin(self) -> None:
        self.written: BoundedTable[_Key, _Written] = BoundedTable(MOST_PRODUCERS, evict=self.forget)
        self.latest: dict[tuple[int, str, int], str] = {}
        """The server that a producer has last written a partition at, if it has been at one of `written`."""

    def forget(self, written: _Written) -> None:
        """A producer and partition is evicted."""
        self.latest.pop(written.key[1:], None)

    def receive_produce(self, event: MessageEvent) -> None:
        """Batches with the number of one before them, or with a number beyond the one that is next."""
        for each in iterate_batches(event.values):
            batch = each.batch
            producer, first, count = (batch.get(name, -1) for name in ("producerId", "baseSequence", "count"))
            if producer >= 0 and first >= 0 and count > 0:
                self.add(event, each, producer, first, count)

    def add(self, event: MessageEvent, each: ProducedBatch, producer: int, first: int, count: int) -> None:
        """A batch."""
        epoch = each.batch.get("producerEpoch", 0)
        what, source = (producer, each.topic, each.partition), (event.stream, event.losses)
        key = event.server, *what
        known = self.written.get(key)
        if known is None:
            known = self.written[key] = _Written(key, epoch, first, first, source)
        self.written.renew(key)
        whole = source == known.source and self.latest.get(what) == event.server
        said = _compare_sequence(known, epoch, first, count, whole)
        known.source = source
        self.latest[what] = event.server
        if said is not None:
            severity, code, text = said
            who = _format_producer(event, producer)
            self.emit(Finding(severity, code, f"{each.place(event)}: {who}, epoch {epoch}, {text}"))

    on = on_produce(
        receive_produce,
        *((*RECORDS, name) for name in ("producerId", "producerEpoch", "baseSequence", "count")),
    )


def _compare_sequence(
    known: _Written, epoch: int, first: int, count: int, whole: bool
) -> tuple[Severity, str, str] | None:
    """What is wrong with a batch behind those that are known, which it joins. whole: none can have come in between."""
    if epoch < known.epoch:
        return Severity.WARNING, "fenced-producer", f"writes behind epoch {known.epoch}: it is fenced off"
    said = None
    if epoch > known.epoch:
        known.epoch = epoch
        known.begin(first)
        if first and whole:
            said = f"begins with sequence {first}, and an epoch begins with 0"
    elif (first, count) in known.last:
        return Severity.NOTE, "duplicate-sequence", f"sends sequence {first} again: a retry"
    elif first != known.following:
        ahead = (first - known.following) % _NUMBERS
        if any(first == each and count < size for each, size in known.last):
            known.last.append((first, count))
            known.following = (first + count) % _NUMBERS
            return Severity.NOTE, "duplicate-sequence", f"sends sequence {first} again, in a smaller batch"
        if ahead < _NUMBERS // 2:
            said = f"skips {ahead} records: sequence {first} where {known.following} is next" if whole else None
        elif _NUMBERS - ahead <= (known.following - known.began) % _NUMBERS:
            back = f"goes back {_NUMBERS - ahead} records"
            said = f"{back}: sequence {first} where {known.following} is next"
        known.begin(first)
    known.following = (first + count) % _NUMBERS
    known.last.append((first, count))
    return None if said is None else (Severity.WARNING, "out-of-order-sequence", said)


def _format_producer(event: MessageEvent, producer: int) -> str:
    """A producer for people, with its transaction where that is known."""
    name = event.resolve_name("producer", str(producer))
    return f"producer {producer}{f' ({name})' if name else ''}"
