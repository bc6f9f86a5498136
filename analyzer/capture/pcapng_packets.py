"""Columns of pcapng packet blocks: enhanced, simple and obsolete ones, from their positions in a window of the file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.options import COMMENT
from analyzer.capture.rows import gather_rows

OBSOLETE, SIMPLE, ENHANCED = 2, 3, 6
FEW = 16
"""Packets from which on walking in step is cheaper."""
MOST_OPTIONS = 1024
"""Options of one packet that are looked at: an honest one has a handful."""
HEAD = ("kind", "length", "interface", "high", "low", "captured", "original")


@dataclass(slots=True)
class PacketHeads:
    """Equally long columns; `start` and `data` (first captured byte): positions in the window; `length`: the block's.

    A simple packet has ticks 0 and belongs to interface 0.
    """

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    simple: NDArray[np.bool_]
    interface: NDArray[np.int64]
    ticks: NDArray[np.uint64]
    data: NDArray[np.int64]
    captured: NDArray[np.int64]
    original: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> PacketHeads:
        """The picked rows."""
        return PacketHeads(*(getattr(self, column.name)[rows] for column in fields(self)))


def read_heads(window: memoryview, starts: NDArray[np.int64], order: str, snaplen: int) -> PacketHeads:
    """The packet blocks that begin at `starts`; `snaplen` (0: none) is what cuts simple packets."""
    rows = gather_rows(window, starts, 28).view(np.dtype([(name, order + "u4") for name in HEAD]))[:, 0]
    ticks = rows["high"].astype(np.uint64) << np.uint64(32) | rows["low"]
    length, interface, captured, original = (
        rows[name].astype(np.int64) for name in ("length", "interface", "captured", "original")
    )
    heads = PacketHeads(
        starts, length, np.zeros(len(starts), np.bool_), interface, ticks, starts + 28, captured, original
    )
    kind = rows["kind"]
    if not bool((kind == ENHANCED).all()):
        _normalise(heads, kind, order, snaplen)
    return heads


def _normalise(heads: PacketHeads, kind: NDArray[np.uint32], order: str, snaplen: int) -> None:
    """Corrects, in place, what the two rarer kinds have elsewhere than enhanced packet blocks."""
    old, simple = np.flatnonzero(kind == OBSOLETE), np.flatnonzero(kind == SIMPLE)
    # 16 bits of interface, then 16 bits of drops, where an enhanced block has 32 bits of interface.
    heads.interface[old] = (heads.interface[old] >> (0 if order == "<" else 16)) & 0xFFFF
    heads.simple[simple] = True
    heads.original[simple] = heads.interface[simple]
    heads.interface[simple] = 0
    heads.ticks[simple] = 0
    heads.data[simple] -= 16
    room = np.minimum(heads.length[simple] - 16, snaplen or heads.length[simple])
    heads.captured[simple] = np.minimum(heads.original[simple], room)


def count_sound(window: memoryview, heads: PacketHeads, order: str) -> int:
    """How many of the first blocks agree in themselves: both lengths are the same and possible, and the packet fits."""
    behind = gather_rows(window, np.maximum(heads.start + heads.length - 4, 0), 4).view(order + "u4")[:, 0]
    good = (behind == heads.length) & (heads.length & 3 == 0) & (heads.length >= np.where(heads.simple, 16, 32))
    good &= heads.captured <= heads.length - 4 - (heads.data - heads.start)
    return len(good) if bool(good.all()) else int(np.argmin(good))


def find_comments(window: memoryview, heads: PacketHeads, order: str) -> NDArray[np.int64]:
    """Row, position in the window and length of each comment (3, n), in the order of the packets and their options.

    All packets' options are walked in step, a few packets' one by one; empty comments say nothing and are left out.
    """
    position = heads.data + (heads.captured + 3 & ~3)
    end = heads.start + heads.length - 4
    rows = np.flatnonzero((position + 4 <= end) & ~heads.simple)
    position, end = position[rows], end[rows]
    found: list[NDArray[np.int64]] = []
    steps = 0
    while len(rows) >= FEW and steps < MOST_OPTIONS:
        steps += 1
        option = gather_rows(window, position, 4).view(order + "u2").astype(np.int64)
        code, length = option[:, 0], option[:, 1]
        here = position + 4 + length <= end
        told = np.flatnonzero((code == COMMENT) & here & (length > 0))
        found.append(np.stack((rows[told], position[told] + 4, length[told])))
        position = position + 4 + (length + 3 & ~3)
        on = np.flatnonzero((code != 0) & here & (position + 4 <= end))
        rows, position, end = rows[on], position[on], end[on]
    if len(rows) < FEW:
        ranges = zip(rows.tolist(), position.tolist(), end.tolist(), strict=True)
        few = [each for row, start, stop in ranges for each in _comments_of(window, row, start, stop, order)]
        found.append(np.array(few, np.int64).reshape(-1, 3).T)
    every = np.concatenate(found, axis=1)
    return every[:, np.argsort(every[0], kind="stable")]


def _comments_of(window: memoryview, row: int, start: int, stop: int, order: str) -> Iterator[tuple[int, int, int]]:
    """The same of one packet, whose options lie between two positions."""
    head = struct.Struct(order + "HH")
    for _ in range(MOST_OPTIONS):
        if start + 4 > stop:
            return
        code, length = head.unpack_from(window, start)
        start += 4
        if code == 0 or start + length > stop:
            return
        if code == COMMENT and length:
            yield row, start, length
        start += length + 3 & ~3
