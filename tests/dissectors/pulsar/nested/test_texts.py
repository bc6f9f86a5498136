"""What people read beside nodes: of values alone, and of those that only their neighbours explain."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.fragment import Other
from dissectors.pulsar import Pulsar
from dissectors.pulsar.nested import format_ack_set, open_tree
from dissectors.wire.texts import printable
from tests.dissectors.pulsar.frames import METADATA, NO_ID, field, frame, payload_part, send, sized
from tests.dissectors.trees import assert_tiles, every

PULSAR = Pulsar()


def tree(message: bytes) -> Tree:
    found = PULSAR.tree(message, Context(Role.REQUEST, message[9]))
    assert_tiles(found)
    return found


def texts(message: bytes) -> dict[str, str]:
    """By name of node, without those that enums have: the last of each name."""
    nodes = every(tree(message).fields)
    return {each.spec.name: each.text for each in nodes if each.text is not None and each.spec.type != "enum"}


def metadata(*fields: bytes) -> bytes:
    return send(METADATA + b"".join(fields), b"\xff")


TIME = {"publish_time": "2026-11-21T14:25:33.179Z"}
CASES = [
    ("a transaction", metadata(field(23, 1), field(22, 7)), {"txnid_least_bits": "transaction (1,7)"}),
    ("a chunk", metadata(field(27, 3), field(29, 1)), {"chunk_id": "chunk 2 of 3"}),
    ("a large size", metadata(field(9, 4608)), {"uncompressed_size": "4.5 KiB"}),
    ("a small size", metadata(field(9, 460)), {}),
    ("a key that is text", metadata(field(6, "a2V5")), {}),
    ("a key in base64", metadata(field(6, "a2V5"), field(17, 1)), {"partition_key": '"key"'}),
    ("a key of bytes", metadata(field(6, "/wA="), field(17, 1)), {"partition_key": "ff00"}),
    ("a key that is no base64", metadata(field(6, "*"), field(17, 1)), {}),
    ("an ordering key", metadata(field(18, b"abc")), {"ordering_key": '"abc"'}),
    ("a schema's version", metadata(field(16, bytes(7) + b"\5")), {"schema_version": "version 5"}),
    ("one of another length", metadata(field(16, b"\5")), {}),
    ("a property of clients", metadata(field(4, field(1, "RECONSUMETIMES") + field(2, "2"))),
     {"key": "how often it was tried again"}),
    ("a marker", metadata(field(20, 22)), {"marker_type": "TXN_ABORT"}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_metadata(message: bytes, expected: dict[str, str]) -> None:
    assert {name: text for name, text in texts(message).items() if name != "value"} == TIME | expected


def place(ledger: int, entry: int, *more: bytes) -> bytes:
    return field(1, ledger) + field(2, entry) + b"".join(more)


COMMANDS = [
    (frame(9, field(1, 0), field(2, place(3, 4, field(3, 2))), field(4, 0b10001111), field(4, 1)),
     {"message_id": "3:4:2", "ack_set": "batch indexes 0-3, 7, 64 not acknowledged"}),
    (frame(9, field(1, 0), field(2, place(3, 4)), field(4, b"\x02")),
     {"message_id": "3:4", "ack_set": "batch index 1 not acknowledged"}),
    (frame(7, field(1, 0), field(2, 1), field(3, place(NO_ID, NO_ID)), field(4, NO_ID)),
     {"message_id": "-1:-1", "ledgerId": "-1", "entryId": "-1", "highest_sequence_id": "-1"}),
    (frame(14, field(1, NO_ID), field(2, 3), field(3, "no")), {"request_id": "-1"}),
    (frame(10, field(1, 0), field(2, 0), field(3, place(3, 4, field(4, 6)))), {"[0]": "3:4:-1:6"}),
    (frame(2, field(1, "v"), field(4, 21)), {"protocol_version": "v21"}),
    (frame(50, field(1, 9), field(2, 30_000)), {"txn_ttl_millis": "0:00:30"}),
    (frame(4, field(1, "t"), field(2, "s"), field(3, 0), field(4, 0), field(5, 1), field(16, 7200)),
     {"start_message_rollback_duration_sec": "2 h"}),
    (frame(75, field(1, 0), field(2, field(1, 0) + field(2, field(1, 0) + field(2, 0) + field(3, 21844) +
                                                        field(4, "t")))),
     {"hash_start": "0x0000", "hash_end": "0x5554"}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), COMMANDS, ids=[str(each[1]) for each in COMMANDS])
def test_commands(message: bytes, expected: dict[str, str]) -> None:
    assert texts(message) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "all acknowledged"),
        ([0, 0], "all acknowledged"),
        ([-1], "batch indexes 0-63 not acknowledged"),
        ([-1, 1], "batch indexes 0-64 not acknowledged"),
        ([-(1 << 63)], "batch index 63 not acknowledged"),
        ([0x5555555555555555], f"batch indexes {', '.join(map(str, range(0, 40, 2)))}, 12 more not acknowledged"),
    ],
)
def test_ack_sets(words: list[int], expected: str) -> None:
    assert format_ack_set(words) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", None),
        (b'{"a": 1}\n', '"{"a": 1}\n"'),
        ("žluť".encode(), '"žluť"'),
        (b"a\0", None),
        (b"\xff", None),
        (b"a" * 201, f'"{"a" * 200}"...'),
        ("ž".encode() * 500, f'"{"ž" * 200}"...'),
        (b"a" + "ž".encode() * 500, f'"a{"ž" * 199}"...'),
        ("ž".encode()[:1], None),
    ],
    ids=repr,
)
def test_bytes_that_are_text(data: bytes, expected: str | None) -> None:
    assert printable(data) == expected


def test_payloads_that_are_text() -> None:
    assert texts(send(METADATA, b"hello"))["payload"] == '"hello"'
    batch = sized(field(3, 5)) + b"hello"
    assert texts(send(METADATA + field(11, 1), batch))["payload"] == '"hello"'
    assert "payload" not in texts(send(METADATA, b"\xff\xfe"))


def test_secrets_have_no_text() -> None:
    shown = texts(frame(2, field(1, "v"), field(3, b"hush"), field(8, "hush")))
    assert "hush" not in repr(shown)


def test_twice_is_once() -> None:
    message = frame(9, field(1, 0), field(2, place(3, 4)), rest=payload_part(METADATA, b"hello"))
    found = tree(message)
    before = [(each.spec.name, each.text, each.length) for each in every(found.fields)]
    assert [(each.spec.name, each.text, each.length) for each in every(open_tree(found).fields)] == before


def test_chunks_that_were_joined_are_text_together() -> None:
    first, last = "žl".encode()[:1], "žl".encode()[1:]
    chunks = [
        send(METADATA + field(26, "u") + field(27, 2) + field(28, 3) + field(29, number), part)
        for number, part in enumerate((first, last))
    ]
    whole = PULSAR.fragments.tree(chunks[1], Context(Role.REQUEST, 6), [Other(1, 0, chunks[0])])
    assert_tiles(whole)
    assert '"žl"' in [each.text for each in every(whole.fields)]
