"""kafka-python over TLS, with its secrets in a key log: of a context's own, or of the environment (SSLKEYLOGFILE)."""

from __future__ import annotations

import ssl
import sys

from kafka import KafkaProducer


def main(address: str, authority: str, topic: str, client: str, log: str) -> None:
    """Sends one record. log: the path of the key log; empty: the environment names it."""
    context = ssl.create_default_context(cafile=authority)
    if log:
        context.keylog_filename = log
    producer = KafkaProducer(bootstrap_servers=address, client_id=client, security_protocol="SSL", ssl_context=context)
    producer.send(topic, b"from kafka-python").get(30)
    producer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
