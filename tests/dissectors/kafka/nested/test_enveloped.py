"""Requests and answers in envelopes: with records, with secrets, one in another."""

from __future__ import annotations

import gzip
import struct

import pytest

from analyzer.decode.jsonable import JsonWriter
from analyzer.render.tree_json import make_node_object
from dissectors.api import Context, Role
from dissectors.kafka.conversation import KafkaConversation
from dissectors.kafka.nested.envelope import DEEPEST
from dissectors.wire import Secret
from dissectors.wire.embedded import EmbeddedValue
from tests.dissectors.kafka.nested.structured import CONTROL, batched, both, framed, produce, uvarint
from tests.dissectors.kafka.nested.test_structures import METADATA_REQUEST, answered, envelope
from tests.dissectors.kafka.records.test_values import batch, record
from tests.dissectors.trees import node

ENVELOPE = Context(Role.REQUEST, 58, 0)
METADATA_ANSWER = struct.pack(">iii", 5, 0, 0)
SASL = struct.pack(">hhih", 36, 0, 5, -1) + struct.pack(">i", 8) + b"\0me\0word"


def nested(depth: int) -> bytes:
    """An envelope, and so many more in it; the innermost holds a request for metadata."""
    inner = METADATA_REQUEST
    for _ in range(depth):
        inner = envelope(inner)[4:]
    return framed(inner)


def inner_of(value: object, field: str, depth: int) -> object:
    for _ in range(depth):
        assert isinstance(value, EmbeddedValue), value
        value = value.value["fields"][field]
    return value


@pytest.mark.parametrize(
    ("records", "sources"),
    [
        (batched([(b"k", b"v")]), 1),
        (batched([(b"\0\0\0\1", b"v")], CONTROL), 1),
        (batch(gzip.compress(record(0, 0, b"k", b"v")), 1, 1), 2),
    ],
    ids=["plain", "control", "gzip"],
)
def test_records_are_decoded(records: bytes, sources: int) -> None:
    body, tree = both(envelope(produce(b"t", records)[4:]), ENVELOPE)
    stored = body.values["requestData"]
    assert (stored.name, stored.value["code"], stored.value["version"]) == ("ProduceRequest", 0, 7)
    alone, _ = both(produce(b"t", records), Context(Role.REQUEST, 0, 7))
    assert stored.value["fields"] == alone.values
    assert len(stored.value["fields"]["topicData"][0]["partitionData"][0]["records"][0]["records"]) == 1
    assert len(tree.sources) == sources


@pytest.mark.parametrize("depth", range(1, DEEPEST + 1))
def test_one_in_another(depth: int) -> None:
    body, _ = both(nested(depth), ENVELOPE)
    innermost = inner_of(body.values["requestData"], "requestData", depth - 1)
    assert isinstance(innermost, EmbeddedValue)
    assert innermost.value["fields"] == {"topics": [{"name": "t"}]}


def test_not_deeper_than_that() -> None:
    body, _ = both(nested(DEEPEST + 1), ENVELOPE)
    assert inner_of(body.values["requestData"], "requestData", DEEPEST) == METADATA_REQUEST


def test_answers_come_back_in_the_same_envelopes() -> None:
    conversation = KafkaConversation()
    conversation.step(1, nested(2), True)
    inner = (
        struct.pack(">iB", 9, 0) + uvarint(len(METADATA_ANSWER) + 1) + METADATA_ANSWER + struct.pack(">h", 0) + b"\0"
    )
    answer = answered(inner)
    outcome = conversation.step(2, answer, False)
    assert outcome.partner == 1
    header = outcome.header
    body, _ = both(answer, Context(header.role, header.code, header.version, outcome.extra))
    innermost = inner_of(body.values["responseData"], "responseData", 1)
    assert isinstance(innermost, EmbeddedValue)
    text = {"correlation": 5, "fields": {"brokers": [], "topics": []}}
    assert innermost.value == {"code": 3, "version": 0, **text}


def test_a_secret_in_one_is_secret_in_all_of_them() -> None:
    body, tree = both(envelope(envelope(SASL)[4:]), ENVELOPE)
    assert isinstance(body.values["requestData"].data, Secret)
    shown = JsonWriter().dumps(body.values) + JsonWriter().dumps([make_node_object(each) for each in tree.fields])
    assert b"word" not in shown
    assert b"word".hex().encode() not in shown
    assert node(tree, "body", "requestData", "fields", "requestData", "fields", "authBytes").spec.secret
