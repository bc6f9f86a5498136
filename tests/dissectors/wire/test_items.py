"""Items that say their size, with a checksum and a text of pairs in each: both readers of one layout."""

from __future__ import annotations

import zlib
from struct import pack
from typing import Any

import pytest

from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.derived import Crc32, Pairs
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.emit import FAILURES, projection
from dissectors.wire.items import Items
from dissectors.wire.plan import Leaf, Plan
from dissectors.wire.primitive import INT32, UINT32, Length
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, Many, members
from tests.dissectors.trees import assert_tiles


def pairs(raw: bytes) -> dict[str, str]:
    found = (item.partition("=") for item in raw.decode().split(";") if item)
    return {name: value for name, _, value in found}


SIZE = Length("int16", "h")
BODY, TEXT = SizedBytes("bytes", SIZE), SizedBytes("pairs", SIZE, convert=pairs)
STEPS = (
    Leaf(LayoutSpec("size", "int32"), INT32),
    Leaf(FieldSpec("crc", "uint32"), UINT32),
    Leaf(FieldSpec("body", "bytes"), BODY, derived=(Crc32(FieldSpec("valid", "bool"), "crc", "body", 0xFFFF_FFFF),)),
    Leaf(FieldSpec("text", "pairs"), TEXT, derived=(Pairs("pair", b"=", b";"),)),
)
PLAN = Plan("Item", 0, STEPS)
ITEMS = Items(Many("items", "array"), lambda data, at, path: PLAN, 4, 12, FieldSpec("number", "int64"))


def item(body: bytes, text: bytes = b"", crc: int | None = None, more: int = 0) -> bytes:
    crc = zlib.crc32(body) if crc is None else crc
    content = pack(">Ih", crc, len(body)) + body + pack(">h", len(text)) + text
    return pack(">i", len(content) + 4 + more) + content


def values(body: bytes, text: dict[str, str], valid: bool = True) -> dict[str, Any]:
    crc = zlib.crc32(body) if valid else 1
    return {"crc": crc, "body": body, "text": text, "valid": valid}


CASES = [
    (item(b"one", b"a=1;b;") + item(b""), [values(b"one", {"a": "1", "b": ""}), values(b"", {})], ""),
    (item(b"one", crc=1) + item(b"two"), [values(b"one", {}, False), values(b"two", {})], "items[0].crc is 1"),
    (item(b"one", more=3) + b"abc" + item(b"two"), [values(b"one", {}), values(b"two", {})], "ends 3 bytes before"),
    (item(b"one") + bytes(12), [values(b"one", {})], "has size 0, the least is 12"),
]


@pytest.mark.parametrize(("data", "wanted", "finding"), CASES)
def test_both_readers(data: bytes, wanted: list[dict[str, Any]], finding: str) -> None:
    reader = Reader.start(data, Budget())
    reader.guard(ITEMS.read_items, len(data))
    assert_tiles(reader.tree)
    assert members(reader.tree.fields) == {"items": wanted}
    assert [finding in each.text for each in reader.tree.findings] == ([True] if finding else [])
    if finding:
        with pytest.raises(FAILURES):
            ITEMS.decode(data, 0, Budget())
    else:
        assert ITEMS.decode(data, 0, Budget()) == wanted
        assert [each["number"] for each in ITEMS.decode(data, 0, Budget(), 7)] == [7, 8]


def test_a_projection_derives_nothing() -> None:
    data = item(b"one", crc=1)
    assert projection(PLAN, frozenset({("body",)}))(data, 0, Budget()) == ({"body": b"one"}, len(data))
