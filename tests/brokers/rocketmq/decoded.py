"""What wireanalyze reads from a recording, in the words of a client's journal.

Everything comes from the rows that `list --format ndjson --fields` prints. A consumer calls a message that comes again
by the topic that it was sent to first; it is stored under the topic of its group's retries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.brokers.kafka.decoded import Row
from tests.brokers.rocketmq.journal import UNTOLD, Failed, Got, Sent

SENDS = {"SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE"}
GIVES = {"PULL_MESSAGE", "LITE_PULL_MESSAGE", "POP_MESSAGE"}


@dataclass(slots=True)
class Decoded:
    """The rows of one recording as what was sent, given and refused, each in order.

    ended: how transactions did, by message id. checked: those that the broker asked for.
    """

    sent: list[Sent] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Decoded:
        """All of it."""
        found, by_number = cls(), {row["number"]: row for row in rows}
        for row in rows:
            found._take(row, by_number.get(row["partner"]))
        return found

    def _take(self, row: Row, partner: Row | None) -> None:
        operation, response = row["operation"], row["role"] == "response"
        if operation in SENDS and not response:
            self.sent += _sent(row, partner)
        elif operation in GIVES and response and partner is not None and row["fields"]["body"]:
            self.got += _got(row, partner)
        elif operation == "END_TRANSACTION" and not response:
            header = row["fields"]["header"]
            self.ended.append((header["transactionId"], header["commitOrRollback"]))
        elif operation == "CHECK_TRANSACTION_STATE":
            self.checked.append(row["fields"]["header"]["transactionId"])
        if row["error"] is not None:
            self.failed.append(Failed(operation, row["error"]["code"]))


def _sent(row: Row, answer: Row | None) -> Iterator[Sent]:
    """What one request sends, if the broker took it, or if nobody asked whether it did."""
    if row["role"] == "request" and (answer is None or answer["error"] is not None):
        return
    fields = row["fields"]
    reported = (
        answer["fields"]["header"] if answer is not None else {"queueId": UNTOLD, "queueOffset": UNTOLD, "msgId": None}
    )
    topic = fields["header"]["topic"]
    if row["operation"] == "SEND_BATCH_MESSAGE":
        for index, each in enumerate(fields["body"]["messages"]):
            place = reported["queueId"], reported["queueOffset"] + index
            yield Sent(topic, *place, *_names(each["properties"], None), each["body"]["hex"])
    else:
        body = fields.get("bodyUncompressed", fields["body"])["hex"]
        names = _names(_pairs(fields["header"]["properties"]), reported["msgId"])
        yield Sent(topic, reported["queueId"], reported["queueOffset"], *names, body)


def _got(row: Row, request: Row) -> Iterator[Got]:
    group = request["fields"]["header"]["consumerGroup"]
    for each in row["fields"]["body"]["messages"]:
        properties = each["properties"]
        body = each.get("bodyUncompressed", each["body"])["hex"]
        name, _, keys, tag = _names(properties, None)
        name = name or _place(each["storeHost"], each["commitLogOffset"])
        topic = properties.get("RETRY_TOPIC", each["topic"]) if each["topic"].startswith("%RETRY%") else each["topic"]
        times = each["reconsumeTimes"]
        yield Got(topic, each["queueId"], each["queueOffset"], name, keys, tag, body, group, times)


def _place(host: str, offset: int) -> str:
    """How a broker calls a message: address, port and place in its log; so clients call one that has no other name."""
    address, _, port = host.rpartition(":")
    return f"{bytes(map(int, address.split('.'))).hex()}{int(port):08x}{offset:016x}".upper()


def _names(properties: dict[str, str], place: str | None) -> tuple[str, str | None, str | None, str | None]:
    """What a message is called: its id, where the broker put it, its keys, its tag."""
    keys = properties.get("KEYS")
    return properties.get("UNIQ_KEY", ""), place, keys and keys.strip(), properties.get("TAGS")


def _pairs(text: str) -> dict[str, Any]:
    """The properties of a message that is sent, as a header has them: name, 1, value, 2."""
    return dict(pair.split("\x01") for pair in text.split("\x02") if pair)
