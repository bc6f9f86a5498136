"""Frames to values and trees: all commands as the vendor writes them, and payloads in all their shapes."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import cramjam
import lz4.block
import pytest
import zstandard

import dissectors.wire.sections
from dissectors.api import Context, Role
from dissectors.pulsar import Pulsar
from dissectors.pulsar.frame import decode_frame
from dissectors.wire import budget
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from dissectors.wire.sections import PlainSections
from dissectors.wire.varint import Unfit
from tests.dissectors.pulsar.frames import (
    AUTH_RESPONSE,
    CHALLENGE,
    METADATA,
    METADATA_VALUES,
    error,
    field,
    frame,
    lookup,
    payload_part,
    send,
    sized,
)
from tests.dissectors.pulsar.truth import frames
from tests.dissectors.trees import assert_tiles, at_path, leaves, node
from tests.golden.truth import COMPLETE, differing

PULSAR = Pulsar()
CONTEXT = Context(Role.REQUEST)


def read(message: bytes) -> dict[str, Any]:
    """The values of a frame, by both ways."""
    body, tree = PULSAR.values(message, CONTEXT), PULSAR.tree(message, CONTEXT)
    assert_tiles(tree)
    assert (fold_tree(tree).values, fold_tree(tree).findings) == (body.values, body.findings)
    return body.values


def findings(message: bytes) -> list[str]:
    return [finding.code for finding in PULSAR.values(message, CONTEXT).findings]


# ---- all commands


def test_the_vendors_own_frames() -> None:
    """The fast way alone reads them, and finds what the vendor's classes find, no more and no less."""
    assert set(Counter(frame.operation for frame in frames()).values()) == {4}
    assert len(frames()) == 280
    differences = []
    for each in frames():
        own = json.loads(COMPLETE.format_line(decode_frame(PlainSections(each.data))))
        differences += [(each.operation, *found) for found in differing(own, each.fields)]
        differences += [(each.operation, *found) for found in differing(each.fields, own)]
        assert not {"malformed-body", "unknown-operation", "trailing-bytes"}.intersection(findings(each.data))
    assert differences == []


def test_the_vendors_own_frames_as_trees() -> None:
    for each in frames():
        read(each.data)


def test_a_line_for_each() -> None:
    for each in frames():
        line = PULSAR.info(PULSAR.values(each.data, CONTEXT), CONTEXT)
        assert "\n" not in line
        assert "Secret" not in line


# ---- payloads


def lz4_block(data: bytes) -> bytes:
    return bytes(lz4.block.compress(data, store_size=False))


def flushed(data: bytes) -> bytes:
    """As Pulsar's Java client writes ZLIB: the stream has no end."""
    stream = zlib.compressobj()
    return stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


COMPRESSIONS = {
    "LZ4": (1, lz4_block),
    "ZLIB": (2, zlib.compress),
    "ZLIB, not ended": (2, flushed),
    "ZSTD": (3, zstandard.compress),
    "SNAPPY": (4, lambda data: bytes(cramjam.snappy.compress_raw(data))),
}
TEXT = b"hello, " * 30
BATCH_OF_TWO = b"".join(
    sized(field(3, len(data)) + field(2, key)) + data for key, data in (("a", b"one"), ("b", b"three"))
)
TWO = {
    "messages": [
        {"metadata": {"payload_size": 3, "partition_key": "a"}, "payload": b"one"},
        {"metadata": {"payload_size": 5, "partition_key": "b"}, "payload": b"three"},
    ]
}
MARKER = field(1, "snapshot") + field(2, "cluster")


@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compressed_payloads(name: str, batch: bool) -> None:
    number, compress = COMPRESSIONS[name]
    content = BATCH_OF_TWO if batch else TEXT
    metadata = METADATA + field(8, number) + field(9, len(content)) + (field(11, 2) if batch else b"")
    message = send(metadata, compress(content))
    assert read(message)["payload"] == (TWO if batch else TEXT)
    assert findings(message) == []
    tree = PULSAR.tree(message, CONTEXT)
    assert (tree.sources[1].name, tree.sources[1].data) == (f"payload, {name.partition(',')[0]}", content)
    parent = tree.sources[1].parent
    assert parent is not None
    assert at_path(tree, parent).spec.name == "payload"


def short_batch(count: int, said: int | None = None, metadata: bytes = b"") -> bytes:
    """A batch of messages that are nothing but as short as they can be."""
    many = METADATA + field(11, count if said is None else said)
    return frame(6, field(1, 0), field(2, 1), rest=payload_part(many, sized(field(3, 0) + metadata) * count))


PROPERTY = field(1, "") + field(2, "")
MESSAGE_ID = field(1, 1) + field(2, 1)
TOO_MUCH = {
    "messages": short_batch(501),
    "messages that are said to be there": short_batch(1, (1 << 31) - 1),
    "properties of one": short_batch(1, metadata=field(1, PROPERTY) * 900),
    "properties of all": short_batch(90, metadata=field(1, PROPERTY) * 10),
    "a number again and again": short_batch(1, metadata=field(4, 0) * 1100),
    "numbers side by side": frame(10, field(1, 0), field(2, 0), field(3, MESSAGE_ID + field(5, b"\1" * 2100))),
    "numbers one by one": frame(10, field(1, 0), field(2, 0), field(3, MESSAGE_ID + field(5, 1) * 1100)),
    "what nobody knows": send(METADATA + field(99, 0) * 900),
    "a command": frame(10, field(1, 0), field(2, 0), *[field(3, MESSAGE_ID)] * 900),
    "metadata": send(METADATA + field(4, PROPERTY) * 900),
    "a marker": send(METADATA + field(20, 10), field(99, 0) * 1100),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_more_values_than_may_be_made(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six bytes of a message in a batch make values of four hundred, and compression hides how many they are."""
    message = TOO_MUCH[case]
    monkeypatch.setattr(dissectors.wire.sections, "FREE", 2000)
    monkeypatch.setattr(budget, "USUAL", 32_000)
    monkeypatch.setattr(budget._Bound, "size", 32_000)
    with pytest.raises(Unfit):
        decode_frame(PlainSections(message))
    expected = "malformed-body" if "said" in case else "limit-exceeded"
    assert findings(message) == [expected]


def test_as_many_values_as_may_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "USUAL", 32_000)
    monkeypatch.setattr(budget._Bound, "size", 32_000)
    assert len(decode_frame(PlainSections(short_batch(500)))["payload"]["messages"]) == 500


@dataclass(frozen=True)
class Case:
    """What stands behind a command, and what comes out of it: `found` of the metadata on, and findings."""

    name: str
    rest: bytes
    found: dict[str, Any]
    findings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def part(payload: bytes = b"x", more: bytes = b"", **kinds: Any) -> bytes:
    return payload_part(METADATA + more, payload, **kinds)


PLAIN = {"payload": b"x"}
CASES = [
    Case("nothing", b"", {}),
    Case("a payload", part(), PLAIN),
    Case("an empty one", part(b""), {"payload": b""}),
    Case("without checksum", part(checksum=0), PLAIN),
    Case("broker's metadata and no checksum", part(broker=field(1, 5) + field(2, 7), checksum=0),
         {"broker_entry_metadata": {"broker_timestamp": 5, "index": 7}, **PLAIN}),
    Case("an empty metadata of the broker", part(broker=b""), {"broker_entry_metadata": {}, **PLAIN}),
    Case("a metadata of the broker that says too much", b"\x0e\x02\xff\xff\xff\xff\x08\x05",
         {"broker_entry_metadata": {"broker_timestamp": 5}}, ("malformed-body",)),
    Case("broker's metadata", part(broker=field(1, 5) + field(2, 7)),
         {"broker_entry_metadata": {"broker_timestamp": 5, "index": 7}, **PLAIN}),
    Case("a wrong checksum", part(checksum=1), {"checksum": {"value": 1, "valid": False}, **PLAIN}, ("crc-mismatch",)),
    Case("a size that is set without compression", part(more=field(9, 1)), PLAIN),
    Case("compression none", part(more=field(8, 0)), PLAIN),
    Case("encrypted", part(more=field(13, field(1, "k") + field(2, b"s")) + field(11, 2) + field(8, 1)),
         {"encrypted": True, **PLAIN}),
    Case("a chunk", part(more=field(26, "u") + field(27, 3) + field(29, 1) + field(8, 1) + field(9, 500)),
         {"chunk": {"uuid": "u", "id": 1, "total": 3}, **PLAIN}),
    Case("a chunk of an encrypted one",
         part(more=field(13, field(1, "k") + field(2, b"s")) + field(26, "u") + field(27, 3) + field(29, 0)),
         {"encrypted": True, "chunk": {"uuid": "u", "id": 0, "total": 3}, **PLAIN}),
    Case("a batch of two", part(BATCH_OF_TWO, field(11, 2)), {"payload": TWO}),
    Case("a batch of one", part(sized(field(3, 1)) + b"y", field(11, 1)),
         {"payload": {"messages": [{"metadata": {"payload_size": 1}, "payload": b"y"}]}}),
    Case("a batch of none", part(b"", field(11, 0)), {"payload": {"messages": []}}),
    Case("a batch with more behind it", part(sized(field(3, 0)) + b"zz", field(11, 1)),
         {"payload": {"messages": [{"metadata": {"payload_size": 0}, "payload": b""}], "_rest": b"zz"}},
         ("trailing-bytes",)),
    Case("a batch that lacks one", part(sized(field(3, 1)) + b"y", field(11, 2)),
         {"payload": {"messages": [{"metadata": {"payload_size": 1}, "payload": b"y"}, {"metadata": {}}]}},
         ("malformed-body",)),
    Case("a batch of two thousand millions", part(sized(field(3, 0)), field(11, 2**31 - 1)),
         {"payload": {"messages": [{"metadata": {"payload_size": 0}, "payload": b""}, {"metadata": {}}]}},
         ("malformed-body",)),
    Case("a batch of less than none", part(b"x", field(11, -1)), {"payload": {}}, ("malformed-body",)),
    Case("a message in a batch of a size below zero", part(sized(field(3, -1)), field(11, 1)),
         {"payload": {"messages": [{"metadata": {"payload_size": -1}}]}}, ("malformed-body",)),
    Case("a message in a batch without size", part(sized(field(2, "k")), field(11, 1)),
         {"payload": {"messages": [{"metadata": {"partition_key": "k"}}]}}, ("malformed-body",) * 2),
    Case("a marker", part(MARKER, field(20, 10)),
         {"payload": EmbeddedValue(MARKER, {"snapshot_id": "snapshot", "source_cluster": "cluster"},
                              "ReplicatedSubscriptionsSnapshotRequest")}),
    Case("a marker of a transaction", part(b"", field(20, 21)), {"payload": b""}),
    Case("a compressed marker", part(lz4_block(MARKER), field(20, 10) + field(8, 1) + field(9, len(MARKER))),
         {"payload": EmbeddedValue(MARKER, {"snapshot_id": "snapshot", "source_cluster": "cluster"},
                              "ReplicatedSubscriptionsSnapshotRequest")}),
    Case("a marker that is none", part(b"\xff", field(20, 10)),
         {"payload": EmbeddedValue(b"\xff", {}, "ReplicatedSubscriptionsSnapshotRequest")}, ("malformed-body",)),
    Case("no LZ4", part(b"payload 5", field(8, 1) + field(9, 999)), {"payload": b"payload 5"}, ("malformed-body",)),
    Case("more than it says", part(zlib.compress(TEXT), field(8, 2) + field(9, 5)),
         {"payload": zlib.compress(TEXT)}, ("malformed-body",)),
    Case("less than it says", part(zlib.compress(TEXT), field(8, 2) + field(9, 500)),
         {"payload": zlib.compress(TEXT)}, ("malformed-body",)),
    Case("a size of four gigabytes", part(b"x", field(8, 1) + field(9, 2**32 - 1)), PLAIN, ("limit-exceeded",)),
    Case("a compression that is none", part(more=field(8, 9)), PLAIN, ("malformed-body",)),
    Case("metadata that breaks", payload_part(METADATA + b"\x0a\xff", b"x"), PLAIN, ("malformed-body",)),
    Case("one byte", b"\x0e", {"metadata": {}}, ("malformed-body",)),
    Case("a magic that is none", b"\x0e\x07" + bytes(30), {}, ("malformed-body",)),
    Case("a magic in front of a magic", b"\x0e\x01" + bytes(4) + b"\x0e\x01" + bytes(30),
         {"checksum": {"value": 0, "valid": False}}, ("crc-mismatch", "malformed-body")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_payloads(case: Case) -> None:
    message = frame(6, field(1, 0), field(2, 3), rest=case.rest)
    found = read(message)
    assert (found.pop("producer_id"), found.pop("sequence_id")) == (0, 3)
    if case.rest[:2] == b"\x0e\x01" and "checksum" not in case.found:
        assert found.pop("checksum")["valid"] is True
    if "payload" in case.found:
        metadata = found.pop("metadata")
        assert {name: metadata[name] for name in METADATA_VALUES} == METADATA_VALUES
    if b"\x0e\x01" in case.rest and "broker_entry_metadata" in case.found:
        assert found.pop("checksum")["valid"] is True
    assert found == case.found
    assert tuple(findings(message)) == case.findings


# ---- commands that are out of the ordinary

ODD: dict[str, tuple[bytes, dict[str, Any], tuple[str, ...]]] = {
    "a field in another order": (frame(23, field(2, 7), field(1, "t")), {"topic": "t", "request_id": 7}, ()),
    "the type behind the body": (
        sized(sized(field(23, field(1, "t") + field(2, 7)) + field(1, 23))),
        {"topic": "t", "request_id": 7},
        (),
    ),
    "a field twice": (frame(13, field(1, 1), field(1, 2)), {"request_id": 2}, ()),
    "an unknown field": (
        frame(13, field(1, 1), field(99, "new")),
        {"request_id": 1, "_unknownFields": [{"number": 99, "wireType": 2, "data": b"new"}]},
        (),
    ),
    "another wire type": (
        frame(13, field(1, 1), field(1, b"x")),
        {"request_id": 1, "_unknownFields": [{"number": 1, "wireType": 2, "data": b"x"}]},
        (),
    ),
    "a group": (
        frame(13, field(1, 1), b"\x1b\x08\x01\x1c"),
        {"request_id": 1, "_unknownFields": [{"number": 3, "wireType": 3, "data": b"\x08\x01"}]},
        (),
    ),
    "another command beside it": (
        sized(sized(field(1, 13) + field(13, field(1, 1)) + field(18, b""))),
        {"request_id": 1, "ping": {}},
        (),
    ),
    "a required field is missing": (frame(12, field(1, 7)), {"consumer_id": 7}, ("malformed-body",)),
    "the body is missing": (sized(sized(field(1, 18))), {}, ("malformed-body",)),
    "a type that is in no table": (
        sized(sized(field(1, 99) + field(2, 1))),
        {"_unknownFields": [{"number": 2, "wireType": 0, "data": b"\x01"}]},
        ("unknown-operation",),
    ),
    "a type of three bytes": (
        sized(sized(field(1, 300) + field(300, field(1, 1)))),
        {"_unknownFields": [{"number": 300, "wireType": 2, "data": b"\x08\x01"}]},
        ("unknown-operation",),
    ),
    "a type below zero": (sized(sized(field(1, -1))), {}, ("unknown-operation",)),
    "a pre-release's END_TXN": (
        frame(56, field(1, 7), field(4, 1), field(5, field(1, 3) + field(2, 4)), field(5, field(1, 3) + field(2, 5))),
        {"request_id": 7, "txn_action": "ABORT",
         "message_id": [{"ledgerId": 3, "entryId": 4}, {"ledgerId": 3, "entryId": 5}]},
        (),
    ),
    "that of today": (frame(56, field(1, 7), field(4, 0), field(5, 1)),
                      {"request_id": 7, "txn_action": "COMMIT", "scalable": True}, ()),
    "one for a topic, of a pre-release": (
        frame(58, field(1, 7), field(4, "t"), field(6, field(1, 3) + field(2, 4))),
        {"request_id": 7, "topic": "t", "message_id": [{"ledgerId": 3, "entryId": 4}]},
        (),
    ),
    "that of today, for a topic": (frame(58, field(1, 7), field(6, 9)),
                                   {"request_id": 7, "txnid_least_bits_of_low_watermark": 9}, ()),
    "text that is none": (frame(23, field(1, b"\xff"), field(2, 7)), {"topic": b"\xff", "request_id": 7}, ()),
    "an enum's number without a name": (frame(14, field(1, 1), field(2, 77), field(3, "no")),
                                        {"request_id": 1, "error": 77, "message": "no"}, ()),
    "a number below zero": (
        frame(16, field(1, -1), field(2, 7)),
        {"consumer_id": 2**64 - 1, "request_id": 7},
        (),
    ),
    "packed": (
        frame(9, field(1, 0), field(2, field(1, 1) + field(2, 2)), field(4, b"\x01\x02" + b"\xff" * 9 + b"\x01")),
        {"consumer_id": 0, "message_id": {"ledgerId": 1, "entryId": 2}, "ack_set": [1, 2, -1]},
        (),
    ),
    "not packed, and interrupted": (
        frame(9, field(4, 1), field(1, 0), field(4, 2), field(4, b"\x03"), field(2, field(1, 1) + field(2, 2))),
        {"consumer_id": 0, "message_id": {"ledgerId": 1, "entryId": 2}, "ack_set": [1, 2, 3]},
        (),
    ),
    "bytes behind it": (frame(13, field(1, 1), rest=b"zz"), {"request_id": 1, "_rest": b"zz"}, ("trailing-bytes",)),
    "an empty frame": (sized(b""), {}, ("malformed-body",)),
    "an empty command": (sized(sized(b"")), {}, ("malformed-body",)),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_odd_commands(case: str) -> None:
    message, found, codes = ODD[case]
    assert read(message) == found
    assert tuple(findings(message)) == codes


@pytest.mark.parametrize("depth", [10, 61, 62, 63, 5000])
def test_messages_within_messages(depth: int) -> None:
    chunk = field(1, 1) + field(2, 2)
    for _ in range(depth):
        chunk = field(1, 1) + field(2, 2) + field(7, chunk)
    message = frame(9, field(1, 0), field(2, chunk))
    read(message)
    assert findings(message) == ([] if depth < 62 else ["limit-exceeded"])


@pytest.mark.parametrize("depth", [10, 5000])
def test_groups_within_groups(depth: int) -> None:
    message = frame(13, field(1, 1), b"\x1b" * depth + b"\x1c" * depth)
    read(message)
    assert findings(message) == ([] if depth < 64 else ["malformed-body"])


# ---- errors and secrets


def test_errors() -> None:
    assert PULSAR.values(error(7, 11), CONTEXT).error == (11, "TopicNotFound")
    assert PULSAR.values(error(7, 0), CONTEXT).error == (0, "UnknownError")
    assert PULSAR.values(error(7, 77), CONTEXT).error == (77, "UNKNOWN_77")
    assert PULSAR.values(lookup(7), CONTEXT).error is None
    code_only = frame(40, field(1, 7), field(2, 18), field(3, "no"))
    assert PULSAR.values(code_only, CONTEXT).error == (18, "IncompatibleSchema")


SECRETS = {
    "connect": frame(2, field(1, "v"), field(3, b"hush"), field(8, "hush")),
    "auth response": AUTH_RESPONSE,
    "auth challenge": CHALLENGE.replace(b"refresh", b"hushhus"),
    "lookup": frame(23, field(1, "t"), field(2, 7), field(5, "hush")),
    "partitions": frame(21, field(1, "t"), field(2, 7), field(4, "hush")),
}


@pytest.mark.parametrize("case", SECRETS)
def test_secrets(case: str) -> None:
    found = read(SECRETS[case])
    assert "hush" not in repr(found)
    assert any(isinstance(value, Secret) for value in _leaves(found))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [value]


@pytest.mark.parametrize("more", [-3, -1, 1, 2, 5, 9])
@pytest.mark.parametrize("case", SECRETS)
def test_a_wrong_length_before_a_secret_shows_nothing_of_it(case: str, more: int) -> None:
    """Of whatever field: what follows may be taken for another one, or for one that no table knows."""
    message = SECRETS[case]
    for at in range(10, len(message)):
        broken = bytearray(message)
        broken[at] = (broken[at] + more) % 256
        found = PULSAR.values(bytes(broken), CONTEXT)
        tree = PULSAR.tree(bytes(broken), CONTEXT)
        assert_tiles(tree)
        if tree.findings or "_unknownFields" in repr(found):
            assert "hush" not in repr(found), at
            assert not [leaf for leaf in leaves(tree.fields) if not leaf.spec.secret and "hush" in repr(leaf.value)]


@pytest.mark.parametrize("tag", [0x1A, 0x2A, 0x7A])
@pytest.mark.parametrize("case", ["auth response", "auth challenge"])
def test_a_wrong_number_of_a_field_that_holds_a_secret(case: str, tag: int) -> None:
    right = field(2, b"")[:1]
    broken = SECRETS[case].replace(right, bytes([tag]), 1)
    assert broken != SECRETS[case]
    assert "hush" not in repr(PULSAR.values(broken, CONTEXT))


@pytest.mark.parametrize("size", ["frame", "command"])
@pytest.mark.parametrize("case", SECRETS)
def test_two_wrong_lengths(case: str, size: str) -> None:
    """One of the two sizes in front, so that the frame seems to be cut, and one inside."""
    message = bytearray(SECRETS[case])
    message[0 if size == "frame" else 5] = 1
    at = message.index(b"hush") - 1
    for more in (-2, -1, 1, 2):
        broken = bytes(message[:at]) + bytes([message[at] + more]) + bytes(message[at + 1 :])
        tree = PULSAR.tree(broken, CONTEXT)
        assert_tiles(tree)
        assert tree.findings
        assert not [leaf for leaf in leaves(tree.fields) if not leaf.spec.secret and "us" in repr(leaf.value)]


def test_a_second_type_does_not_show_a_secret() -> None:
    """The tag of the body taken for another type: what is in it then passes for the frame's own fields."""
    connect = SECRETS["connect"]
    message = connect[:10] + b"\x08" + connect[11:]
    tree = PULSAR.tree(message, CONTEXT)
    assert_tiles(tree)
    assert "hush" not in repr(PULSAR.values(message, CONTEXT))
    assert not [leaf for leaf in leaves(tree.fields) if not leaf.spec.secret and leaf.length > 4]


def test_what_broke_inside_of_a_secret_is_one_too() -> None:
    cut = SECRETS["connect"][:-10]
    tree = PULSAR.tree(cut, CONTEXT)
    assert_tiles(tree)
    assert node(tree, "command").children[-1].spec.secret


def test_places() -> None:
    tree = PULSAR.tree(lookup(7, "topic"), CONTEXT)
    nodes = node(tree, "command", "lookupTopic").children
    assert [(each.spec.name, each.spec.type, each.offset, each.length, each.head, each.value) for each in nodes] == [
        ("tag", "uvarint", 10, 2, 0, 23),
        ("length", "uvarint", 12, 1, 0, 9),
        ("topic", "string", 13, 7, 2, "topic"),
        ("request_id", "uint64", 20, 2, 1, 7),
    ]  # fmt: skip


def test_a_chunk_is_shown_by_its_parts() -> None:
    tree = PULSAR.tree(send(METADATA + field(26, "u") + field(27, 3) + field(29, 1)), CONTEXT)
    parts = node(tree, "payload", "chunk").children
    assert [(each.spec.name, each.spec.type, each.value) for each in parts] == [
        ("uuid", "string", "u"),
        ("id", "int32", 1),
        ("total", "int32", 3),
    ]


def test_labels() -> None:
    tree = PULSAR.tree(send(METADATA + field(20, 10) + field(8, 0)), CONTEXT)
    found = node(tree, "metadata").children
    assert {each.spec.name: each.text for each in found if each.text is not None} == {
        "publish_time": "2026-11-21T14:25:33.179Z",
        "marker_type": "REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST",
        "compression": "0",
    }
    assert node(tree, "command", "type").text == "6"
