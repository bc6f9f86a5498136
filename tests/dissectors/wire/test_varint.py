"""Variable-length integers."""

from __future__ import annotations

import pytest

from dissectors.wire.varint import Unfit, uvarint, uvarlong, zigzag


@pytest.mark.parametrize(
    ("encoded", "value"), [("00", 0), ("7f", 127), ("8001", 128), ("ffffffff0f", 2**32 - 1), ("8000", 0)]
)
def test_uvarint(encoded: str, value: int) -> None:
    data = bytes.fromhex(encoded)
    assert uvarint(data, 0) == uvarlong(data, 0) == (value, len(data))


def test_the_longest() -> None:
    assert uvarlong(b"\xff" * 9 + b"\x01", 0) == (2**64 - 1, 10)
    for read, size in ((uvarint, 5), (uvarlong, 10)):
        with pytest.raises(Unfit):
            read(b"\x80" * size, 0)
        with pytest.raises(IndexError):
            read(b"\x80" * (size - 1), 0)


@pytest.mark.parametrize(("unsigned", "signed"), [(0, 0), (1, -1), (2, 1), (3, -2), (2**64 - 1, -(2**63))])
def test_zigzag(unsigned: int, signed: int) -> None:
    assert zigzag(unsigned) == signed
