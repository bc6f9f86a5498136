"""librdkafka again, over SASL with SCRAM: transactions that end well or badly, read by one who sees the former."""

from __future__ import annotations

import sys
import time
from functools import partial

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.brokers.kafka.journal import FIRST, RECORDS, Journal, Sent, said
from tests.brokers.kafka.recipe import PASSWORD, USER
from tests.brokers.kafka.transactions import CLIENT, GROUP, OUTCOMES, TOPIC


def main(address: str) -> Journal:
    """Does it all."""
    journal = Journal(CLIENT, group=GROUP)
    common = {"bootstrap.servers": address, "client.id": CLIENT, "security.protocol": "SASL_PLAINTEXT"}
    common |= {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": USER, "sasl.password": PASSWORD}
    admin = AdminClient(common)
    for created in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
        created.result(30)
    journal.created[TOPIC] = 1
    _produce(journal, common)
    _consume(journal, common)
    return journal


def _produce(journal: Journal, common: dict[str, str]) -> None:
    producer = Producer({**common, "transactional.id": "transactions", "compression.codec": "lz4", "linger.ms": 200})
    producer.init_transactions(30)
    for outcome in OUTCOMES:
        producer.begin_transaction()
        for number, record in enumerate(RECORDS):
            producer.produce(
                TOPIC,
                record.value,
                record.key,
                0,
                on_delivery=partial(_delivered, journal, record),
                timestamp=FIRST + number,
                headers=list(record.headers),
            )
        assert producer.flush(30) == 0
        if outcome == "commit":
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)


def _delivered(journal: Journal, record: Sent, error: KafkaError | None, message: Message) -> None:
    assert error is None, error
    journal.produced.append(said((message.topic(), 0, message.offset()), message.timestamp()[1], record))


def _consume(journal: Journal, common: dict[str, str]) -> None:
    consumer = Consumer({**common, "group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([TOPIC])
    wanted, deadline = len(RECORDS) * OUTCOMES.count("commit"), time.monotonic() + 40
    while len(journal.consumed) < wanted and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            record = Sent(message.key(), message.value(), tuple(message.headers() or ()))
            journal.consumed.append(said((message.topic(), 0, message.offset()), message.timestamp()[1], record))
    consumer.commit(asynchronous=False)
    for each in consumer.committed([TopicPartition(TOPIC, 0)], timeout=30):
        journal.committed.append((each.topic, each.partition, each.offset))
    journal.members = [consumer.memberid()]
    consumer.close()


if __name__ == "__main__":
    print(main(sys.argv[1]).printed())
