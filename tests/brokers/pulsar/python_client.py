"""pulsar-client, that is Pulsar's client in C++: batches of all codecs, subscriptions of all types, seek, schemas.

Argument: the broker's address.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pulsar
from pulsar.schema import AvroSchema, Integer, JsonSchema, Record, String

from tests.brokers.pulsar.journal import TOPICS

CODECS = ("NONE", "LZ4", "ZLib", "ZSTD", "SNAPPY")
PAYLOADS = (b"value", b"", bytes(range(256)), b"0123456789abcdef" * 500, "\u017elu\u0165ou\u010dk\u00fd".encode())
"""What is awkward in payloads: empty, not text, many bytes."""

PATIENCE = 20_000
"""Milliseconds until a message must have come."""


class Order(Record):  # type: ignore[misc]  # its library has no types
    """What is sent with a schema."""

    name = String()
    amount = Integer()


_lock = threading.Lock()


def printed(word: str, content: Any) -> None:
    """A line of the journal, in one piece: receipts come on threads of their own."""
    with _lock:
        print(word, json.dumps(content), flush=True)


def _id(given: Any) -> tuple[int, int, int]:
    return given.ledger_id(), given.entry_id(), given.batch_index()


class Sender:
    """A producer that tells what was taken. It numbers its messages by itself."""

    def __init__(self, client: pulsar.Client, topic: str, **settings: Any) -> None:
        self.producer = client.create_producer(TOPICS + topic, **settings)
        self.topic = TOPICS + topic
        self.next = 0

    def send(self, values: Iterable[Any], keys: Sequence[str | None] = (None,)) -> None:
        """All at once; returns when all are taken. Keys are used again from the first one."""
        left, done = 0, threading.Semaphore(0)
        for value in values:
            sequence, key = self.next, keys[self.next % len(keys)]
            self.next += 1
            content = self.producer._schema.encode(value)

            def taken(result: Any, given: Any, content: bytes = content, at: Any = (sequence, key)) -> None:
                assert result == pulsar.Result.Ok, result
                name = self.producer.producer_name()
                reported = {"topic": self.topic, "producer": name, "sequence": at[0], "id": _id(given)}
                printed("SENT", {**reported, "payload": content.hex(), "key": at[1]})
                done.release()

            properties = {"number": str(sequence)}
            self.producer.send_async(value, taken, properties, key, sequence_id=sequence, event_timestamp=1 + sequence)
            left += 1
        self.producer.flush()
        for _ in range(left):
            assert done.acquire(timeout=PATIENCE / 1000), "not taken"

    def close(self) -> None:
        """Tells the broker."""
        self.producer.close()


class Taker:
    """A consumer, or a reader, that tells what it was given."""

    def __init__(self, name: str, consumer: Any) -> None:
        self.name, self.consumer = name, consumer

    def take(self, count: int, acks: bool = True) -> list[Any]:
        """So many messages."""
        found = [self.one(PATIENCE) for _ in range(count)]
        if acks:
            for each in found:
                self.ack(each)
        return found

    def one(self, patience: int) -> Any:
        """The next message; raises pulsar.Timeout where none comes."""
        read = getattr(self.consumer, "receive", None) or self.consumer.read_next
        message = read(patience)
        key = message.partition_key()
        reported = {"topic": message.topic_name(), "consumer": self.name, "id": _id(message.message_id())}
        reported |= {"payload": message.data().hex(), "key": key or None, "redelivered": message.redelivery_count()}
        printed("GOT", reported)
        return message

    def ack(self, message: Any, cumulative: bool = False) -> None:
        """Of one, or of all up to it."""
        reported = {"topic": message.topic_name(), "consumer": self.name, "id": _id(message.message_id())}
        printed("ACKED", {**reported, "cumulative": cumulative})
        (self.consumer.acknowledge_cumulative if cumulative else self.consumer.acknowledge)(message)


def subscribed(client: pulsar.Client, topic: str, subscription: str, name: str, kind: str, **settings: Any) -> Taker:
    """A consumer of that type, from the topic's first message on."""
    first = pulsar.InitialPosition.Earliest
    consumer = client.subscribe(
        TOPICS + topic,
        subscription,
        getattr(pulsar.ConsumerType, kind),
        consumer_name=name,
        initial_position=first,
        **settings,
    )
    return Taker(name, consumer)


def codecs(client: pulsar.Client) -> None:
    """A batch of each, and the same messages one by one."""
    for number, codec in enumerate(CODECS):
        for batched in (True, False):
            settings = {"batching_enabled": batched, "batching_max_publish_delay_ms": 200}
            compression = getattr(pulsar.CompressionType, codec)
            name = f"sender-{codec}-{'batched' if batched else 'single'}"
            sender = Sender(client, "python-codecs", producer_name=name, compression_type=compression, **settings)
            sender.send(PAYLOADS if batched else PAYLOADS[number:], ("a key", None))
            sender.close()
    count = len(CODECS) * len(PAYLOADS) + sum(range(1, len(PAYLOADS) + 1))
    taker = subscribed(client, "python-codecs", "all", "exclusive-1", "Exclusive", receiver_queue_size=10)
    messages = taker.take(count, acks=False)
    taker.ack(messages[-1], cumulative=True)
    # The library gathers acknowledgements for 0.1 s, and forgets at a seek those that it did not tell yet.
    time.sleep(0.5)
    try:
        subscribed(client, "python-codecs", "all", "exclusive-2", "Exclusive")
    except pulsar.ConsumerBusy:
        printed("FAILED", {"operation": "SUBSCRIBE", "error": "ConsumerBusy"})
    taker.consumer.seek(pulsar.MessageId.earliest)
    taker.take(3)
    taker.consumer.unsubscribe()
    taker.consumer.close()


def several(client: pulsar.Client, kind: str) -> None:
    """Two consumers of one subscription; what the first one does not acknowledge comes again."""
    topic = f"python-{kind.lower()}"
    sender = Sender(client, topic, producer_name=f"sender-{kind}")
    settings = {"negative_ack_redelivery_delay_ms": 300}
    takers = [subscribed(client, topic, "several", f"{kind}-{number}", kind, **settings) for number in (1, 2)]
    sender.send([b"%d" % number for number in range(8)], ("one", "two", "three"))
    left, refused, deadline = 8, False, time.monotonic() + PATIENCE / 1000
    while left:
        assert time.monotonic() < deadline, f"{left} messages of {topic} did not come"
        for taker in takers:
            try:
                message = taker.one(100)
            except pulsar.Timeout:
                continue
            if refused:
                taker.ack(message)
                left -= 1
            else:
                refused = True
                taker.consumer.negative_acknowledge(message)
    for taker in takers:
        taker.consumer.close()
    sender.close()


def schemas(client: pulsar.Client) -> None:
    """A structure as Avro and as JSON."""
    for schema in (AvroSchema(Order), JsonSchema(Order)):
        kind = type(schema).__name__
        sender = Sender(client, f"python-{kind}", producer_name=f"sender-{kind}", schema=schema)
        sender.send([Order(name="first", amount=1), Order(name="second", amount=-2)])
        taker = subscribed(client, f"python-{kind}", "typed", f"typed-{kind}", "Exclusive", schema=schema)
        assert [message.value().amount for message in taker.take(2)] == [1, -2]
        taker.consumer.close()
        sender.close()


def reading(client: pulsar.Client) -> None:
    """A reader, which has a subscription that nobody named."""
    sender = Sender(client, "python-read", producer_name="sender-read")
    sender.send([b"first", b"second"])
    reader = client.create_reader(TOPICS + "python-read", pulsar.MessageId.earliest, reader_name="reader")
    taker = Taker("reader", reader)
    while reader.has_message_available():
        taker.take(1, acks=False)
    reader.close()
    sender.close()


def main(address: str) -> None:
    """Does it all."""
    client = pulsar.Client(f"pulsar://{address}", logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Warn))
    codecs(client)
    for kind in ("Shared", "Failover", "KeyShared"):
        several(client, kind)
    schemas(client)
    reading(client)
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
