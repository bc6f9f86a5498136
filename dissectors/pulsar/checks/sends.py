"""SENDs without a receipt, and those that the broker did not store because of their number.

Facts (ProducerImpl, ServerCnx.closeProducer, MessageDeduplication). A producer numbers what it sends upwards, and keeps
each message until its receipt comes. When the broker closes it, or the connection ends, it is made anew somewhere, with
the same number where that is the same connection, and sends again what had no receipt, with the sequence ids of before.
A broker that drops duplicates (brokerDeduplicationEnabled) takes only what is above the highest sequence id of that
producer's name, and gives anything else a receipt with the id -1:-1. One that does not stores all, whatever its number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Closed, Seen
from dissectors.finding import Finding
from dissectors.pulsar.checks.saying import Key, Numbered, named, of, producer_of, said
from dissectors.pulsar.reports.fields import NO_NUMBER, text
from dissectors.slotted import field, slotted
from dissectors.values import number, struct

MOST_PENDING = 4096
"""SENDs of a producer that wait for a receipt; clients keep a thousand by default (maxPendingMessages)."""


@slotted(frozen=False, eq=False)
class _Producer:
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

    def sent(self, sequence: int, highest: int) -> None:
        """One more waits; `highest`: the id of the last message in it, where that is a batch."""
        self.before = self.highest
        self.highest = max(sequence, highest, sequence if self.highest is None else self.highest)
        self.pending[sequence] = self.pending.get(sequence, 0) + 1
        if len(self.pending) > MOST_PENDING:
            self.pending.popitem(last=False)

    def answered(self, sequence: int) -> None:
        """One less, if it waits."""
        left = self.pending.get(sequence, 0) - 1
        if left > 0:
            self.pending[sequence] = left
        else:
            self.pending.pop(sequence, None)

    def waits(self) -> dict[str, str]:
        """What waits, in words."""
        first, last = min(self.pending), max(self.pending)
        sequences = f"sequence {first}" if first == last else f"sequences {first} to {last}"
        return {"who": self.name, "count": _count(sum(self.pending.values())), "sequences": sequences}


class Sends(Check):
    """See the module."""

    wants = (
        of(Role.REQUEST, ["PRODUCER", "SEND", "CLOSE_PRODUCER"])
        | of(Role.RESPONSE, ["SEND_RECEIPT", "SEND_ERROR"])
        | of(Role.PUSH, ["CLOSE_PRODUCER"])
    )
    paths = frozenset(
        {("topic",), ("producer_id",), ("sequence_id",), ("highest_sequence_id",)}
        | {("message_id", name) for name in ("ledgerId", "entryId")}
    )

    def __init__(self) -> None:
        """Nobody sends."""
        self._producers: Numbered[_Producer] = Numbered()

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A receipt for what was not stored, and a producer that is closed over its SENDs."""
        name, values = named(seen.context.code), seen.values
        key = seen.stream, number(values, "producer_id")
        known = self._producers.get(key)
        if name == "PRODUCER":
            self._make(key, seen)
            return
        if known is None:
            known = _Producer(producer_of(key[1], None), seen.losses)
            self._producers.put(key, known)
        if known.losses != seen.losses:
            known.losses = seen.losses
            known.pending.clear()
        if name == "SEND":
            known.sent(number(values, "sequence_id"), number(values, "highest_sequence_id"))
        elif name != "CLOSE_PRODUCER":
            yield from self._receipt(known, seen)
        elif seen.context.role is Role.PUSH:
            if known.pending:
                yield said("moved", **known.waits())
            known.pending.clear()

    def kept(self, seen: Seen) -> object:
        """The sequence id of a SEND, and the highest of those before it."""
        if named(seen.context.code) != "SEND":
            return None
        known = self._producers.get((seen.stream, number(seen.values, "producer_id")))
        return number(seen.values, "sequence_id"), None if known is None else known.before

    def closed(self, closed: Closed) -> Iterator[Finding]:
        """What waits in vain."""
        ender = closed.client if closed.by_client else closed.server
        for known in self._producers.on(closed.stream):
            if known.pending and known.losses == closed.losses:
                yield said("lost", ender=ender, **known.waits())

    def _make(self, key: Key, seen: Seen) -> None:
        self._producers.put(key, _Producer(producer_of(key[1], text(seen.values, "topic")), seen.losses))

    @staticmethod
    def _receipt(known: _Producer, seen: Seen) -> Iterator[Finding]:
        if not isinstance(seen.request, tuple):
            return
        sequence, before = seen.request
        known.answered(sequence)
        place = struct(seen.values, "message_id")
        if all(number(place, each) == NO_NUMBER for each in ("ledgerId", "entryId")):
            back = before is not None and sequence < before
            yield said("back" if back else "duplicate", who=known.name, sequence=sequence, before=before)


def _count(sends: int) -> str:
    return "a SEND" if sends == 1 else f"{sends} SENDs"
