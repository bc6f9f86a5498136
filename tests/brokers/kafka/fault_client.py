"""librdkafka as the client of a fault: `python -m tests.brokers.kafka.fault_client ADDRESS WHAT SETTINGS`.

WHAT is a function of this module; SETTINGS are a JSON object: its arguments, and settings of the library (with dots).
It prints what it does, a line each, and ends by itself, by SIGTERM in good order.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

LONGEST = 120.0


def _say(text: str) -> None:
    print(text, flush=True)


class Stopped(Exception):
    """SIGTERM came."""


def _stop(*_: object) -> None:
    raise Stopped


def consume(common: dict[str, Any], topics: list[str], work: float = 0, start: int | None = None) -> None:
    """Consumes until it is stopped. work: seconds that the first record takes. start: the offset to begin at."""
    consumer = Consumer({"auto.offset.reset": "earliest", **common})
    if start is None:
        consumer.subscribe(topics, on_assign=lambda _, parts: _say(f"assigned {len(parts)}"))
    else:
        consumer.assign([TopicPartition(topics[0], 0, start)])
    try:
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                _say(f"record {message.offset()}")
                time.sleep(work)
                work = 0
            elif message is not None:
                _say(f"error {message.error()}")
    except Stopped:
        _say("stopped")
    finally:
        consumer.close()


def produce(common: dict[str, Any], topic: str, count: int, size: int = 100, pause: float = 0) -> None:
    """Produces `count` records of `size` bytes, `pause` seconds one from the other."""
    producer = Producer(common)

    def delivered(error: Any, message: Message) -> None:
        _say(f"delivered {error or message.offset()}")

    for number in range(count):
        # Every record is another, so that a codec finds little to compress.
        producer.produce(topic, f"{number:08}".encode() * (size // 8), on_delivery=delivered)
        producer.poll(pause)
    producer.flush(LONGEST)
    _say("flushed")


def transact(common: dict[str, Any], topic: str, wait: float) -> None:
    """Writes one transaction, waits so many seconds, and commits."""
    producer = Producer(common)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction")
    producer.flush(30)
    _say("written")
    time.sleep(wait)
    try:
        producer.commit_transaction(30)
        _say("committed")
    except KafkaException as error:
        _say(f"refused {error.args[0].name()}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    address, what, given = sys.argv[1:]
    settings = json.loads(given)
    of_library = {name: value for name, value in settings.items() if "." in name}
    arguments = {name: value for name, value in settings.items() if "." not in name}
    {"consume": consume, "produce": produce, "transact": transact}[what](
        {"bootstrap.servers": address, "client.id": what, **of_library}, **arguments
    )
