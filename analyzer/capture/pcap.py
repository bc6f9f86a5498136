"""The pcap format (draft-ietf-opsawg-pcap): a header of 24 bytes, then records behind headers of 16.

Theory. Only the captured length is needed to find the next record, so the hop reads nothing else; times and lengths
of all records are then gathered at once. Alexey Kuznetzov's patched libpcap wrote headers of 24 bytes behind another
magic.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.records import (
    LARGEST_RECORD,
    USUAL_SNAPLEN,
    WINDOW,
    CaptureInfo,
    Hopper,
    Interface,
    RecordBlock,
)
from analyzer.capture.rows import gather_rows
from analyzer.capture.sources import Source
from dissectors.finding import Finding

HEADER = 24
MICROSECONDS, NANOSECONDS, KUZNETZOV = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34


@dataclass(frozen=True, slots=True)
class Layout:
    """What a magic says: struct's byte order, ticks per second, bytes of a record header."""

    order: str
    ticks: int
    record: int


LAYOUTS = {
    struct.pack(order + "I", magic): Layout(order, ticks, record)
    for order in "<>"
    for magic, ticks, record in ((MICROSECONDS, 10**6, 16), (NANOSECONDS, 10**9, 16), (KUZNETZOV, 10**6, 24))
}


class PcapHopper(Hopper):
    """Records of a pcap file; its 24 header bytes must be there."""

    def __init__(self, source: Source, file: int, info: CaptureInfo, findings: list[Finding], block: int) -> None:
        super().__init__(source, file, info, findings, block)
        header = bytes(source.window(0, HEADER))
        self._layout = layout = LAYOUTS[header[:4]]
        snaplen, link = struct.unpack_from(layout.order + "II", header, 16)
        # The upper bits tell how long a frame check sequence is; IP's own lengths leave it out anyway.
        self._link = link & 0xFFFF
        self._usual = max(snaplen, USUAL_SNAPLEN)
        self._dtype = np.dtype([(name, layout.order + "u4") for name in ("seconds", "ticks", "captured", "original")])
        self.position = HEADER
        info.format = "pcap"
        info.byte_order = "little" if layout.order == "<" else "big"
        info.snaplen = snaplen
        info.interfaces.append(Interface("", self._link, snaplen, layout.ticks))

    def _hop(self, room: int) -> RecordBlock | None:
        header = self._layout.record
        unpack = struct.Struct(self._layout.order + "8xI4x").unpack_from
        window = self.source.window(self.position, WINDOW)
        starts: list[int] = []
        append = starts.append
        position = captured = 0
        try:
            for _ in range(room):
                (captured,) = unpack(window, position)
                append(position)
                position += captured + header
        except struct.error:
            # An absurd length leads out of the window, too: it is looked at below.
            pass
        if starts and position > self.source.size() - self.position:
            position = starts.pop()
            if captured > self._usual:
                self.damage(self.position + position, f"a record claims {captured:,} bytes, which are not there")
        block = self._columns(window, np.array(starts, np.int64))
        absurd = np.flatnonzero(block.captured > LARGEST_RECORD)
        if len(absurd):
            first = int(absurd[0])
            position, claimed = starts[first], int(block.captured[first])
            self.damage(self.position + position, f"a record claims {claimed:,} bytes, more than any packet has")
            block = block.take(slice(first))
        self.position += position
        return block if starts else None

    def _columns(self, window: memoryview, starts: NDArray[np.int64]) -> RecordBlock:
        headers = gather_rows(window, starts, 16).view(self._dtype)[:, 0]
        seconds, ticks = headers["seconds"].astype(np.int64), headers["ticks"].astype(np.int64)
        return RecordBlock(
            time=seconds * 1_000_000_000 + ticks * (1_000_000_000 // self._layout.ticks),
            at=starts + (self.base + self.position + self._layout.record),
            captured=headers["captured"].astype(np.int64),
            original=headers["original"].astype(np.int64),
            link=np.full(len(starts), self._link, np.int32),
        )
