"""What SEND and MESSAGE carry, and what tables say of it."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.pulsar.payloads import list_payloads

KEYS: dict[str, tuple[dict[str, Any], object]] = {
    "none": ({}, None),
    "text": ({"partition_key": "a"}, "a"),
    "base64": ({"partition_key": "AAEC", "partition_key_b64_encoded": True}, b"\x00\x01\x02"),
    "base64 that is none": ({"partition_key": "A*", "partition_key_b64_encoded": True}, "A*"),
    "base64 that is no ASCII": ({"partition_key": "ä", "partition_key_b64_encoded": True}, "ä"),
    "no text": ({"partition_key": b"\xff", "partition_key_b64_encoded": True}, b"\xff"),
}


@pytest.mark.parametrize("case", KEYS)
def test_keys(case: str) -> None:
    metadata, expected = KEYS[case]
    batch = {"messages": [{"metadata": metadata, "payload": b"x"}, {"metadata": {}, "payload": b"y"}]}
    (alone,) = list_payloads({"producer_id": 1, "sequence_id": 2, "metadata": metadata, "payload": b"x"}, lambda: None)
    first, second = list_payloads({"producer_id": 1, "sequence_id": 2, "metadata": {}, "payload": batch}, lambda: None)
    assert [each.record and each.record.key for each in (alone, first, second)] == [expected, expected, None]
    assert [each.name[-1] for each in (alone, first, second)] == ["2", "0", "1"]


def test_of_what_lacks_anything() -> None:
    for values in ({}, {"payload": b"x"}, {"payload": {"messages": [None, {}, {"payload": b"x"}]}}, {"payload": {}}):
        for each in list_payloads(values, lambda: None):
            assert each.record is not None
            assert each.record.key is None
