"""Bytes with what they decode to: how they are folded, printed and masked."""

from __future__ import annotations

import json

import pytest

from analyzer.decode.jsonable import JsonWriter, Limits
from dissectors.field import Field, FieldSpec
from dissectors.wire.embedded import EmbeddedValue, Holder, embed, holds_secret
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LENGTH, members

PLAIN = embed(b"\1\2", {"n": 1}, "Marker")
SECRET = embed(b"\1\2", {"deep": [{"password": Secret(b"\2")}]})


@pytest.mark.parametrize(
    ("value", "limits", "expected"),
    [
        (PLAIN, Limits(), {"hex": "0102", "length": 2, "as": "Marker", "value": {"n": 1}}),
        (PLAIN, Limits(bytes_limit=1), {"hex": "01", "length": 2, "as": "Marker", "value": {"n": 1}}),
        (SECRET, Limits(), {"redacted": True, "length": 2,
                            "value": {"deep": [{"password": {"redacted": True, "length": 1}}]}}),
        (SECRET, Limits(show_secrets=True), {"hex": "0102", "length": 2,
                                             "value": {"deep": [{"password": {"hex": "02", "length": 1}}]}}),
        (EmbeddedValue(b"", [1, 2, 3]), Limits(max_items=2), {"hex": "", "length": 0,
                                                         "value": [1, 2, {"truncated": True, "length": 3}]}),
    ],
)  # fmt: skip
def test_json(value: EmbeddedValue, limits: Limits, expected: object) -> None:
    assert json.loads(JsonWriter(limits).dumps({"data": value, "huge": 1})) == {"data": expected, "huge": 1}
    assert json.loads(JsonWriter(limits).dumps({"data": value, "huge": 1 << 70}))["data"] == expected


def test_secrets_are_found_in_depth() -> None:
    assert holds_secret({"a": [SECRET]})
    assert not holds_secret({"a": [PLAIN], "b": b"secret"})
    assert (PLAIN.data, SECRET.data) == (b"\1\2", Secret(b"\1\2"))


def test_a_holder_folds_to_both_readings() -> None:
    inside = [Field(LENGTH["int"], 2, 0, 4), Field(FieldSpec("n", "int16"), 258, 4, 2)]
    node = Field(Holder("data", "buffer", holds="Marker"), b"\1\2", 0, 6, children=inside)
    null = Field(Holder("other", "buffer"), None, 6, 4)
    assert members([node, null]) == {"data": EmbeddedValue(b"\1\2", {"n": 258}, "Marker"), "other": None}
