"""The story of producers: who had one, on which topic, what it sent, how long receipts took, and how it ended.

Facts (ServerCnx.handleProducer, Producer, ProducerImpl). PRODUCER_SUCCESS tells the name that the broker gave. A
producer that waits for its turn (access mode WaitForExclusive) is answered twice, first that it is not ready. One that
another has taken the topic from is fenced: ProducerFenced. A broker that unloads a topic closes its producers, and may
say where to go on; the client comes back with the same number and sends again what had no receipt.

A SEND is one entry. num_messages says how many messages a batch has. All chunks of a message have one sequence id. The
receipt of a message that the broker knew already has the id -1:-1: nothing was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, Ends, MessageEvent, ReportRow, said_of
from dissectors.pulsar.reports.asked import NO_NUMBER, PULSAR, number, of, place_of, struct, text
from dissectors.pulsar.reports.durations import Durations
from dissectors.pulsar.reports.lines import MemberLines
from dissectors.pulsar.reports.members import FENCED, REFUSED, Member, says
from dissectors.remembered import Remembered
from dissectors.slotted import field, slotted

_FENCED = "ProducerFenced"
_NUMBERED = frozenset({"PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR", "CLOSE_PRODUCER"})
"""Commands that say nothing here without a number."""

_PRODUCER = 0


@slotted(frozen=False, eq=False)
class _Producer(Member):
    """chunked: the sequence id of the chunks that came last."""

    name: str | None = None
    access: str | None = None
    schema: str | None = None
    waited: bool = False
    sends: int = 0
    messages: int = 0
    chunks: int = 0
    size: int = 0
    errors: int = 0
    duplicates: int = 0
    unreceipted: int = 0
    chunked: int | None = None
    receipts: Durations = field(default_factory=Durations)


class Producers(MemberLines[_Producer]):
    """See the module."""

    name = "producers"
    about = "each producer on a connection: its topic, what it sent, how long receipts took, how it ended"
    needs = PULSAR
    member = _Producer
    resource = ("Producer", _PRODUCER)
    columns = (
        Column("topic", "text", "nothing where it was made before the capture"),
        Column("producer", "text", "its name, as PRODUCER_SUCCESS tells, or as the client asked for"),
        Column("state", "text", "open (at the capture's end), closed, lost (its connection ended), refused, fenced"),
        Column("error", "text", "with which error it was refused or fenced, or the last one of a SEND"),
        Column("sends", "number", "SENDs"),
        Column("sent", "number", "messages in them; those of a batch count, chunks of one message do not"),
        Column("unreceipted", "number", "SENDs with neither receipt nor error in the capture"),
        Column("errors", "number", "SENDs that were refused"),
        Column("median_ns", "duration", "from SEND to receipt: one in the middle, to 2 %"),
        Column("longest_ns", "duration", "the longest"),
        Column("by", "text", "who ended it: client or broker"),
        Column("moved_to", "text", "where the broker that closed it sent the client"),
        Column("made", "time", "when it was ready"),
        Column("made_after_ns", "duration", "how long that took, with the time that it waited for its turn"),
        Column("ended", "time", "when that was"),
        Column("bytes", "number", "bytes of these SENDs, all of the frames"),
        Column("chunks", "number", "SENDs that were chunks"),
        Column("duplicates", "number", "SENDs that the broker had already, and did not write"),
        Column("access", "text", "its access mode"),
        Column("schema", "text", "the type of its schema"),
        Column("client", "text", "its address and port"),
        Column("producer_id", "number", "its number on the connection"),
        Column("version", "text", "how the client calls itself"),
        Column("server", "text", "the other end of the connection: a broker, or a proxy"),
        Column("broker", "text", "the broker that a proxy leads to, as CONNECT says"),
    )
    wants: ClassVar = {
        **of(("CONNECT",), "proxy_to_broker_url"),
        **of(
            ("PRODUCER",),
            *("topic", "producer_id", "producer_name", "producer_access_mode"),
            ("schema", "type"),
        ),
        **of(("PRODUCER_SUCCESS",), "producer_name", "producer_ready"),
        **of(("ERROR",), "error"),
        **of(("SEND",), "producer_id", "sequence_id", "num_messages", "is_chunk"),
        **of(("SEND_RECEIPT",), "producer_id", "message_id"),
        **of(("SEND_ERROR",), "producer_id", "error"),
        **of(("CLOSE_PRODUCER",), "producer_id", "assignedBrokerServiceUrl", "assignedBrokerServiceUrlTls"),
        **of(("TOPIC_MIGRATED",), "resource_id", "resource_type", "brokerServiceUrl", "brokerServiceUrlTls"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._sent: Remembered[int, tuple[_Producer, int]] = Remembered()
        """By row of a SEND that will have an answer whose it is, and when."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """One is over when its number is given to another, or its connection ends."""
        name = told.operation
        if name in _NUMBERED and not isinstance(told.values.get("producer_id"), int):
            return ()
        if name == "SEND":
            self._send(told)
        elif name in ("SEND_RECEIPT", "SEND_ERROR"):
            self._receipt(told)
        elif name in ("PRODUCER_SUCCESS", "ERROR"):
            self._answered(told)
        elif name == "CONNECT":
            self._known.brokers.connect(told)
        elif name == "PRODUCER":
            self._asked(told)
        elif name == "CLOSE_PRODUCER":
            self._known.of(told, number(told.values, "producer_id")).close(told)
        else:
            self._migrated(told)
        return self._given()

    def entry(self, found: _Producer) -> ReportRow:
        """See MemberLines."""
        return _entry(found)

    def _asked(self, told: MessageEvent) -> None:
        values = told.values
        found, fresh = self._known.asks(told, number(values, "producer_id"))
        if fresh:
            found.topic, found.name = text(values, "topic"), text(values, "producer_name")
            found.access = text(values, "producer_access_mode") or "Shared"
            found.schema = text(struct(values, "schema"), "type")

    def _answered(self, told: MessageEvent) -> None:
        """The second answer to one that waited names the same request."""
        found, makes = self._known.asked.get(told.partner) or (None, False)
        if found is None:
            return
        found.last = max(found.last, told.time)
        if told.operation == "ERROR":
            error = text(told.values, "error")
            if makes:
                found.refuse(told, FENCED if error == _FENCED else REFUSED, error)
            else:
                found.note("error", told)
            return
        found.name = text(told.values, "producer_name") or found.name
        if told.values.get("producer_ready") is False:
            found.note("waiting", told)
        else:
            found.ready(told)

    def _send(self, told: MessageEvent) -> None:
        values = told.values
        found = self._known.of(told, number(values, "producer_id"))
        found.sends += 1
        found.size += told.size
        sequence = number(values, "sequence_id")
        if values.get("is_chunk"):
            found.chunks += 1
            found.messages += found.chunked != sequence
            found.chunked = sequence
        else:
            found.messages += max(number(values, "num_messages", 1), 1)
            found.chunked = None
        if told.partner is None:
            found.unreceipted += 1
        else:
            self._sent.keep(told.row, (found, told.time))

    def _receipt(self, told: MessageEvent) -> None:
        sent = self._sent.take(told.partner)
        found = sent[0] if sent else self._known.of(told, number(told.values, "producer_id"))
        found.last = max(found.last, told.time)
        if told.operation == "SEND_ERROR":
            found.errors += 1
            found.error = text(told.values, "error")
            if found.error == _FENCED:
                found.refuse(told, FENCED, found.error)
            else:
                found.note("error", told)
            return
        place = place_of(told.values.get("message_id"))
        found.duplicates += place == (NO_NUMBER, NO_NUMBER)
        if sent:
            found.receipts.add(told.time - sent[1])

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Lines name what makes, ends or refuses one; see OldReport."""
        return operation not in ("CONNECT", "SEND", "SEND_RECEIPT")

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        named = f" {said['producer']}" if said["producer"] else ""
        return says(word, f"producer {said['producer_id']}{named}", said, entry.first)


def _entry(found: _Producer) -> ReportRow:
    values = (
        found.topic,
        found.name,
        found.state,
        found.error,
        found.sends,
        found.messages,
        found.unreceipted,
        found.errors,
        found.receipts.median,
        found.receipts.longest,
        found.by,
        found.to,
        found.made,
        found.took,
        found.over,
        found.size,
        found.chunks,
        found.duplicates,
        found.access,
        found.schema,
        found.client,
        found.number,
        found.version,
        found.server,
        found.broker,
    )
    return ReportRow(values, tuple(found.rows), found.first, found.last)
