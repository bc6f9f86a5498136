"""Values of a letter and a digit or letter: `i5` is a number, `kx` a text, `l2` a list, `m1` a map, `a1` attributes."""

from __future__ import annotations

import pytest

from dissectors.field import FieldSpec, Tree
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.nested_values import Head, read_value
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many, Wrapping
from tests.dissectors.trees import assert_tiles

CONTAINERS = {"l": Many, "m": FieldSpec, "a": Wrapping}


def read_head(reader: Reader, name: str) -> Head:
    reader.need(2, reader.at, name)
    kind, content = reader.data[reader.at : reader.at + 2].decode()
    if kind in CONTAINERS:
        return Head(CONTAINERS[kind](name, kind), reader.at + 2, items=int(content))
    return Head(FieldSpec(name, kind), reader.at + 2, content if kind == "k" else int(content), 1)


def read(message: bytes) -> Tree:
    return read_unframed(message, lambda reader: read_value(reader, "value", read_head) and None)


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (b"i5", 5),
        (b"l2i1l1kx", [1, ["x"]]),
        (b"l0", []),
        (b"m2kai1kbl1i2", {"a": 1, "b": [2]}),
        (b"m1l1i1i7", {"[0]": 7}),
        (b"l2a1kai9i1i2", [1, 2]),
        (b"a1kai9m0", {}),
    ],
)
def test_values(message: bytes, value: object) -> None:
    tree = read(message)
    assert_tiles(tree)
    assert fold_tree(tree).values == {"value": value}
    for end in range(len(message)):
        assert_tiles(read(message[:end]))
        assert len(read(message[:end]).findings) == 1


@pytest.mark.parametrize("deep", [b"l1", b"a0", b"m1"])
def test_depth_is_limited(deep: bytes) -> None:
    tree = read(deep * 5000 + b"i1")
    assert_tiles(tree)
    assert [finding.code for finding in tree.findings] == ["limit-exceeded"]
