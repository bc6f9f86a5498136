"""Record data: batches, message sets, what is broken in them, and what was compressed."""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import Any

import lz4.frame
import pytest
import zstandard
from crc32c import crc32c

from dissectors.api import Body, Context, Role
from dissectors.field import Tree
from dissectors.kafka import Kafka
from dissectors.kafka.records.values import CODECS
from tests.dissectors.kafka.truth import faults
from tests.dissectors.trees import assert_tiles, at_path, node

KAFKA = Kafka()
CONTEXT = Context(Role.REQUEST, 0, 7)


def zigzag(value: int) -> bytes:
    value = value << 1 ^ value >> 63
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def sized(content: bytes | None) -> bytes:
    return zigzag(-1) if content is None else zigzag(len(content)) + content


def record(
    offset: int, time: int, key: bytes | None, value: bytes | None, *headers: tuple[bytes, bytes | None]
) -> bytes:
    content = b"\0" + zigzag(time) + zigzag(offset) + sized(key) + sized(value) + zigzag(len(headers))
    content += b"".join(sized(name) + sized(item) for name, item in headers)
    return zigzag(len(content)) + content


def batch(records: bytes, count: int, attributes: int = 0, base: int = 100, magic: int = 2) -> bytes:
    tail = struct.pack(">hiqqqhii", attributes, count - 1, 1000, 2000, 7, 1, 5, count) + records
    return struct.pack(">qiibI", base, len(tail) + 9, 3, magic, crc32c(tail)) + tail


def message(offset: int, value: bytes | None, magic: int = 1, attributes: int = 0, time: int = 9) -> bytes:
    tail = struct.pack(">bb", magic, attributes) + (struct.pack(">q", time) if magic else b"") + struct.pack(">i", -1)
    tail += struct.pack(">i", -1 if value is None else len(value)) + (value or b"")
    return struct.pack(">qiI", offset, len(tail) + 4, zlib.crc32(tail)) + tail


def frame(records: bytes) -> bytes:
    """A Produce v7 with one partition of these records."""
    body = struct.pack(">hhiihih1sii", -1, 1, 0, 1, 1, 0, 1, b"t", 1, 0)
    body = struct.pack(">hhii", -1, 1, 0, 1) + struct.pack(">h1sii", 1, b"t", 1, 0)
    content = struct.pack(">hhih", 0, 7, 1, -1) + body + struct.pack(">i", len(records)) + records
    return struct.pack(">i", len(content)) + content


def read(records: bytes) -> tuple[list[dict[str, Any]], Body, Tree]:
    """The entries, and the whole both ways; both decoders must agree, and the tree must tile."""
    data = frame(records)
    body, tree = KAFKA.values(data, CONTEXT), KAFKA.tree(data, CONTEXT)
    assert_tiles(tree)
    assert tuple(tree.findings) == body.findings
    entries = body.values["topicData"][0]["partitionData"][0]["records"]
    return entries, body, tree


RECORDS = record(0, 0, b"k", b"v", (b"h", b"x"), (b"n", None)) + record(1, 500, None, None)
DECODED = [
    {
        "offset": 100,
        "timestamp": 1000,
        "key": b"k",
        "value": b"v",
        "headers": [{"key": "h", "value": b"x"}, {"key": "n", "value": None}],
    },
    {"offset": 101, "timestamp": 1500, "key": None, "value": None, "headers": []},
]
COMPRESS = {"gzip": gzip.compress, "lz4": lz4.frame.compress, "zstd": zstandard.compress}


def test_a_batch() -> None:
    (entry,), body, _ = read(batch(RECORDS, 2))
    assert faults(body.findings) == []
    assert list(entry) == [
        "baseOffset", "length", "partitionLeaderEpoch", "magic", "crc", "crcValid", "attributes", "compression",
        "timestampType", "transactional", "control", "deleteHorizon", "lastOffsetDelta", "baseTimestamp",
        "maxTimestamp", "producerId", "producerEpoch", "baseSequence", "count", "records",
    ]  # fmt: skip
    assert entry["records"] == DECODED
    assert (entry["length"], entry["crcValid"], entry["compression"]) == (len(batch(RECORDS, 2)) - 12, True, "none")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (0x08, {"timestampType": "LogAppendTime"}),
        (0x10, {"transactional": True, "control": False}),
        (0x20, {"control": True}),
        (0x40, {"deleteHorizon": True}),
    ],
)
def test_attributes(attributes: int, expected: dict[str, Any]) -> None:
    (entry,), _, tree = read(batch(RECORDS, 2, attributes))
    assert expected.items() <= entry.items()
    times = [item["timestamp"] for item in entry["records"]]
    assert times == ([2000, 2000] if attributes == 8 else [1000, 1500])
    path = ("body", "topicData", "[0]", "partitionData", "[0]", "records", "[0]", "attributes")
    assert {bit.spec.name: bit.value for bit in node(tree, *path).children} | expected == {
        bit.spec.name: bit.value for bit in node(tree, *path).children
    }


@pytest.mark.parametrize("codec", COMPRESS)
def test_what_was_compressed_is_a_source_of_its_own(codec: str) -> None:
    (entry,), body, tree = read(batch(COMPRESS[codec](RECORDS), 2, CODECS.index(codec)))
    assert (entry["records"], entry["compression"], body.findings) == (DECODED, codec, ())
    assert [source.data for source in tree.sources[1:]] == [RECORDS]
    assert tree.sources[1].parent is not None
    holder = at_path(tree, tree.sources[1].parent)
    assert (holder.spec.name, holder.source, {child.source for child in holder.children}) == ("records", 0, {1})


@pytest.mark.parametrize("attributes", [0, 1, 4])
def test_an_empty_batch(attributes: int) -> None:
    (entry,), body, _ = read(batch(b"", 0, attributes))
    assert (entry["records"], entry["count"], body.findings) == ([], 0, ())


def test_formats_may_mix() -> None:
    entries, body, _ = read(message(1, b"a", 0) + message(2, b"b") + batch(RECORDS, 2))
    assert [entry["magic"] for entry in entries] == [0, 1, 2]
    assert faults(body.findings) == []


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_wrong_checksum_is_a_finding_with_a_place(magic: int) -> None:
    data = bytearray(batch(RECORDS, 2) if magic == 2 else message(1, b"value", magic))
    data[-1 if magic < 2 else 22] ^= 0x40
    (entry,), body, tree = read(bytes(data))
    assert entry["crcValid"] is False
    (finding,) = faults(body.findings)
    assert (finding.code, finding.length) == ("crc-mismatch", 4)
    assert finding.offset is not None
    assert tree.sources[0].data[finding.offset :][:4] == data[17:21] if magic == 2 else data[12:16]


@pytest.mark.parametrize("cut", [1, 11, 12, 16, 17, 40, 60])
def test_a_cut_last_batch_is_no_error(cut: int) -> None:
    entries, body, _ = read(batch(RECORDS, 2) + batch(RECORDS, 2)[:cut])
    assert entries[1:] == [{"partial": True, "length": cut}]
    assert faults(body.findings) == []


def test_a_broken_batch_leaves_the_next_alone() -> None:
    broken = batch(RECORDS[:-1] + b"\x09", 2)
    entries, body, tree = read(broken + batch(RECORDS, 2))
    assert entries[1]["records"] == DECODED
    (finding,) = faults(body.findings)
    assert finding.code == "malformed-body"
    assert finding.text.startswith("topicData[0].partitionData[0].records[0].records[1].headers")
    assert KAFKA.info(body, CONTEXT)
    assert faults(tree.findings) == [finding]


BROKEN = [
    ("count too large", batch(RECORDS, 3), "is"),
    ("count too small", batch(RECORDS, 1), "followed by"),
    ("count negative", batch(RECORDS, -1), "is -1"),
    ("count enormous", batch(RECORDS, 0x7FFFFFFF), "needs 15032385529 bytes"),
    ("no such compression", batch(RECORDS, 2, 5), "names compression 5"),
    ("not gzip", batch(RECORDS, 2, 1), "is not gzip"),
    ("unknown magic", batch(RECORDS, 2, magic=9), "is 9"),
    ("length too small", struct.pack(">qi", 0, 5) + bytes(20), "has length 5"),
    ("zstd before batches", message(1, zstandard.compress(b""), 1, 4), "names compression 4"),
    ("compressed null", message(1, None, 1, 1), "is null, but compressed"),
]


@pytest.mark.parametrize(("data", "why"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_broken(data: bytes, why: str) -> None:
    _, body, _ = read(data)
    (finding,) = faults(body.findings)
    assert finding.code == "malformed-body"
    assert why in finding.text


def wrapper(offset: int, inner: bytes, magic: int = 1, attributes: int = 1, time: int = 77) -> bytes:
    return message(offset, gzip.compress(inner), magic, attributes, time)


@pytest.mark.parametrize(
    ("magic", "offset", "inner", "expected"),
    [(1, 12, [0, 1, 2], [10, 11, 12]), (1, 0, [0, 1], [0, 1]), (0, 12, [10, 12], [10, 12]), (1, 12, [3, 5], [10, 12])],
)
def test_offsets_in_a_wrapper(magic: int, offset: int, inner: list[int], expected: list[int]) -> None:
    data = wrapper(offset, b"".join(message(number, b"v", magic) for number in inner), magic)
    (entry,), body, _ = read(data)
    assert [item["offset"] for item in entry["messages"]] == expected
    assert isinstance(entry["value"], bytes)
    assert faults(body.findings) == []


def test_a_wrapper_that_the_log_timed() -> None:
    (entry,), _, _ = read(wrapper(1, message(0, b"v") + message(1, b"v"), attributes=1 | 8))
    assert [(item["timestampType"], item["timestamp"]) for item in entry["messages"]] == [("LogAppendTime", 77)] * 2


def test_a_wrapper_in_a_wrapper_is_too_deep() -> None:
    (entry,), body, _ = read(wrapper(1, wrapper(1, message(0, b"v"))))
    assert [finding.code for finding in faults(body.findings)] == ["limit-exceeded"]
    assert "messages" not in entry["messages"][0]
    assert isinstance(entry["messages"][0]["value"], bytes)


def test_over_the_limit_the_rest_is_shown() -> None:
    bomb = zstandard.compress(bytes(65 * 1024 * 1024))
    entries, body, _ = read(batch(bomb, 2, 4) + batch(RECORDS, 2))
    assert [finding.code for finding in faults(body.findings)] == ["limit-exceeded"]
    assert "records" not in entries[0]
    assert entries[1]["records"] == DECODED


def test_sums_beyond_64_bits_wrap_as_on_the_broker() -> None:
    (entry,), body, _ = read(batch(RECORDS, 2, base=2**63 - 1))
    assert [item["offset"] for item in entry["records"]] == [2**63 - 1, -(2**63)]
    assert faults(body.findings) == []


def test_long_varints() -> None:
    records = record(0, 1 << 40, b"k" * 300, b"v" * 20_000) + record(200_000, -5, b"", b"")
    (entry,), body, _ = read(batch(records, 2))
    assert [item["offset"] for item in entry["records"]] == [100, 200_100]
    assert [item["timestamp"] for item in entry["records"]] == [1000 + (1 << 40), 995]
    assert [len(item["value"]) for item in entry["records"]] == [20_000, 0]
    assert faults(body.findings) == []


def test_a_cut_frame_shows_the_batches_before_the_cut() -> None:
    whole = frame(batch(RECORDS, 2) * 2)
    tree = KAFKA.tree(whole[:-10], CONTEXT)
    assert_tiles(tree)
    assert [finding.code for finding in tree.findings] == ["malformed-body"]
    entries = node(tree, "body", "topicData", "[0]", "partitionData", "[0]", "records").children
    assert [entry.spec.type for entry in entries] == ["int32", "struct", "partial"]
