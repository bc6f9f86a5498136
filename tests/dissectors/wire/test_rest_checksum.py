"""A checksum of all that follows it, and bits with names: values and tree of the same bytes."""

from __future__ import annotations

import struct
import zlib

import pytest

from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, projection, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Bits, Leaf, Plan, RestChecksum, find_places
from dissectors.wire.primitive import INT16, UINT8, UINT32
from dissectors.wire.reader import Reader
from dissectors.wire.specs import members

CODECS = ("none", "gzip", "snappy")
KIND = Leaf(FieldSpec("kind", "int16"), INT16)
CRC = Leaf(FieldSpec("crc", "uint32"), UINT32, derived=(RestChecksum(FieldSpec("crcValid", "bool"), zlib.crc32),))
FLAGS = Leaf(FieldSpec("flags", "uint8"), UINT8, bits=(Bits(FieldSpec("codec", "string"), 0x06, CODECS),))
PLAN = Plan("Checked", 0, (KIND, CRC, FLAGS))


def message(flags: int) -> bytes:
    return struct.pack(">hI", 7, zlib.crc32(bytes([flags]))) + bytes([flags])


def read_tree(data: bytes) -> Reader:
    reader = Reader.start(data, Budget())
    reader.guard(lambda inside: read_members(inside, PLAN.steps), len(data))
    return reader


@pytest.mark.parametrize(("flags", "codec"), [(0, "none"), (2, "gzip"), (5, "snappy")])
def test_both_decoders_read_the_same(flags: int, codec: str) -> None:
    data = message(flags)
    expected = {"kind": 7, "crc": zlib.crc32(data[6:]), "crcValid": True, "flags": flags, "codec": codec}
    assert values_decoder(PLAN)(data, 0, Budget()) == (expected, len(data))
    tree = read_tree(data).tree
    assert (members(tree.fields), tree.findings) == (expected, [])


@pytest.mark.parametrize("at", range(2, 7))
def test_a_wrong_checksum_is_left_to_the_tree(at: int) -> None:
    data = bytearray(message(2))
    data[at] ^= 1
    with pytest.raises(FAILURES):
        values_decoder(PLAN)(bytes(data), 0, Budget())
    tree = read_tree(bytes(data)).tree
    assert members(tree.fields)["crcValid"] is False
    assert [(each.code, each.offset, each.length) for each in tree.findings] == [("crc-mismatch", 2, 4)]


def test_bits_without_a_name_are_shown_by_their_number() -> None:
    with pytest.raises(FAILURES):
        values_decoder(PLAN)(message(6), 0, Budget())
    assert members(read_tree(message(6)).tree.fields)["codec"] == "unknown-3"


def test_a_projection_without_the_checksum_does_not_compute_it() -> None:
    decode = projection(PLAN, frozenset({("codec",), ("kind",)}))
    assert decode(message(2)[:2] + bytes(4) + b"\2", 0, Budget()) == ({"kind": 7, "codec": "gzip"}, 7)


def test_places_end_at_the_first_member_of_another_width() -> None:
    assert find_places(PLAN.steps) == {"kind": (0, "i2"), "crc": (2, "u4"), "flags": (6, "u1")}
