"""What the public protocol guide shows, command by command, as bytes written by hand from its field numbers."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.pulsar import Pulsar
from dissectors.wire.secret import Secret
from tests.dissectors.trees import assert_tiles

PULSAR = Pulsar()
TOPIC = "persistent://my-property/my-cluster/my-namespace/my-topic"

Fields = list[tuple[int, Any]]


def varint(number: int) -> bytes:
    number %= 1 << 64
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def message(fields: Fields) -> bytes:
    """Numbers as varints, texts, bytes and messages behind their length."""
    found = b""
    for number, value in fields:
        if isinstance(value, int):
            found += varint(number << 3) + varint(value)
            continue
        data = message(value) if isinstance(value, list) else value.encode() if isinstance(value, str) else value
        found += varint(number << 3 | 2) + varint(len(data)) + data
    return found


def frame(kind: int, fields: Fields) -> bytes:
    command = message([(1, kind), (kind, fields)])
    body = len(command).to_bytes(4) + command
    return len(body).to_bytes(4) + body


ID = [(1, 123), (2, 456)]
IDS = {"ledgerId": 123, "entryId": 456}

CASES: list[tuple[str, int, Fields, dict[str, Any]]] = [
    (
        "CONNECT",
        2,
        [(1, "Pulsar-Client-Java-v1.15.2"), (5, "my-authentication-plugin"), (3, b"my-auth-data"), (4, 6)],
        {
            "client_version": "Pulsar-Client-Java-v1.15.2",
            "auth_method_name": "my-authentication-plugin",
            "auth_data": b"my-auth-data",
            "protocol_version": 6,
        },
    ),
    (
        "CONNECTED",
        3,
        [(1, "Pulsar-Broker-v1.15.2"), (2, 6)],
        {"server_version": "Pulsar-Broker-v1.15.2", "protocol_version": 6},
    ),
    ("PING", 18, [], {}),
    ("PONG", 19, [], {}),
    (
        "PRODUCER",
        5,
        [(1, TOPIC), (2, 1), (3, 1)],
        {"topic": TOPIC, "producer_id": 1, "request_id": 1},
    ),
    (
        "PRODUCER_SUCCESS",
        17,
        [(1, 1), (2, "generated-unique-producer-name")],
        {"request_id": 1, "producer_name": "generated-unique-producer-name"},
    ),
    ("SEND", 6, [(1, 1), (2, 0), (3, 1)], {"producer_id": 1, "sequence_id": 0, "num_messages": 1}),
    (
        "SEND_RECEIPT",
        7,
        [(1, 1), (2, 0), (3, ID)],
        {"producer_id": 1, "sequence_id": 0, "message_id": IDS},
    ),
    ("CLOSE_PRODUCER", 15, [(1, 1), (2, 2)], {"producer_id": 1, "request_id": 2}),
    (
        "SUBSCRIBE",
        4,
        [(1, TOPIC), (2, "my-subscription-name"), (3, 0), (4, 1), (5, 1)],
        {
            "topic": TOPIC,
            "subscription": "my-subscription-name",
            "subType": "Exclusive",
            "consumer_id": 1,
            "request_id": 1,
        },
    ),
    ("FLOW", 11, [(1, 1), (2, 1000)], {"consumer_id": 1, "messagePermits": 1000}),
    ("MESSAGE", 9, [(1, 1), (2, ID)], {"consumer_id": 1, "message_id": IDS}),
    (
        "ACK",
        10,
        [(1, 1), (2, 0), (3, ID)],
        {"consumer_id": 1, "ack_type": "Individual", "message_id": [IDS]},
    ),
    ("CLOSE_CONSUMER", 16, [(1, 1), (2, 1)], {"consumer_id": 1, "request_id": 1}),
    ("UNSUBSCRIBE", 12, [(1, 1), (2, 1)], {"consumer_id": 1, "request_id": 1}),
    ("LOOKUP", 23, [(1, TOPIC), (2, 1), (3, 0)], {"topic": TOPIC, "request_id": 1, "authoritative": False}),
    (
        "LOOKUP_RESPONSE",
        24,
        [(1, "pulsar://my-broker:6650"), (2, "pulsar+ssl://my-broker:6651"), (3, 1), (4, 1), (5, 1)],
        {
            "brokerServiceUrl": "pulsar://my-broker:6650",
            "brokerServiceUrlTls": "pulsar+ssl://my-broker:6651",
            "response": "Connect",
            "request_id": 1,
            "authoritative": True,
        },
    ),
    ("PARTITIONED_METADATA", 21, [(1, TOPIC), (2, 1)], {"topic": TOPIC, "request_id": 1}),
    (
        "PARTITIONED_METADATA_RESPONSE",
        22,
        [(1, 32), (2, 1), (3, 0)],
        {"partitions": 32, "request_id": 1, "response": "Success"},
    ),
]


@pytest.mark.parametrize(
    ("name", "kind", "fields", "expected"), CASES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_command_of_the_guide(name: str, kind: int, fields: Fields, expected: dict[str, Any]) -> None:
    data = frame(kind, fields)
    header = PULSAR.header(data, True)
    assert (header.operation, header.code) == (name, kind)
    context = Context(header.role, header.code)
    body = PULSAR.values(data, context)
    shown = {key: value.reveal() if isinstance(value, Secret) else value for key, value in body.values.items()}
    assert shown == expected
    assert not body.findings
    assert_tiles(PULSAR.tree(data, context))


def test_authentication_data_is_a_secret() -> None:
    name, kind, fields, _ = CASES[0]
    assert isinstance(PULSAR.values(frame(kind, fields), Context(Role.REQUEST, kind)).values["auth_data"], Secret), name
