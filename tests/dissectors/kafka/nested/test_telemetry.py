"""PushTelemetry's metrics: what the vendor's classes read from the same bytes, in all compressions."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.field import Tree
from dissectors.kafka.nested.telemetry import CODECS, nanoseconds
from dissectors.kafka.tables import table
from tests.dissectors.kafka.nested.structured import both, framed, unread, uvarint
from tests.dissectors.kafka.nested.test_groups import FILE
from tests.dissectors.trees import at_path, every, node

PUSH = Context(Role.REQUEST, 72, 0)
PLAIN = bytes.fromhex(FILE["metrics"]["plain"])
COMPRESSED = {int(kind): bytes.fromhex(digits) for kind, digits in FILE["metrics"]["compressed"].items()}
NAME = "opentelemetry.proto.metrics.v1.MetricsData"


def pushed(metrics: bytes, compression: int) -> tuple[Body, Tree]:
    body = bytes(16) + struct.pack(">i?b", 7, False, compression) + uvarint(len(metrics) + 1) + metrics + b"\0"
    decoded, tree = both(framed(struct.pack(">hhih", 72, 0, 1, -1) + b"\0" + body), PUSH)
    assert not unread(decoded)
    return decoded, tree


def equal(ours: Any, truth: Any) -> bool:
    """Whether values are those of the proto's JSON, which has 64-bit integers as texts and bytes in base64."""
    if isinstance(truth, dict):
        return ours.keys() == truth.keys() and all(equal(ours[name], truth[name]) for name in truth)
    if isinstance(truth, list):
        return len(ours) == len(truth) and all(map(equal, ours, truth))
    if isinstance(ours, bytes):
        return b64encode(ours).decode() == truth
    return bool(ours == truth or (type(ours) is int and str(ours) == truth))


@pytest.mark.parametrize("compression", COMPRESSED)
def test_metrics_are_what_the_vendor_reads(compression: int) -> None:
    body, tree = pushed(COMPRESSED[compression], compression)
    found = body.values["metrics"]
    assert (found.name, found.data) == (NAME, COMPRESSED[compression])
    assert equal(found.value, FILE["metrics"]["protobufJson"])
    names = [source.name for source in tree.sources]
    assert names == ["message", f"metrics, {CODECS[compression]}"][: 1 + (compression > 0)]


def test_the_source_says_where_it_comes_from() -> None:
    _, tree = pushed(COMPRESSED[1], 1)
    source = tree.sources[1]
    assert source.data == PLAIN
    assert source.parent is not None
    assert at_path(tree, source.parent) is node(tree, "body", "metrics", "compressed")


def test_times_and_enums_are_reported() -> None:
    _, tree = pushed(PLAIN, 0)
    texts = {each.spec.name: each.text for each in every(tree.fields) if each.text}
    assert texts["start_time_unix_nano"] == "2023-11-14T22:13:20.123456789Z"
    assert texts["compressionType"] == "NONE"
    assert texts["aggregation_temporality"] == "2"


@pytest.mark.parametrize(
    ("metrics", "compression"),
    [(b"", 0), (b"\xff", 0), (PLAIN[:-1], 0), (PLAIN, 1), (COMPRESSED[1][:-9], 1), (COMPRESSED[4], 1), (PLAIN, 5)],
    ids=["nothing", "no protobuf", "cut", "not compressed", "cut gzip", "another codec", "no codec"],
)  # fmt: skip
def test_what_is_none_stays_bytes(metrics: bytes, compression: int) -> None:
    assert pushed(metrics, compression)[0].values["metrics"] == metrics


@pytest.mark.parametrize("unit", [b"\0", b"\x0a\0", b"\x78\1"], ids=["zeros", "empty messages", "unknown fields"])
def test_a_bomb_stays_bytes(unit: bytes) -> None:
    """Two bytes can be a message, which takes a hundred times as much as a value."""
    packer = zlib.compressobj(1, wbits=31)
    bomb = packer.compress(unit * (5 * 1024 * 1024)) + packer.flush()
    assert pushed(bomb, 1)[0].values["metrics"] == bomb


def test_large_metrics_stay_bytes_uncompressed_too() -> None:
    large = b"\x0a\0" * (3 * 1024 * 1024)
    assert pushed(large, 0)[0].values["metrics"] == large


@pytest.mark.parametrize(("value", "text"), [
    (0, None), (1, "1970-01-01T00:00:00.000000001Z"), ((1 << 64) - 1, "2554-07-21T23:34:33.709551615Z"),
])  # fmt: skip
def test_nanoseconds(value: int, text: str | None) -> None:
    assert nanoseconds(value) == text


def test_all_that_rows_refer_to_is_there() -> None:
    rows = table("telemetry")
    for message in rows["messages"].values():
        for row in message:
            assert "of" not in row or row["of"] in rows["messages"] or row["of"] in rows["enums"]
