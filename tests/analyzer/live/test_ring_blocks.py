"""Blocks that are made around packets of the ring are those that the plain writer writes."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from analyzer.capture.pcapng_format import encode_packet
from analyzer.live.ring_blocks import COOKED, ETHERNET, RingLayout, encode_blocks
from analyzer.live.taps import MemoryPieces, PacketBatch
from tests.analyzer.capture.writers import segment

SECONDS, NANOSECONDS = 1_700_000_000, 999_999_999
RAW = 101
FRAME = segment(b"hello, ring")
SIZES = [60, 61, 62, 63, 64, 1514, 0, 14]
TAGGED, KIND_KNOWN = 1 << 4, 1 << 6
FROM = (
    struct.pack("<H", 17)
    + struct.pack(">H", 0x86DD)
    + struct.pack("<iHBB", 7, 772, 4, 6)
    + b"\x01\x02\x03\x04\x05\x06\0\0"
)
COOKED_FROM = struct.pack(">HHIHBB", 0x86DD, 0, 7, 772, 4, 6) + b"\x01\x02\x03\x04\x05\x06\0\0"


def ring(packets: list[tuple[bytes, int]], start: int, status: int = 0, kind: int = 0) -> tuple[np.ndarray, list[int]]:  # type: ignore[type-arg]
    """A block as the kernel leaves it, full of what was there before; packets with their lengths on the wire."""
    found = np.full(1 << 16, 0xEE, np.uint8)
    places, at = [], 48
    for number, (data, length) in enumerate(packets):
        size = start + len(data) + 7 & ~7
        header = struct.pack(
            "<6I2H3I", size, SECONDS, NANOSECONDS - number, len(data), length, status, start, 0, 0, 5, kind
        )
        places.append(at >> 2)
        for place, part in ((0, header), (48, FROM), (start, data)):
            found[at + place : at + place + len(part)] = np.frombuffer(part, np.uint8)
        at += size
    return found, places


def written(found: np.ndarray, places: list[int], layout: RingLayout, tmp: str) -> bytes:  # type: ignore[type-arg]
    times, rows = encode_blocks(found, places, layout)
    ends = rows[:, 1].cumsum(dtype=np.int64)
    taken = PacketBatch(len(places), int(ends[-1]), int(times[-1]), MemoryPieces(rows, found), ends, times)
    with open(tmp, "w+b") as out:
        taken.write(out.fileno())
        out.seek(0)
        return out.read()


@pytest.mark.parametrize("start", [84, 82, 85, 96], ids=lambda start: f"packet at {start}")
@pytest.mark.parametrize("snaplen", [0, 61])
@pytest.mark.parametrize("link", [ETHERNET, RAW])
def test_a_packet_is_framed_where_it_lies(link: int, snaplen: int, start: int, tmp_path: object) -> None:
    packets = [((FRAME * 30)[:size], size + 7) for size in SIZES]
    remaining = slice(snaplen or None)
    plain = [
        encode_packet(3, SECONDS * 10**9 + NANOSECONDS - number, data[remaining], length)
        for number, (data, length) in enumerate(packets)
    ]
    assert written(*ring(packets, start), RingLayout(3, link, snaplen), f"{tmp_path}/a") == b"".join(plain)


@pytest.mark.parametrize(
    ("status", "kind", "tag"),
    [(0, 0x88A8, b""), (TAGGED, 0, b"\x81\x00\x00\x05"), (TAGGED | KIND_KNOWN, 0x88A8, b"\x88\xa8\x00\x05")],
)
def test_a_tag_stands_behind_the_addresses_again(status: int, kind: int, tag: bytes, tmp_path: object) -> None:
    plain = encode_packet(0, SECONDS * 10**9 + NANOSECONDS, FRAME[:12] + tag + FRAME[12:], len(FRAME) + len(tag))
    found = written(*ring([(FRAME, len(FRAME))], 84, status, kind), RingLayout(0, ETHERNET, 0), f"{tmp_path}/a")
    assert found == plain


@pytest.mark.parametrize("snaplen", [0, 30])
def test_a_cooked_header_says_where_it_came_from(snaplen: int, tmp_path: object) -> None:
    data = COOKED_FROM + FRAME[14:]
    plain = encode_packet(0, SECONDS * 10**9 + NANOSECONDS, data[: snaplen or None], len(data))
    found = written(*ring([(FRAME[14:], len(FRAME) - 14)], 96), RingLayout(0, COOKED, snaplen), f"{tmp_path}/a")
    assert found == plain
