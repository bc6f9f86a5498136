"""TCP headers to columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.ip import IpPayloads
from analyzer.capture.pairs import U64
from analyzer.capture.store import Store
from dissectors.slotted import slotted

NEEDED = 14
"""Bytes of a TCP header that tell everything; a snap length may cut what follows."""
HEAD = np.dtype([("ports", ">u2", 2), ("seq", ">u4"), ("ack", ">u4"), ("size", "u1"), ("flags", "u1")])


@slotted(frozen=False)
class TcpSegments:
    """TCP segments as columns: `row` in the block of records, endpoints, and what PacketBlock says of the rest."""

    row: NDArray[np.int64]
    source: U64
    destination: U64
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    at: NDArray[np.int64]
    length: NDArray[np.int32]
    captured: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> TcpSegments:
        """The picked rows."""
        return TcpSegments(*(getattr(self, name)[rows] for name in TcpSegments.__annotations__))


def concatenate_segments(parts: list[TcpSegments]) -> TcpSegments:
    """All segments of a block in the order of its records."""
    if not parts:
        return _no_segments()
    whole = parts[0]
    if len(parts) > 1:
        names = TcpSegments.__annotations__
        whole = TcpSegments(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    if bool((whole.row[1:] < whole.row[:-1]).any()):
        return whole.take(np.argsort(whole.row, kind="stable"))
    return whole


def _no_segments() -> TcpSegments:
    long, short = np.zeros(0, np.int64), np.zeros(0, np.int32)
    end, number = np.zeros(0, np.uint64), np.zeros(0, np.uint32)
    return TcpSegments(long, end, end, number, number, np.zeros(0, np.uint8), long, short, short)


def read_segments(store: Store, inside: IpPayloads) -> tuple[TcpSegments, NDArray[np.bool_]]:
    """The segments, and which of them are sound: the others are to be left out."""
    layer = inside.layer
    head = store.gather(layer.at, NEEDED).view(HEAD)[:, 0]
    size = (head["size"] >> 4).astype(np.int64) << 2
    ports = head["ports"].astype(np.uint64)
    length = layer.wire - size
    segments = TcpSegments(
        layer.row,
        inside.source << np.uint64(16) | ports[:, 0],
        inside.destination << np.uint64(16) | ports[:, 1],
        head["seq"].astype(np.uint32),
        head["ack"].astype(np.uint32),
        head["flags"].copy(),
        layer.at + size,
        length.astype(np.int32),
        np.maximum(layer.captured - size, 0).astype(np.int32),
    )
    return segments, (layer.captured >= NEEDED) & (size >= 20) & (length >= 0)
