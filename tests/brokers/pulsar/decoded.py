"""What wireanalyze reads from a recording, in the words of a client's journal.

Everything comes from the rows that `list --format ndjson --fields` prints. Neither a SEND nor a MESSAGE says its topic:
who it belongs to was said when the producer or consumer of that number and connection was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.brokers.kafka.decoded import Row
from tests.brokers.pulsar.journal import Acked, Failed, Got, Id, Sent


class _One(NamedTuple):
    """One message of a SEND or a MESSAGE: its place in a batch, its metadata, what is in it if that can be read."""

    batch: int
    metadata: Row
    payload: str | None


@dataclass(slots=True)
class Decoded:
    """The rows of one recording as what was sent, got, acknowledged and refused, each in order.

    ended: how transactions did. pieces: entries with a chunk that is not the last one; a client acknowledges them all,
    and calls the whole by the last.
    """

    sent: list[Sent] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    acked: list[Acked] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    pieces: set[tuple[str, int, int]] = field(default_factory=set)
    _by_number: dict[int, Row] = field(default_factory=dict)
    _topics: dict[tuple[str, str, int], tuple[str, str]] = field(default_factory=dict)
    _parts: dict[tuple[Any, ...], list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Decoded:
        """All of it."""
        found = cls(_by_number={row["number"]: row for row in rows})
        for row in rows:
            found._take(row)
        return found

    def _take(self, row: Row) -> None:
        fields, stream = row["fields"], row["stream_id"]
        match row["operation"]:
            case "PRODUCER":
                self._topics[stream, "producer", fields["producer_id"]] = fields["topic"], ""
            case "SUBSCRIBE":
                reported = fields["topic"], fields.get("consumer_name", "")
                self._topics[stream, "consumer", fields["consumer_id"]] = reported
            case "SEND":
                self.sent += self._sent(row)
            case "MESSAGE":
                self.got += self._got(row)
            case "ACK":
                topic, consumer = self._topics[stream, "consumer", fields["consumer_id"]]
                cumulative = fields["ack_type"] == "Cumulative"
                for each in fields["message_id"]:
                    at = Id(each["ledgerId"], each["entryId"], -1)
                    self.acked.append(Acked(topic, consumer, at, cumulative))
            case "END_TXN":
                number = fields.get("txnid_most_bits", 0), fields.get("txnid_least_bits", 0)
                self.ended.append(f"transaction {fields['txn_action']} ({number[0]},{number[1]})")
        if row["error"] is not None:
            self.failed.append(Failed(self._by_number[row["partner"]]["operation"], row["error"]["name"]))

    def _sent(self, row: Row) -> Iterator[Sent]:
        fields = row["fields"]
        topic, _ = self._topics[row["stream_id"], "producer", fields["producer_id"]]
        receipt = self._by_number[row["partner"]] if row["partner"] is not None else None
        if receipt is None or receipt["operation"] != "SEND_RECEIPT":
            return
        at = receipt["fields"]["message_id"]
        whole = fields["metadata"]
        for one in self._messages(row):
            sequence = one.metadata.get("sequence_id", whole["sequence_id"])
            place = Id(at["ledgerId"], at["entryId"], one.batch)
            key = one.metadata.get("partition_key")
            yield Sent(topic, whole["producer_name"], sequence, place, one.payload, key, _sealed(whole))

    def _got(self, row: Row) -> Iterator[Got]:
        fields = row["fields"]
        topic, consumer = self._topics[row["stream_id"], "consumer", fields["consumer_id"]]
        at = fields["message_id"]
        if "chunk" in fields and fields["chunk"]["id"] < fields["chunk"]["total"] - 1:
            self.pieces.add((topic, at["ledgerId"], at["entryId"]))
        for one in self._messages(row):
            place = Id(at["ledgerId"], at["entryId"], one.batch)
            key, times = one.metadata.get("partition_key"), fields.get("redelivery_count", 0)
            yield Got(topic, consumer, place, one.payload, key, times, _sealed(fields["metadata"]))

    def _messages(self, row: Row) -> Iterator[_One]:
        """Those of a batch, or the only one; of chunks the last one, with what all of them have."""
        fields = row["fields"]
        metadata, payload = fields["metadata"], fields["payload"]
        if _sealed(metadata) is not None:
            yield _One(0 if "num_messages_in_batch" in metadata else -1, metadata, None)
        elif "chunk" in fields:
            chunk = fields["chunk"]
            number = fields.get("consumer_id", fields.get("producer_id"))
            parts = self._parts.setdefault((row["stream_id"], row["operation"], number, chunk["uuid"]), [])
            parts.append(payload["hex"])
            if chunk["id"] == chunk["total"] - 1:
                yield _One(-1, metadata, "".join(parts))
        elif "messages" in payload:
            for index, each in enumerate(payload["messages"]):
                yield _One(index, each["metadata"], _content(each["metadata"], each["payload"]))
        else:
            yield _One(-1, metadata, _content(metadata, payload))


def _sealed(metadata: Row) -> str | None:
    """The key that encrypted it."""
    keys = metadata.get("encryption_keys")
    return keys[0]["key"] if keys else None


def _content(metadata: Row, payload: Row) -> str | None:
    return None if metadata.get("null_value") else payload["hex"]
