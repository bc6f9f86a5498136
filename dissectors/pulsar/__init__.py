"""Apache Pulsar: the binary protocol of clients, brokers and proxies, 2.8 to 5.0."""

from dissectors.pulsar.dissector import Pulsar

__all__ = ["Pulsar"]
