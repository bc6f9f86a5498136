"""Reads TCP headers as columns, and usual packets in one step.

Theory. Nearly every packet of a broker's capture has its fields at the same places: TCP in IPv4 without options, behind
a link layer of fixed length. So one gather reads all headers of a chunk, and columns are views of it. A packet that
differs in any way (a VLAN tag, an option, a fragment, a cut or contradictory header) is left to the reference
implementation: packet_decoder.py with network_layers.py and read_segments.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.flows import U64
from analyzer.capture.network_layers import TYPED, IpPayloads
from analyzer.capture.records import RecordBlock
from analyzer.capture.store import Store
from analyzer.columns.arrays import ArrayRows
from dissectors.slotted import make_slotted

NEEDED, WITH_WINDOW = 14, 16
"""Bytes of a TCP header that have all fields we need, and the window, too; a snap length may cut what follows."""
UNKNOWN_WINDOW = 0xFFFF
"""Stands for a window that is not known. Only windows of 0 are looked for."""
HEAD = np.dtype(
    [("ports", ">u2", 2), ("seq", ">u4"), ("ack", ">u4"), ("size", "u1"), ("flags", "u1"), ("window", ">u2")]
)


@make_slotted(frozen=False)
class TcpSegments(ArrayRows):
    """Holds TCP segments as columns: row in the block of records, endpoints, and the columns of PacketBlock."""

    row: NDArray[np.int64]
    source: U64
    destination: U64
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    at: NDArray[np.int64]
    length: NDArray[np.int32]
    captured: NDArray[np.int32]
    window: NDArray[np.uint16]


def order_segments(parts: list[TcpSegments]) -> TcpSegments:
    """Returns all segments of a block in the order of its records."""
    if not parts:
        return _no_segments()
    whole = TcpSegments.concatenate(parts)
    if bool((whole.row[1:] < whole.row[:-1]).any()):
        return whole[np.argsort(whole.row, kind="stable")]
    return whole


def _no_segments() -> TcpSegments:
    long, short = np.zeros(0, np.int64), np.zeros(0, np.int32)
    end, number = np.zeros(0, np.uint64), np.zeros(0, np.uint32)
    return TcpSegments(
        long, end, end, number, number, np.zeros(0, np.uint8), long, short, short, np.zeros(0, np.uint16)
    )


def read_segments(store: Store, inside: IpPayloads) -> tuple[TcpSegments, NDArray[np.bool_]]:
    """Reads TCP headers (RFC 9293); returns segments, and which of them are sound."""
    layer = inside.layer
    head = store.gather(layer.at, WITH_WINDOW).view(HEAD)[:, 0]
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
        np.where(layer.captured < WITH_WINDOW, UNKNOWN_WINDOW, head["window"]).astype(np.uint16),
    )
    return segments, (layer.captured >= NEEDED) & (size >= 20) & (length >= 0)


IP_HEADER = 20
IPV4_TYPE, IPV4_PLAIN, TCP = 0x0800, 0x45, 6
FRAGMENT = 0x3FFF
"""Bits of the IPv4 flags and offset: more fragments, or not the first."""

FIELDS: dict[str, tuple[int, str]] = {
    "version": (0, "u1"),
    "total": (2, ">u2"),
    "cut": (6, ">u2"),
    "protocol": (9, "u1"),
    "source": (12, ">u4"),
    "destination": (16, ">u4"),
    "from": (20, ">u2"),
    "to": (22, ">u2"),
    "seq": (24, ">u4"),
    "ack": (28, ">u4"),
    "size": (32, "u1"),
    "flags": (33, "u1"),
    "window": (34, ">u2"),
}
"""Offset and type of fields in an IPv4 header without options and the TCP header behind it."""


@cache
def _layout(type_at: int, payload: int) -> np.dtype[np.void]:
    """Returns the type of the headers from the EtherType on."""
    ahead = payload - type_at
    names, places = list(FIELDS), list(FIELDS.values())
    return np.dtype(
        {
            "names": ["type", *names],
            "formats": [">u2", *(kind for _, kind in places)],
            "offsets": [0, *(ahead + offset for offset, _ in places)],
            "itemsize": ahead + IP_HEADER + WITH_WINDOW,
        }
    )


def read_usual_segments(store: Store, records: RecordBlock) -> tuple[TcpSegments, NDArray[np.bool_]] | None:
    """Returns the usual packets among n records as segments, and which they are (bool, n); None for other link types.

    Reference: PacketDecoder without this function; tests/analyzer/capture/test_tcp_segments.py compares the two.
    """
    link = int(records.link[0])
    if link not in TYPED or not bool((records.link == link).all()):
        return None
    type_at, payload = TYPED[link]
    layout = _layout(type_at, payload)
    head = store.gather(records.at + type_at, layout.itemsize).view(layout)[:, 0]
    ahead = payload + IP_HEADER
    size = (head["size"] >> 4 << 2).astype(np.int32)
    inside = head["total"].astype(np.int32) - IP_HEADER
    captured = np.minimum(records.captured - ahead, inside).astype(np.int32)
    usual = (head["type"] == IPV4_TYPE) & (head["version"] == IPV4_PLAIN) & (head["protocol"] == TCP)
    usual &= (head["cut"] & FRAGMENT) == 0
    usual &= (captured >= NEEDED) & (size >= 20) & (inside >= size)
    rows = np.arange(len(records)) if bool(usual.all()) else np.flatnonzero(usual)
    if len(rows) < len(records):
        head, size, inside, captured, at = head[rows], size[rows], inside[rows], captured[rows], records.at[rows]
    else:
        at = records.at
    segments = TcpSegments(
        rows,
        head["source"].astype(np.uint64) << np.uint64(16) | head["from"],
        head["destination"].astype(np.uint64) << np.uint64(16) | head["to"],
        head["seq"].astype(np.uint32),
        head["ack"].astype(np.uint32),
        head["flags"].copy(),
        at + ahead + size,
        inside - size,
        np.maximum(captured - size, 0),
        np.where(captured < WITH_WINDOW, UNKNOWN_WINDOW, head["window"]).astype(np.uint16),
    )
    return segments, usual
