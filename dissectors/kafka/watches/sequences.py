"""Sequence numbers of idempotent producers (KIP-98): batches that come twice, and batches that are missing.

Facts. A producer with an id numbers the records of each partition from 0, anew with each epoch; a batch carries the
number of its first record, and numbers go on at 0 behind 2^31 - 1. The broker keeps the last five batches of each
producer and partition: one that comes again is answered as before and not written again, one that leaves a hole is
refused as OUT_OF_ORDER_SEQUENCE_NUMBER.

A capture may begin in the middle and may have lost requests, so the first batch that is seen is taken as it is, and a
hole may be the capture's. Partitions of different clusters in one capture are told apart by the producer id, which a
cluster gives once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.kafka.watches.produced import PRODUCE, Produced, produced
from dissectors.slotted import field, slotted
from dissectors.watch import Seen, Watch

REMEMBERED = 5
"""Batches of a producer in a partition that the broker, and we, know again."""

MOST = 100_000
"""Producers and partitions that are remembered."""

_NUMBERS = 1 << 31


@slotted(frozen=False, eq=False)
class _Written:
    """Of a producer in a partition: its epoch, the number of its next record, (first, count) of its last batches."""

    epoch: int
    following: int
    last: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


class Sequences(Watch):
    """See the module."""

    wants = frozenset({(PRODUCE, Role.REQUEST), (PRODUCE, Role.ONEWAY)})

    def __init__(self) -> None:
        self._written: OrderedDict[tuple[int, str, int], _Written] = OrderedDict()

    def see(self, seen: Seen) -> Iterator[Finding]:
        """Batches with the number of one before them, or with a number beyond the one that is next."""
        for each in produced(seen.values):
            batch = each.batch
            producer, first, count = (batch.get(name, -1) for name in ("producerId", "baseSequence", "count"))
            if producer >= 0 and first >= 0 and count > 0:
                yield from self._batch(each, producer, first, count)

    def _batch(self, each: Produced, producer: int, first: int, count: int) -> Iterator[Finding]:
        epoch: int = each.batch["producerEpoch"]
        known = self._known((producer, each.topic, each.partition))
        where = f"{each.topic}[{each.partition}]: producer {producer}, epoch {epoch}"
        if known is None or epoch > known.epoch:
            if known is not None and first:
                text = f"{where}, begins with sequence {first}, and an epoch begins with 0"
                yield Finding(Severity.WARNING, "out-of-order-sequence", text)
            known = self._remember((producer, each.topic, each.partition), _Written(epoch, first))
        elif epoch < known.epoch:
            text = f"{where}, writes behind epoch {known.epoch}: it is fenced off"
            yield Finding(Severity.WARNING, "fenced-producer", text)
            return
        elif (first, count) in known.last:
            yield Finding(Severity.NOTE, "duplicate-sequence", f"{where}, sends sequence {first} again: a retry")
            return
        elif first != known.following:
            ahead = (first - known.following) % _NUMBERS
            what = f"skips {ahead} records" if ahead < _NUMBERS // 2 else f"goes back {_NUMBERS - ahead} records"
            text = f"{where}, {what}: sequence {first} where {known.following} is next"
            yield Finding(Severity.WARNING, "out-of-order-sequence", text)
        known.following = (first + count) % _NUMBERS
        known.last.append((first, count))

    def _known(self, key: tuple[int, str, int]) -> _Written | None:
        found = self._written.get(key)
        if found is not None:
            self._written.move_to_end(key)
        return found

    def _remember(self, key: tuple[int, str, int], written: _Written) -> _Written:
        self._written[key] = written
        self._written.move_to_end(key)
        if len(self._written) > MOST:
            self._written.popitem(last=False)
        return written
