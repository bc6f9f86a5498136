"""The keys of what messages carry: their properties, in a header's text or in a stored message."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.rocketmq.payloads import list_payloads

CASES = [
    ("sent", {"header": {"topic": "t", "properties": "A\x01b\x02KEYS\x01k1 k2\x02"}, "body": b"x"}, ["k1 k2"]),
    ("sent in order", {"header": {"topic": "t", "properties": "__SHARDINGKEY\x01s"}, "body": b"x"}, ["s"]),
    ("both", {"header": {"topic": "t", "properties": "__SHARDINGKEY\x01s\x02KEYS\x01k"}, "body": b"x"}, ["k"]),
    ("none", {"header": {"topic": "t", "properties": ""}, "body": b"x"}, [None]),
    ("no properties", {"header": {"topic": "t"}, "body": b"x"}, [None]),
    ("stored", {"body": {"messages": [{"body": b"x", "properties": {"KEYS": "k"}}, {"body": b"y"}]}}, ["k", None]),
    ("not UTF-8", {"body": {"messages": [{"body": b"x", "properties": b"KEYS\x01\xff"}]}}, [None]),
    (
        "an inner batch, of which each has its own",
        {"body": {"messages": [{"properties": {"KEYS": "o"}, "messages": [{"body": b"x", "properties": {}}]}]}},
        [None],
    ),
]


@pytest.mark.parametrize(("values", "keys"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_keys(values: dict[str, Any], keys: list[str | None]) -> None:
    assert [each.record.key for each in list_payloads(values, lambda: None) if each.record is not None] == keys
