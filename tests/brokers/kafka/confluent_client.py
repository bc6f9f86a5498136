"""confluent-kafka, that is librdkafka, a client in C: batches of all codecs, a group of the new protocol (KIP-848)."""

from __future__ import annotations

import sys
import time
from functools import partial

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.brokers.kafka.journal import CODECS, FIRST, RECORDS, Journal, Sent, said

TOPIC, GROUP, CLIENT = "from-librdkafka", "librdkafka-group", "librdkafka-client"


def main(address: str) -> Journal:
    """Does it all."""
    journal = Journal(CLIENT, group=GROUP)
    common = {"bootstrap.servers": address, "client.id": CLIENT}
    admin = AdminClient(common)
    for created in admin.create_topics([NewTopic(TOPIC, 2, 1)]).values():
        created.result(30)
    journal.created[TOPIC] = 2
    for codec in CODECS:
        _produce(journal, {**common, "compression.codec": codec, "linger.ms": 200})
    _consume(journal, admin, common)
    return journal


def _produce(journal: Journal, settings: dict[str, str | int]) -> None:
    producer = Producer(settings)
    for number, record in enumerate(RECORDS):
        producer.produce(
            TOPIC,
            record.value,
            record.key,
            number % 2,
            # The report of a delivery has no headers, so the record that was sent is kept with it.
            on_delivery=partial(_delivered, journal, record),
            timestamp=FIRST + number,
            headers=list(record.headers),
        )
    assert producer.flush(30) == 0


def _delivered(journal: Journal, record: Sent, error: KafkaError | None, message: Message) -> None:
    assert error is None, error
    assert (message.key(), message.value()) == (record.key, record.value)
    journal.produced.append(said(_place(message), message.timestamp()[1], record))


def _place(message: Message) -> tuple[str, int, int]:
    return message.topic(), message.partition(), message.offset()


def _consume(journal: Journal, admin: AdminClient, common: dict[str, str]) -> None:
    settings = {"group.id": GROUP, "group.protocol": "consumer", "auto.offset.reset": "earliest"}
    consumer = Consumer({**common, **settings, "enable.auto.commit": False})
    consumer.subscribe([TOPIC])
    deadline = time.monotonic() + 40
    while len(journal.consumed) < len(journal.produced) and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            record = Sent(message.key(), message.value(), tuple(message.headers() or ()))
            journal.consumed.append(said(_place(message), message.timestamp()[1], record))
    consumer.commit(asynchronous=False)
    group = admin.describe_consumer_groups([GROUP])[GROUP].result(30)
    journal.members = [member.member_id for member in group.members]
    for each in consumer.committed([TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)], timeout=30):
        journal.committed.append((each.topic, each.partition, each.offset))
    consumer.close()


if __name__ == "__main__":
    print(main(sys.argv[1]).printed())
