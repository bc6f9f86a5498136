"""Relays packets from a program that writes a capture to a pipe (dumpcap: pcapng; tcpdump: pcap).

Theory. dumpcap's packet blocks are passed on unchanged, except for the number of the interface, and for times that are
not in nanoseconds. tcpdump's records are converted to such blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np

from analyzer.capture.pcap import HEADER, LAYOUTS
from analyzer.capture.pcapng_format import (
    ENHANCED,
    INTERFACE,
    INTERFACE_RESOLUTION,
    ORDER,
    SECTION,
    STATISTICS,
    STATISTICS_DROPPED,
    STATISTICS_RECEIVED,
    encode_packet,
)
from analyzer.live.taps import PacketBatch


def open_relay(number: int, exactly: Callable[[int], bytes]) -> tuple[tuple[int, BlockRelay | PcapRelay] | None, bytes]:
    """Reads everything before the first packet: ((LINKTYPE, relay), b""), or (None, bytes read last).

    number: of the interface in our file. exactly: reads that many bytes, or fewer at the end.
    """
    head = exactly(HEAD)
    if head[:4] in LAYOUTS:
        head += exactly(HEADER - HEAD)
        return ((link, PcapRelay(number, head)), b"") if (link := read_link(head)) is not None else (None, head)
    found, rest = read_header(exactly, head)
    return (None, rest) if found is None else ((found[0], BlockRelay(number, found[1])), b"")


def read_link(head: bytes) -> int | None:
    """Returns the LINKTYPE in the header of a pcap file; None if it is too short."""
    if len(head) < HEADER:
        return None
    link: int = struct.unpack_from(LAYOUTS[head[:4]].order + "I", head, 20)[0]
    return link & 0xFFFF


class PcapRelay:
    """Makes blocks from the records of one run.

    number: of the interface in our file. head: the header of the pcap. taken: packets passed on; tcpdump writes no
    counters to its file.
    """

    def __init__(self, number: int, head: bytes) -> None:
        layout = LAYOUTS[head[:4]]
        self._number, self._unit = number, 10**9 // layout.ticks
        self._record, self._fields = layout.record, struct.Struct(layout.order + "IIII")
        self.taken = self.received = self.dropped = 0

    def take(self, data: bytearray) -> PacketBatch | None:
        """Removes the whole records at the front of `data`, and returns their packets. Raises ValueError."""
        at, blocks, times = 0, list[bytes](), list[int]()
        while at + self._record <= len(data):
            seconds, ticks, captured, original = self._fields.unpack_from(data, at)
            if captured > LARGEST:
                raise ValueError(f"a packet of {captured} bytes")
            end = at + self._record + captured
            if end > len(data):
                break
            times.append(seconds * 10**9 + ticks * self._unit)
            blocks.append(encode_packet(self._number, times[-1], bytes(data[at + self._record : end]), original))
            at = end
        del data[:at]
        self.taken += len(blocks)
        if not blocks:
            return None
        ends = np.cumsum([len(block) for block in blocks])
        return PacketBatch(len(blocks), int(ends[-1]), times[-1], b"".join(blocks), ends, np.array(times, np.int64))


LARGEST = 1 << 24
"""If a packet or a block has more bytes, the stream is damaged."""

HEAD, SHORTEST, SHORTEST_PACKET = 8, 12, 32
"""Bytes of a block's type and length, of the shortest block, and of the shortest block with a packet."""

NUMBER_AT, TIME_AT = 8, 12
"""Offsets in a packet block of the interface number and of the time."""

HEADS, TIMES, NUMBERS = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<I")
NANOSECONDS, MICROSECONDS = 9, b"\x06"


class BlockRelay:
    """Passes on the packet blocks of one run.

    number: of the interface in our file. unit: nanoseconds per tick of dumpcap's clock. taken: packets passed on;
    received, dropped: the counters at the end.
    """

    def __init__(self, number: int, unit: int) -> None:
        self._number, self._unit = number, unit
        self.taken = self.received = self.dropped = 0

    def take(self, data: bytearray) -> PacketBatch | None:
        """Removes the whole blocks at the front of `data`, and returns their packets.

        Raises ValueError if they are not pcapng.
        """
        at = size = 0
        parts: list[tuple[int, int]] = []
        ends: list[int] = []
        times: list[int] = []
        while at + HEAD <= len(data):
            kind, length = HEADS.unpack_from(data, at)
            if not (SHORTEST_PACKET if kind == ENHANCED else SHORTEST) <= length <= LARGEST:
                raise ValueError(f"a block of {length} bytes")
            if at + length > len(data):
                break
            if kind == ENHANCED:
                times.append(self._renumber(data, at))
                parts.append((at, at + length))
                size += length
                ends.append(size)
            elif kind == STATISTICS:
                self._note(bytes(data[at : at + length]))
            at += length
        blocks = _concatenate(data, parts)
        del data[:at]
        self.taken += len(parts)
        return PacketBatch(len(parts), size, times[-1], blocks, ends, np.array(times, np.int64)) if parts else None

    def _renumber(self, data: bytearray, at: int) -> int:
        """Sets the interface number and the time of a packet; returns the time in ns."""
        high, low = TIMES.unpack_from(data, at + TIME_AT)
        moment: int = (high << 32 | low) * self._unit
        TIMES.pack_into(data, at + TIME_AT, moment >> 32, moment & 0xFFFFFFFF)
        NUMBERS.pack_into(data, at + NUMBER_AT, self._number)
        return moment

    def _note(self, block: bytes) -> None:
        found = dict(_options(block[20:-4]))
        self.received = int.from_bytes(found.get(STATISTICS_RECEIVED, b""), "little")
        self.dropped = int.from_bytes(found.get(STATISTICS_DROPPED, b""), "little")


def read_header(exactly: Callable[[int], bytes], first: bytes = b"") -> tuple[tuple[int, int] | None, bytes]:
    """Reads the section and the interface at the front: ((LINKTYPE, nanoseconds per tick), b"").

    first: the first bytes, if they were read already. exactly: reads that many bytes, or fewer. Returns (None, bytes
    read last) for anything else.
    """
    block = b""
    for kind in (SECTION, INTERFACE):
        head, first = first or exactly(HEAD), b""
        found, size = HEADS.unpack(head) if len(head) == HEAD else (None, 0)
        if found != kind or not SHORTEST <= size <= LARGEST:
            return None, head
        block = head + exactly(size - HEAD)
        if len(block) < size or (kind == SECTION and block[HEAD : HEAD + 4] != struct.pack("<I", ORDER)):
            return None, block
    resolution = dict(_options(block[16:-4])).get(INTERFACE_RESOLUTION, MICROSECONDS)[0]
    return (int.from_bytes(block[HEAD : HEAD + 2], "little"), 10 ** max(NANOSECONDS - resolution, 0)), b""


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the complete options of a block."""
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if not code:
            return
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _concatenate(data: bytearray, parts: list[tuple[int, int]]) -> bytes:
    """Returns parts of `data`, which are in order and mostly adjacent."""
    pieces: list[tuple[int, int]] = []
    for begin, end in parts:
        if pieces and pieces[-1][1] == begin:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((begin, end))
    view = memoryview(data)
    joined = b"".join(view[begin:end] for begin, end in pieces)
    view.release()
    return joined
