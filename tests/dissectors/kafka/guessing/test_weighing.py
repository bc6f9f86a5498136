"""What bytes cost under a layout: the likelier reading of the same bytes is the cheaper one."""

from __future__ import annotations

import struct

import pytest

from dissectors.kafka.guessing.weighing import Pieces, Scales, pieces
from dissectors.kafka.header import body_offset
from dissectors.kafka.schemas import body_schema
from dissectors.wire import resolve
from dissectors.wire.varint import Unfit
from tests.dissectors.kafka.nested.structured import batched
from tests.dissectors.kafka.truth import GOLDEN, frames

INT32: Pieces = (("number", "i"),)
ERROR: Pieces = (("error", "h"),)
BOOL: Pieces = (("bool", "?"),)
UUID: Pieces = (("uuid", "16s"),)
TEXT: Pieces = (("string", (("h", 0), True)),)
BYTES: Pieces = (("bytes", (("h", 0), True)),)
RECORDS: Pieces = (("records", (("i", 0), True)),)
TAGS: Pieces = (("tags", ((0, INT32),)),)
LIST: Pieces = (("list", (("i", 0), False, INT32, 4)),)


def weigh(layout: Pieces, data: bytes) -> float:
    bits, stop = Scales(data, 1000).weigh(layout, 0)
    assert stop == len(data)
    return bits


@pytest.mark.parametrize(
    ("likely", "less"),
    [
        ((INT32, struct.pack(">i", 0)), (INT32, struct.pack(">i", 9092))),
        ((INT32, struct.pack(">i", -1)), (INT32, struct.pack(">i", -77))),
        ((ERROR, b"\0\3"), (ERROR, b"\7\3")),
        ((BOOL, b"\1"), (BOOL, b"\7")),
        ((TEXT, b"\0\6orders"), (BYTES, b"\0\6orders")),
        ((BYTES, b"\0\4\1\2\3\4"), (TEXT, b"\0\4\1\2\3\4")),
        ((TEXT, "\0\7grüße".encode()), (TEXT, b"\0\7gr\xfc\xdfe\xff\xfe")),
        ((UUID, bytes(15) + b"\1"), (UUID, bytes(range(16)))),
        ((UUID, bytes(6) + b"\x40\0\x80" + bytes(7)), (UUID, b"orders.and.other")),
        ((TAGS, b"\0"), (TAGS, b"\1\0\4\0\0\0\1")),
        ((TAGS, b"\1\0\4\0\0\0\1"), (TAGS, b"\1\5\4\0\0\0\1")),
        ((LIST, struct.pack(">iii", 2, 0, 1)), (INT32 * 3, struct.pack(">iii", 0x10_0000, 0x20_0000, 1))),
    ],
)
def test_what_is_likelier_is_cheaper(likely: tuple[Pieces, bytes], less: tuple[Pieces, bytes]) -> None:
    assert weigh(*likely) < weigh(*less)


def test_records_give_themselves_away() -> None:
    batch = batched([(b"key", b"value")])
    real = struct.pack(">i", len(batch)) + batch
    assert weigh(RECORDS, real) * 10 < weigh(RECORDS, real[:4] + b"\xee" * len(batch))


@pytest.mark.parametrize(
    ("layout", "data"),
    [
        (TEXT, b"\0\4abc"),
        (TEXT, b"\xff\xfe"),
        (LIST, struct.pack(">i", -1)),
        (LIST, struct.pack(">i", 9) + bytes(8)),
        (TAGS, b"\1\0\3\0\0\0\1"),
        (TAGS, b"\x7f\0"),
        (INT32, b"\0\0"),
    ],
)
def test_what_does_not_fit(layout: Pieces, data: bytes) -> None:
    with pytest.raises((Unfit, IndexError, struct.error)):
        Scales(data, 1000).weigh(layout, 0)


def test_it_looks_at_no_more_than_it_may() -> None:
    data = struct.pack(">i", 100) + bytes(400)
    with pytest.raises(Unfit):
        Scales(data, 50).weigh(LIST, 0)


def test_it_reads_as_far_as_the_values_decoder() -> None:
    """Bodies in all layouts: it is the same plan."""
    for frame in frames(GOLDEN):
        key, version, response = frame.row["api"], frame.row["version"], frame.row["kind"] == "response"
        plan = resolve(body_schema(key, response), version)
        start = body_offset(frame.data, key, version, response)
        assert Scales(frame.data, 10**6).weigh(pieces(plan), start)[1] == len(frame.data), frame.name


def test_layouts_that_are_the_same_on_the_wire_are_equal() -> None:
    first, second, flexible = (pieces(resolve(body_schema(12, True), version)) for version in (1, 2, 4))
    assert first == second != flexible
    assert first == pieces(resolve(body_schema(13, True), 1)), "an answer to LeaveGroup says no more"
