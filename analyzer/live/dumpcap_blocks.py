"""What dumpcap writes, a stream of pcapng: packet blocks are passed on as they are, its counters are noted.

Only the number of the interface is changed, to that of our file, and times to nanoseconds, where they are not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np

from analyzer.capture.pcapng_writer import (
    INTERFACE,
    OPTION_DROPPED,
    OPTION_RECEIVED,
    OPTION_RESOLUTION,
    ORDER,
    PACKET,
    SECTION,
    STATISTICS,
)
from analyzer.live.taps import PacketBatch

HEAD, SHORTEST = 8, 12
"""Bytes of a block's type and length, and of the shortest block."""

NUMBER_AT, TIME_AT = 8, 12
"""Bytes of a packet block before the number of its interface and before its time."""

HEADS, TIMES, NUMBERS = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<I")
NANOSECONDS, MICROSECONDS = 9, b"\x06"


class BlockRelay:
    """One run's blocks. number: of the interface in our file. unit: nanoseconds of which dumpcap counts time.

    taken: packets that were passed on; received, dropped: what dumpcap says at the end of its interface.
    """

    def __init__(self, number: int, unit: int) -> None:
        self._number, self._unit = number, unit
        self.taken = self.received = self.dropped = 0

    def take(self, data: bytearray) -> PacketBatch | None:
        """Takes the whole blocks at the beginning of `data`, of which the packets are given.

        Raises ValueError for what is no pcapng.
        """
        at = size = 0
        parts: list[tuple[int, int]] = []
        ends: list[int] = []
        times: list[int] = []
        while at + HEAD <= len(data):
            kind, length = HEADS.unpack_from(data, at)
            if length < SHORTEST:
                raise ValueError(f"a block of {length} bytes")
            if at + length > len(data):
                break
            if kind == PACKET:
                times.append(self._renumbered(data, at))
                parts.append((at, at + length))
                size += length
                ends.append(size)
            elif kind == STATISTICS:
                self._note(bytes(data[at : at + length]))
            at += length
        blocks = _joined(data, parts)
        del data[:at]
        self.taken += len(parts)
        return PacketBatch(len(parts), size, times[-1], blocks, ends, np.array(times, np.int64)) if parts else None

    def _renumbered(self, data: bytearray, at: int) -> int:
        """Gives a packet the number of its interface, and its time in ns, which is returned."""
        high, low = TIMES.unpack_from(data, at + TIME_AT)
        moment: int = (high << 32 | low) * self._unit
        TIMES.pack_into(data, at + TIME_AT, moment >> 32, moment & 0xFFFFFFFF)
        NUMBERS.pack_into(data, at + NUMBER_AT, self._number)
        return moment

    def _note(self, block: bytes) -> None:
        found = dict(_options(block[20:-4]))
        self.received = int.from_bytes(found.get(OPTION_RECEIVED, b""), "little")
        self.dropped = int.from_bytes(found.get(OPTION_DROPPED, b""), "little")


def read_header(exactly: Callable[[int], bytes]) -> tuple[tuple[int, int] | None, bytes]:
    """The section and the interface that a run begins with: ((LINKTYPE, nanoseconds of a unit of time), b"").

    exactly: reads so many bytes, or fewer where there are no more. Else (None, what was read last).
    """
    block = b""
    for kind in (SECTION, INTERFACE):
        head = exactly(HEAD)
        found, size = HEADS.unpack(head) if len(head) == HEAD else (None, 0)
        if found != kind:
            return None, head
        block = head + exactly(size - HEAD)
        if len(block) < size or (kind == SECTION and block[HEAD : HEAD + 4] != struct.pack("<I", ORDER)):
            return None, block
    resolution = dict(_options(block[16:-4])).get(OPTION_RESOLUTION, MICROSECONDS)[0]
    return (int.from_bytes(block[HEAD : HEAD + 2], "little"), 10 ** max(NANOSECONDS - resolution, 0)), b""


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Options of a block, as far as they are whole."""
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if not code:
            return
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _joined(data: bytearray, parts: list[tuple[int, int]]) -> bytes:
    """The parts of it, which are in order; mostly they are one piece."""
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
