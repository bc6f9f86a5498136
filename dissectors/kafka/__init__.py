"""Apache Kafka: every API in every version from 2.2 to 4.5, record batches of all three formats."""

from dissectors.kafka.dissector import Kafka

__all__ = ["Kafka"]
