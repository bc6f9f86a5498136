"""kafka-python, a client in Python: a topic, batches of all codecs, a classic consumer group."""

from __future__ import annotations

import sys
import time
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.codec import has_snappy

from tests.brokers.kafka.journal import CODECS, FIRST, RECORDS, Journal, Sent, said

TOPIC, GROUP, CLIENT = "from-kafka-python", "kafka-python-group", "kafka-python-client"


def main(address: str) -> Journal:
    """Does it all."""
    journal = Journal(CLIENT, group=GROUP)
    common: dict[str, Any] = {"bootstrap_servers": address, "client_id": CLIENT}
    admin = KafkaAdminClient(**common)
    admin.create_topics([NewTopic(TOPIC, 2, 1)])
    journal.created[TOPIC] = 2
    for codec in CODECS:
        if codec != "snappy" or has_snappy():
            _produce(journal, codec, common)
    _consume(journal, admin, common)
    admin.close()
    return journal


def _produce(journal: Journal, codec: str, common: dict[str, Any]) -> None:
    producer = KafkaProducer(**common, compression_type=None if codec == "none" else codec, linger_ms=200)
    waiting = []
    for number, record in enumerate(RECORDS):
        headers = [(name, value) for name, value in record.headers if value is not None]
        time_of = FIRST + number
        future = producer.send(TOPIC, record.value, record.key, headers, partition=number % 2, timestamp_ms=time_of)
        waiting.append((future, time_of, Sent(record.key, record.value, tuple(headers))))
    producer.flush(30)
    for future, time_of, record in waiting:
        done = future.get(30)
        journal.produced.append(said((done.topic, done.partition, done.offset), time_of, record))
    producer.close()


def _consume(journal: Journal, admin: KafkaAdminClient, common: dict[str, Any]) -> None:
    consumer = KafkaConsumer(
        TOPIC, **common, group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False, max_poll_records=50
    )
    deadline = time.monotonic() + 40
    while len(journal.consumed) < len(journal.produced) and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=500).values():
            for each in records:
                record = Sent(each.key, each.value, tuple(each.headers))
                journal.consumed.append(said((each.topic, each.partition, each.offset), each.timestamp, record))
    consumer.commit()
    group = admin.describe_groups([GROUP])[GROUP]
    journal.members = [member["member_id"] for member in group["members"]]
    for partition in range(2):
        journal.committed.append((TOPIC, partition, consumer.committed(TopicPartition(TOPIC, partition))))
    consumer.close()


if __name__ == "__main__":
    print(main(sys.argv[1]).printed())
