"""Turns packets in the kernel's ring (TPACKET_V3) into pcapng packet blocks, in place.

Theory. In the ring, a packet follows its header (48 bytes) and its source address (20 bytes). These are read for all
packets of a block before anything is overwritten. Then the block header and, for cooked packets, the link layer are
written in front of each packet, and padding and length after it. The bytes after a packet reach at most the first word
of the next packet's header, whose offset is known by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.pcapng_format import ENHANCED

COOKED: Final = 276
ETHERNET: Final = 1
COOKED_HEADER = 20
HEAD, TAIL = 28, 4
"""Bytes of a packet block before its packet, and after it without padding."""

SECOND = 1_000_000_000
SECONDS, NANOSECONDS, CAPTURED, LENGTH, STATUS, START, TAG, TAG_KIND = range(8)
WANTED: Final = np.array([1, 2, 3, 4, 5, 6, 8, 9])
"""Words of a packet's header, in the order of the constants; START has the packet's offset in its lower half."""

ADDRESS: Final = np.arange(12, 17)
"""Words of the source address of a packet."""

TAGGED, TAG_KIND_KNOWN = 1 << 4, 1 << 6
TAG_SIZE = 4
VLAN = 0x8100


@dataclass(frozen=True, slots=True)
class RingLayout:
    """Describes the blocks to make.

    interface: its number in the file. link: LINKTYPE; COOKED packets get their header here. snaplen: 0 is no limit.
    """

    interface: int
    link: int
    snaplen: int


def encode_blocks(
    ring: NDArray[np.uint8], places: list[int], layout: RingLayout
) -> tuple[NDArray[np.int64], NDArray[np.uintp]]:
    """Returns the time of each packet (ns, n), and address and length of its block (n, 2).

    ring: all its bytes; they are overwritten. places: offsets of packet headers, in words of four bytes.
    """
    words = ring.view(np.uint32)
    headers = np.array(places, np.int64)
    words_of = words[headers[:, None] + WANTED].astype(np.int64)
    at = headers * 4 + (words_of[:, START] & 0xFFFF)
    captured, length = words_of[:, CAPTURED], words_of[:, LENGTH]
    if layout.link == COOKED:
        at, captured, length = at - COOKED_HEADER, captured + COOKED_HEADER, length + COOKED_HEADER
        _write(ring, at, _make_cooked_headers(words[headers[:, None] + ADDRESS]))
    elif layout.link == ETHERNET and (tagged := np.flatnonzero(words_of[:, STATUS] & TAGGED)).size:
        _put_tags_back(ring, at, words_of, tagged)
        at[tagged] -= TAG_SIZE
        captured[tagged] += TAG_SIZE
        length[tagged] += TAG_SIZE
    if layout.snaplen:
        captured = np.minimum(captured, layout.snaplen)
    times = words_of[:, SECONDS] * SECOND + words_of[:, NANOSECONDS]
    sizes = _frame(ring, at, times, captured, length, layout.interface)
    rows = np.empty((len(at), 2), np.uintp)
    rows[:, 0] = at + (ring.ctypes.data - HEAD)
    rows[:, 1] = sizes
    return times, rows


def _frame(
    ring: NDArray[np.uint8],
    at: NDArray[np.int64],
    times: NDArray[np.int64],
    captured: NDArray[np.int64],
    length: NDArray[np.int64],
    interface: int,
) -> NDArray[np.int64]:
    """Writes the block around each packet; returns the sizes of the blocks."""
    end = at + captured
    for place in range(3):  # padding, which the size may overwrite
        ring[end + place] = 0
    padded = (captured + 3) & ~3
    sizes = padded + (HEAD + TAIL)
    head = np.empty((len(at), 7), np.uint32)
    head[:, 0] = ENHANCED
    head[:, 1] = sizes
    head[:, 2] = interface
    head[:, 3] = times >> 32
    head[:, 4] = times & 0xFFFFFFFF
    head[:, 5] = captured
    head[:, 6] = length
    _write(ring, at - HEAD, head)
    _write(ring, at + padded, head[:, 1:2])
    return sizes


def _write(ring: NDArray[np.uint8], at: NDArray[np.int64], rows: NDArray[np.uint32]) -> None:
    """Writes each row at its offset, in whole words if all offsets allow it."""
    width = rows.shape[1]
    if not (at & 3).any():
        ring.view(np.uint32)[(at >> 2)[:, None] + np.arange(width)] = rows
    else:
        octets = np.ascontiguousarray(rows).view(np.uint8)
        ring[at[:, None] + np.arange(4 * width)] = octets


def _make_cooked_headers(address: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Returns Linux cooked headers, version 2 (LINKTYPE_LINUX_SLL2)."""
    protocol, interface, kind = address[:, 0] >> 16, address[:, 1], address[:, 2]
    found = address.copy()
    found[:, 0] = protocol
    found[:, 1] = interface.byteswap()
    found[:, 2] = kind & 0xFFFF0000 | (kind & 0xFFFF).astype(np.uint16).byteswap()
    return found


def _put_tags_back(
    ring: NDArray[np.uint8], at: NDArray[np.int64], words_of: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Restores VLAN tags that the kernel has removed: both addresses move to the front, and the tag follows them."""
    addresses = ring[at[rows][:, None] + np.arange(12)]
    kind = np.where(words_of[rows, STATUS] & TAG_KIND_KNOWN, words_of[rows, TAG_KIND] & 0xFFFF, VLAN)
    tag = np.stack([kind, words_of[rows, TAG] & 0xFFFF], axis=1).astype(">u2").view(np.uint8)
    ring[at[rows][:, None] + np.arange(-TAG_SIZE, 12)] = np.concatenate([addresses, tag], axis=1)
