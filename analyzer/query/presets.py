"""Sets of columns by name, for `--columns`: one for each protocol, and some for questions that people come with.

A key is whatever `-e` takes. The configuration file may add some, and have its own of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TABLE_KEYS: Sequence[str] = (
    *("number", "time", "stream", "source", "destination", "protocol", "role", "operation", "version", "length"),
    *("latency_ns", "state", "error", "info", "findings"),
)
"""What the table of `list` is made of; state, error, info and findings share its last column."""

_WHO = ("number", "time", "stream", "source", "destination")

PRESETS: Mapping[str, Sequence[str]] = {
    "default": TABLE_KEYS,
    "wide": (
        *(*_WHO, "protocol", "role", "operation", "code", "version", "correlation", "client", "length"),
        *("first_packet", "last_packet", "partner", "latency", "state", "findings", "error", "info"),
    ),
    "latency": ("number", "time", "latency", "stream", "client", "operation", "version", "length", "error", "info"),
    "kafka": (
        *(*_WHO, "role", "operation", "version", "correlation", "client", "latency"),
        *("kafka.topic", "kafka.group", "error", "info"),
    ),
    "zookeeper": (
        *(*_WHO, "role", "operation", "correlation", "client", "latency"),
        *("zookeeper.path", "error", "info"),
    ),
    "zookeeper-quorum": (*_WHO, "role", "operation", "length", "latency", "error", "info"),
    "pulsar": (
        *(*_WHO, "role", "operation", "correlation", "client", "latency"),
        *("pulsar.topic", "pulsar.subscription", "error", "info"),
    ),
    "rocketmq": (
        *(*_WHO, "role", "operation", "correlation", "latency"),
        *("rocketmq.topic", "rocketmq.queue", "rocketmq.group", "rocketmq.offset", "rocketmq.msg_id", "error", "info"),
    ),
}
"""The keys of each, in the order of the columns."""
