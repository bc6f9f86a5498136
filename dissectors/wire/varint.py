"""Variable-length integers: seven bits a byte, the lowest first, the top bit says that more follows.

Facts. As in Kafka's ByteUtils, an int32 takes at most five bytes and an int64 at most ten, and bits beyond the width
are dropped. Signed integers are zig-zag: 0, -1, 1, -2 are written as 0, 1, 2, 3.
"""

from __future__ import annotations


class Unfit(Exception):
    """The bytes do not fit the plan. Raised in the fast decoder alone, which leaves the reason to the field decoder."""


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Reads an unsigned 32-bit varint; returns it and the offset behind it.

    Raises IndexError where the bytes end, Unfit when it is longer than five of them.
    """
    value = 0
    for shift in range(0, 35, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF, at
    raise Unfit


def uvarlong(data: bytes, at: int) -> tuple[int, int]:
    """Reads an unsigned 64-bit varint, of at most ten bytes; else as uvarint."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise Unfit


def zigzag(value: int) -> int:
    """Decodes an unsigned number to the signed number that it stands for (ZigZag of Protocol Buffers)."""
    return (value >> 1) ^ -(value & 1)
