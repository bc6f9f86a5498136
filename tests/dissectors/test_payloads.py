"""What messages carry: found where it may stand, and nothing raised where a value is not what it should be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.messages import defects
from dissectors.registry import BUILT_IN, by_name
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.inner import dicts, find_within
from dissectors.wire.secret import Secret

RECORD = {"offset": 7, "key": None, "value": b"v"}
PULLED = {"topic": "t", "queueId": 2, "queueOffset": 9, "body": b"b"}

CASES: list[tuple[str, str, dict[str, Any], list[tuple[str, object, str]]]] = [
    (
        "kafka",
        "a batch",
        {
            "topics": [
                {"topic": "t", "partitions": [{"partition": 3, "records": [{"baseOffset": 7, "records": [RECORD]}]}]}
            ]
        },
        [("topics.0.partitions.0.records.0.records.0.value", b"v", "t-3-7")],
    ),
    (
        "kafka",
        "a wrapper of old messages",
        {"records": [{"offset": 1, "value": b"zip", "messages": [{"offset": 0, "key": b"k", "value": b"v"}]}]},
        [
            ("records.0.messages.0.key", b"k", "unknown-unknown-0"),
            ("records.0.messages.0.value", b"v", "unknown-unknown-0"),
        ],
    ),
    (
        "kafka",
        "a record that says more",
        {
            "name": "t",
            "records": [{"baseOffset": 0, "records": [{**RECORD, "value": EmbeddedValue(b"v", {}, "Some")}]}],
        },
        [("records.0.records.0.value", b"v", "t-unknown-7")],
    ),
    ("kafka", "no records", {"topics": [{"name": "t", "partitions": [1, 2]}]}, []),
    (
        "kafka",
        "a batch that breaks",
        {"records": [{"baseOffset": 0, "partial": True}, {"partial": True, "length": 9}]},
        [],
    ),
    ("pulsar", "one", {"producer_id": 4, "sequence_id": 5, "payload": b"p"}, [("payload", b"p", "producer4-5")]),
    (
        "pulsar",
        "a batch delivered",
        {"message_id": {"ledgerId": 1, "entryId": 2}, "payload": {"messages": [{"payload": b"a"}, {"payload": b"b"}]}},
        [("payload.messages.0.payload", b"a", "ledger-1-2-0"), ("payload.messages.1.payload", b"b", "ledger-1-2-1")],
    ),
    (
        "pulsar",
        "a chunk",
        {"sequence_id": 0, "metadata": {"producer_name": "p"}, "chunk": {"id": 3}, "payload": b"c"},
        [("payload", b"c", "p-0-chunk3")],
    ),
    ("rocketmq", "sent", {"header": {"topic": "t", "queueId": 1}, "body": b"b"}, [("body", b"b", "t-1")]),
    (
        "rocketmq",
        "sent compressed",
        {"header": {"topic": "t", "queueId": 1}, "body": b"zip", "bodyUncompressed": b"b"},
        [("bodyUncompressed", b"b", "t-1")],
    ),
    ("rocketmq", "pulled", {"body": {"messages": [PULLED]}}, [("body.messages.0.body", b"b", "t-2-9")]),
    (
        "rocketmq",
        "an inner batch",
        {"body": {"messages": [{**PULLED, "messages": [{"queueOffset": 9, "body": b"i"}]}]}},
        [("body.messages.0.messages.0.body", b"i", "t-2-9")],
    ),
    ("rocketmq", "what no application sent", {"header": {"name": "x"}, "body": b"b"}, []),
    ("zookeeper", "set", {"path": "/a", "data": b"d"}, [("data", b"d", "/a")]),
    ("zookeeper", "read", {"err": 0, "data": b"d", "stat": {}}, [("data", b"d", "/asked")]),
    (
        "zookeeper",
        "read among others",
        {"operations": [{"type": "getChildren"}, {"type": "getData", "data": b"d"}]},
        [("operations.1.data", b"d", "/asked/1")],
    ),
    (
        "zookeeper-quorum",
        "a transaction",
        {"data": EmbeddedValue(b"raw", {"header": {}, "txn": {"path": "/t", "data": b"d"}})},
        [("data.txn.data", b"d", "/t")],
    ),
]
ASKED = {"path": "/asked", "operations": [{"path": "/asked/0"}, {"path": "/asked/1"}]}


@pytest.mark.parametrize(
    ("protocol", "name", "values", "expected"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES]
)
def test_payloads(protocol: str, name: str, values: dict[str, Any], expected: list[tuple[str, object, str]]) -> None:
    found = list(by_name(protocol).payloads.extract(values, lambda: ASKED))
    assert [(".".join(map(str, each.place)), each.value, "-".join(each.name)) for each in found] == expected


def test_a_secret_stays_one() -> None:
    (found,) = by_name("zookeeper").payloads.extract({"path": "/a", "data": Secret(b"s")}, lambda: None)
    assert isinstance(found.value, Secret)


NAMES = (
    "records",
    "baseOffset",
    "messages",
    "key",
    "value",
    "payload",
    "body",
    "header",
    "topic",
    "data",
    "path",
    "name",
)
LEAF = st.none() | st.integers() | st.text(max_size=3) | st.binary(max_size=3) | st.booleans()
VALUES = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=settings.default.max_examples // 4)  # six protocols each
@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3), st.sampled_from((None, {}, ASKED, {"path": []})))
def test_odd_values_raise_nothing_and_places_lead_back(values: dict[str, Any], asked: dict[str, Any] | None) -> None:
    for name in BUILT_IN:
        for each in defects.extract_payloads(by_name(name), values, lambda: asked):
            assert find_within(values, each.place) is not None
            assert all(isinstance(part, str) for part in each.name)
    for place, found in dicts(values):
        assert find_within(values, place) is found
