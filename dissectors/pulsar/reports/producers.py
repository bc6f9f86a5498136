"""The report of producers: who had one, on which topic, what it sent, how long receipts took, and how it ended.

Facts (ServerCnx.handleProducer, Producer, ProducerImpl). PRODUCER_SUCCESS tells the name that the broker gave. A
producer that waits for its turn (access mode WaitForExclusive) is answered twice, first that it is not ready. A
producer that lost the topic to another is fenced: ProducerFenced. A broker that unloads a topic closes its producers,
and may name another broker; the client comes back with the same number and sends messages without a receipt again.

A SEND is one entry. num_messages is the number of messages in a batch. All chunks of a message have one sequence id.
The receipt of a message that the broker already has carries the id -1:-1: nothing was written.
"""

from __future__ import annotations

from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.pulsar.reports.fields import NO_NUMBER, PULSAR, read_place, read_text, subscribe_to
from dissectors.pulsar.reports.members import (
    FENCED,
    OPEN,
    REFUSED,
    SENTENCE,
    ConnectionMember,
    DurationStatistics,
    MemberReport,
    for_member,
)
from dissectors.report import column
from dissectors.slotted import field, make_slotted
from dissectors.values import number, struct
from dissectors.wire.row_sentence import RowSentence

_FENCED = "ProducerFenced"


@make_slotted(frozen=False, eq=False)
class ProducerRow(ConnectionMember):
    """A producer on a connection. chunked: the sequence id of the latest chunks."""

    topic: str | None = column("text", "nothing where it was made before the capture")
    producer: str | None = column("text", "its name, as PRODUCER_SUCCESS tells, or as the client asked for")
    state: str = column(
        "text", "open (at the capture's end), closed, lost (its connection ended), refused, fenced", OPEN
    )
    error: str | None = column("text", "with which error it was refused or fenced, or the last one of a SEND")
    sends: int = column("number", "SENDs", 0)
    sent: int = column("number", "messages in them; those of a batch count, chunks of one message do not", 0)
    unreceipted: int = column("number", "SENDs with neither receipt nor error in the capture", 0)
    errors: int = column("number", "SENDs that were refused", 0)
    median_ns: int | None = column("duration", "from SEND to receipt: one in the middle, to 2 %", of="receipts.median")
    longest_ns: int | None = column("duration", "the longest", of="receipts.longest")
    by: str | None = column("text", "who ended it: client or broker")
    moved_to: str | None = column("text", "where the broker that closed it sent the client")
    made: int | None = column("time", "when it was ready")
    made_after_ns: int | None = column("duration", "how long that took, with the time that it waited for its turn")
    ended: int | None = column("time", "when that was")
    bytes: int = column("number", "bytes of these SENDs, all of the frames", 0)
    chunks: int = column("number", "SENDs that were chunks", 0)
    duplicates: int = column("number", "SENDs that the broker had already, and did not write", 0)
    access: str | None = column("text", "its access mode")
    schema: str | None = column("text", "the type of its schema")
    client: str = column("text", "its address and port", "")
    producer_id: int = column("number", "its number on the connection", of="number")
    version: str | None = column("text", "how the client calls itself")
    server: str = column("text", "the other end of the connection: a broker, or a proxy", "")
    broker: str | None = column("text", "the broker that a proxy leads to, as CONNECT says")
    chunked: int | None = None
    receipts: DurationStatistics = field(default_factory=DurationStatistics)


class ProducerReport(MemberReport[ProducerRow]):
    """The report of producers: one row for each producer on a connection."""

    name = "producers"
    about = "each producer on a connection: its topic, what it sent, how long receipts took, how it ended"
    needs = PULSAR
    row = ProducerRow
    worst = ("unreceipted", "longest_ns")
    selects = (("topic", "pulsar.topic"), ("client", "address"), ("producer_id", "pulsar.producer_id"))
    unnamed = ("CONNECT", "SEND", "SEND_RECEIPT")
    sentence = RowSentence("{word} producer {producer_id=}( {producer})" + SENTENCE)
    noun = "producer"
    resource = ("Producer", 0)

    def _begin(self) -> None:
        super()._begin()
        self.sent: BoundedTable[int, tuple[ProducerRow, int]] = BoundedTable()
        """By row of a SEND that will have an answer whose it is, and when."""

    def ask(self, member: ProducerRow, event: MessageEvent) -> None:
        """Reads what PRODUCER says of a new producer."""
        values = event.values
        member.topic, member.producer = read_text(values, "topic"), read_text(values, "producer_name")
        member.access = read_text(values, "producer_access_mode") or "Shared"
        member.schema = read_text(struct(values, "schema"), "type")

    def receive_answer(self, event: MessageEvent) -> None:
        """The second answer to one that waited names the same request."""
        found, makes = self.requests.get(event.partner) or (None, False)
        if found is None:
            return
        found.hear(event)
        if event.operation == "ERROR":
            error = read_text(event.values, "error")
            if makes:
                found.refuse(event, FENCED if error == _FENCED else REFUSED, error)
            else:
                found.note("error", event)
            return
        found.producer = read_text(event.values, "producer_name") or found.producer
        if event.values.get("producer_ready") is False:
            found.note("waiting", event)
        else:
            found.begin(event)

    def receive_send(self, found: ProducerRow, event: MessageEvent) -> None:
        """Adds a SEND to the counts of its producer: messages, bytes, chunks."""
        values = event.values
        found.sends += 1
        found.bytes += event.size
        sequence = number(values, "sequence_id")
        if values.get("is_chunk"):
            found.chunks += 1
            found.sent += found.chunked != sequence
            found.chunked = sequence
        else:
            found.sent += max(number(values, "num_messages", 1), 1)
            found.chunked = None
        if event.partner is None:
            found.unreceipted += 1
        else:
            self.sent[event.row] = found, event.time

    def receive_receipt(self, event: MessageEvent) -> None:
        """Handles the answer to a SEND."""
        if not isinstance(event.values.get("producer_id"), int):
            return
        sent = self.sent.pop(event.partner)
        found = sent[0] if sent else self.find((event.stream, event.values["producer_id"]), event)
        found.hear(event)
        if event.operation == "SEND_ERROR":
            found.errors += 1
            found.error = read_text(event.values, "error")
            if found.error == _FENCED:
                found.refuse(event, FENCED, found.error)
            else:
                found.note("error", event)
            return
        found.duplicates += read_place(event.values.get("message_id")) == (NO_NUMBER, NO_NUMBER)
        if sent:
            found.receipts.add(event.time - sent[1])

    def receive_close(self, found: ProducerRow, event: MessageEvent) -> None:
        """Handles a CLOSE_PRODUCER command of either side."""
        found.close(event)

    on = (
        subscribe_to("CONNECT", MemberReport.connect, "proxy_to_broker_url")
        | subscribe_to(
            *("PRODUCER", MemberReport.ask_for, "topic", "producer_id", "producer_name", "producer_access_mode"),
            ("schema", "type"),
        )
        | subscribe_to("PRODUCER_SUCCESS", receive_answer, "producer_name", "producer_ready")
        | subscribe_to("ERROR", receive_answer, "error")
        | subscribe_to("SEND", for_member(receive_send), "producer_id", "sequence_id", "num_messages", "is_chunk")
        | subscribe_to("SEND_RECEIPT", receive_receipt, "producer_id", "message_id")
        | subscribe_to("SEND_ERROR", receive_receipt, "producer_id", "error")
        | subscribe_to(
            *("CLOSE_PRODUCER", for_member(receive_close), "producer_id", "assignedBrokerServiceUrl"),
            "assignedBrokerServiceUrlTls",
        )
        | subscribe_to(
            *("TOPIC_MIGRATED", MemberReport.migrate, "resource_id", "resource_type", "brokerServiceUrl"),
            "brokerServiceUrlTls",
        )
    )
