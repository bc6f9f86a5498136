"""Levels of features: what a number is called beside the feature's name."""

from __future__ import annotations

import struct

import pytest

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.kafka.labels import labels
from dissectors.kafka.tables import table
from tests.dissectors.kafka.nested.structured import FETCH, METADATA_ID, batched, both, fetched, framed, uvarint
from tests.dissectors.trees import every


def texts(tree: Tree, *names: str) -> list[str | None]:
    return [node.text for node in every(tree.fields) if node.spec.name in names]


def feature(name: str, *levels: int) -> bytes:
    return uvarint(len(name) + 1) + name.encode() + b"".join(struct.pack(">h", level) for level in levels) + b"\0"


@pytest.mark.parametrize(("name", "low", "high", "expected"), [
    ("metadata.version", 7, 29, ["IBP_3_3_IV3", "IBP_4_2_IV1"]),
    ("kraft.version", 0, 1, ["KRAFT_VERSION_0", "KRAFT_VERSION_1"]),
    ("group.version", 0, 9, ["GV_0", None]),
    ("mine", 0, 1, [None, None]),
])  # fmt: skip
def test_supported_features(name: str, low: int, high: int, expected: list[str | None]) -> None:
    """ApiVersions v3, whose features are tagged."""
    features = b"\2" + feature(name, low, high)
    body = struct.pack(">h", 0) + b"\1" + bytes(4) + b"\1\0" + uvarint(len(features)) + features
    _, tree = both(framed(bytes(4) + body), Context(Role.RESPONSE, 18, 3))
    assert texts(tree, "minVersion", "maxVersion") == expected


def test_a_finalized_level_in_the_metadata_log() -> None:
    record = b"\1\x0c\0" + feature("transaction.version", 2)
    _, tree = both(fetched(METADATA_ID, batched([(None, record)])), FETCH)
    assert texts(tree, "featureLevel") == ["TV_2"]


def test_every_name_has_labels_and_every_place_its_members() -> None:
    rules = table("quirks")["features"]
    for enum in rules["names"].values():
        assert labels(enum) is not None
    described = {row["name"]: row["fields"] for row in table("records")["records"]}
    for row in table("messages")["messages"]:
        described |= {row["name"] + kind.capitalize(): row[kind]["fields"] for kind in ("request", "response")}
    for rule in rules["levels"]:
        message, _, array = rule["at"].partition(".")
        fields = described[message]
        if array:
            fields = next(each for each in fields if each["name"] == array)["fields"]
        assert {rule["name"], *rule["levels"]} <= {each["name"] for each in fields}
