"""SENDs without a receipt, and those that the broker did not store because of their number.

Facts (ProducerImpl, ServerCnx.closeProducer, MessageDeduplication). A producer numbers what it sends upwards, and keeps
each message until its receipt comes. When the broker closes it, or the connection ends, it is made anew somewhere, with
the same number where that is the same connection, and sends again what had no receipt, with the sequence ids of before.
A broker that drops duplicates (brokerDeduplicationEnabled) takes only what is above the highest sequence id of that
producer's name, and gives anything else a receipt with the id -1:-1. One that does not stores all, whatever its number.
"""

from __future__ import annotations

from collections import OrderedDict

from dissectors.correlator import ConnectionEnd, MessageEvent, NumberedTable, for_request
from dissectors.message import Role
from dissectors.pulsar.checks.sentences import PulsarCheck, name_producer
from dissectors.pulsar.reports.fields import NO_NUMBER, read_text, subscribe_to
from dissectors.slotted import field, slotted
from dissectors.values import number, struct

MOST_PENDING = 4096
"""SENDs of a producer that wait for a receipt; clients keep a thousand by default (maxPendingMessages)."""


@slotted(frozen=False, eq=False)
class _SendingProducer:
    """losses: its connection's when it was last heard of. highest: its highest sequence id, before: that before the
    latest one.

    pending: by sequence id how many SENDs have no receipt yet, of those behind the last loss: a receipt for others may
    be among the bytes that are missing.
    """

    name: str
    losses: int
    highest: int | None = None
    before: int | None = None
    pending: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def send(self, sequence: int, highest: int) -> None:
        """One more waits; `highest`: the id of the last message in it, where that is a batch."""
        self.before = self.highest
        self.highest = max(sequence, highest, sequence if self.highest is None else self.highest)
        self.pending[sequence] = self.pending.get(sequence, 0) + 1
        if len(self.pending) > MOST_PENDING:
            self.pending.popitem(last=False)

    def answer(self, sequence: int) -> None:
        """One less, if it waits."""
        left = self.pending.get(sequence, 0) - 1
        if left > 0:
            self.pending[sequence] = left
        else:
            self.pending.pop(sequence, None)

    def describe(self) -> dict[str, str]:
        """What waits, in words."""
        first, last = min(self.pending), max(self.pending)
        sequences = f"sequence {first}" if first == last else f"sequences {first} to {last}"
        return {"who": self.name, "count": _count_sends(sum(self.pending.values())), "sequences": sequences}


class SendReceipts(PulsarCheck):
    """See the module."""

    def _begin(self) -> None:
        self.producers: NumberedTable[_SendingProducer] = NumberedTable()

    def receive_producer(self, event: MessageEvent) -> None:
        """PRODUCER."""
        key = event.stream, number(event.values, "producer_id")
        self.producers[key] = _SendingProducer(name_producer(key[1], read_text(event.values, "topic")), event.losses)

    def find_producer(self, event: MessageEvent) -> _SendingProducer:
        """Whose a message is; what waits is forgotten where bytes are missing."""
        key = event.stream, number(event.values, "producer_id")
        known = self.producers.get(key)
        if known is None:
            known = self.producers[key] = _SendingProducer(name_producer(key[1], None), event.losses)
        if known.losses != event.losses:
            known.losses = event.losses
            known.pending.clear()
        return known

    def receive_send(self, event: MessageEvent) -> None:
        """SEND."""
        known, sequence = self.find_producer(event), number(event.values, "sequence_id")
        known.send(sequence, number(event.values, "highest_sequence_id"))
        self.await_answer(event, (sequence, known.before))

    def receive_receipt(self, asked: tuple[int, int | None], event: MessageEvent) -> None:
        """SEND_RECEIPT or SEND_ERROR: maybe of what was not stored."""
        known, (sequence, before) = self.find_producer(event), asked
        known.answer(sequence)
        place = struct(event.values, "message_id")
        if all(number(place, each) == NO_NUMBER for each in ("ledgerId", "entryId")):
            back = before is not None and sequence < before
            self.find("back" if back else "duplicate", who=known.name, sequence=sequence, before=before)

    def receive_close(self, event: MessageEvent) -> None:
        """CLOSE_PRODUCER: the broker closes one over its SENDs, perhaps."""
        known = self.find_producer(event)
        if event.context.role is Role.PUSH:
            if known.pending:
                self.find("moved", **known.describe())
            known.pending.clear()

    def end_connection(self, end: ConnectionEnd) -> None:
        """What waits in vain."""
        for _, known in self.producers.on(end.stream):
            if known.pending and known.losses == end.losses:
                self.find("lost", ender=end.ender, **known.describe())

    on = (
        subscribe_to("PRODUCER", receive_producer, "producer_id", "topic", roles=(Role.REQUEST,))
        | subscribe_to("SEND", receive_send, "producer_id", "sequence_id", "highest_sequence_id", roles=(Role.REQUEST,))
        | subscribe_to("CLOSE_PRODUCER", receive_close, "producer_id", roles=(Role.REQUEST, Role.PUSH))
        | subscribe_to(
            *("SEND_RECEIPT SEND_ERROR", for_request(receive_receipt), "producer_id"),
            *(("message_id", name) for name in ("ledgerId", "entryId")),
            roles=(Role.RESPONSE,),
        )
    )


def _count_sends(sends: int) -> str:
    return "a SEND" if sends == 1 else f"{sends} SENDs"
