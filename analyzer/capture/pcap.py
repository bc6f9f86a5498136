"""Scans the pcap format (draft-ietf-opsawg-pcap): a header of 24 bytes, then records behind headers of 16.

Theory. The captured length is enough to find the next record, so the scan reads nothing else. Times and lengths of all
records are then gathered at once. Where records are short, parallel_scan.py finds most of them. Alexey Kuznetzov's
patched libpcap wrote headers of 24 bytes behind another magic.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import parallel_scan
from analyzer.capture.records import (
    LARGEST_RECORD,
    MAPPED_WINDOW,
    USUAL_SNAPLEN,
    WINDOW,
    CaptureInfo,
    CaptureInterface,
    RecordBlock,
    RecordScanner,
    ScanState,
)
from analyzer.capture.sources import ByteSource, MappedFile, gather_rows
from dissectors.finding import Finding
from dissectors.slotted import make_slotted

HEADER = 24
MICROSECONDS, NANOSECONDS, KUZNETZOV = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34


@make_slotted
class PcapLayout:
    """Says what a magic means: struct's byte order, ticks per second, bytes of a record header."""

    order: str
    ticks: int
    record: int


LAYOUTS = {
    struct.pack(order + "I", magic): PcapLayout(order, ticks, record)
    for order in "<>"
    for magic, ticks, record in ((MICROSECONDS, 10**6, 16), (NANOSECONDS, 10**9, 16), (KUZNETZOV, 10**6, 24))
}


class PcapScanner(RecordScanner):
    """Scans the records of a pcap file, whose 24 header bytes must be there."""

    def __init__(self, source: ByteSource, file: int, info: CaptureInfo, findings: list[Finding], block: int) -> None:
        super().__init__(source, file, info, findings, block)
        header = bytes(source.window(0, HEADER))
        self._layout = layout = LAYOUTS[header[:4]]
        snaplen, link = struct.unpack_from(layout.order + "II", header, 16)
        # The upper bits have the length of a frame check sequence, which IP's lengths do not include.
        self._link = link & 0xFFFF
        self._usual = max(snaplen, USUAL_SNAPLEN)
        self._dtype = np.dtype([(name, layout.order + "u4") for name in ("seconds", "ticks", "captured", "original")])
        self.position = HEADER
        self._hopped = 0
        self._look = MAPPED_WINDOW if isinstance(source, MappedFile) else WINDOW
        info.format = "pcap"
        info.byte_order = "little" if layout.order == "<" else "big"
        info.snaplen = snaplen
        info.interfaces.append(CaptureInterface("", self._link, snaplen, layout.ticks))

    def _import_state(self, state: ScanState) -> None:
        self._hopped = state.records

    def _scan(self, most_records: int) -> RecordBlock | None:
        window = self.source.window(self.position, self._look)
        starts, position = self._find_starts(window, most_records)
        if len(starts) and position > self.source.size() - self.position:
            starts, position = starts[:-1], int(starts[-1])
            (claimed,) = struct.unpack_from(self._layout.order + "8xI", window, position)
            if claimed > self._usual:
                self.damage(self.position + position, f"a record claims {claimed:,} bytes, which are not there")
        block = self._read_columns(window, starts)
        absurd = np.flatnonzero(block.captured > LARGEST_RECORD)
        if len(absurd):
            first = int(absurd[0])
            position, claimed = int(starts[first]), int(block.captured[first])
            self.damage(self.position + position, f"a record claims {claimed:,} bytes, more than any packet has")
            block = block[:first]
        self.position += position
        self._hopped += len(block)
        return block if len(starts) else None

    def _find_starts(self, window: memoryview, most_records: int) -> tuple[NDArray[np.int64], int]:
        """Returns where at most `most_records` records begin in the window, and where the last of them ends."""
        starts, position = self._scan_one_by_one(window, 0, min(most_records, parallel_scan.PROBE))
        if len(starts) == parallel_scan.PROBE < most_records:
            usual = (self.position + position) // (self._hopped + len(starts))
            # By the average length, the scan stops where the room ends.
            stop = min(len(window) - 11, position + most_records * usual)
            lengths = np.ndarray((max(stop, 0),), self._layout.order + "u4", window, 8, (1,))
            guess = self._guess(window, starts[-1])
            fast = parallel_scan.scan_records(lengths, 0, self._layout.record, position, usual, guess)
            fast = fast[: most_records - len(starts) + 1]
            if len(fast) > 1:
                return np.concatenate((starts, fast[:-1])), int(fast[-1])
            rest, position = self._scan_one_by_one(window, position, most_records - len(starts))
            starts += rest
        return np.array(starts, np.int64), position

    def _scan_one_by_one(self, window: memoryview, position: int, most_records: int) -> tuple[list[int], int]:
        """Returns the same from `position` on, record by record."""
        header = self._layout.record
        unpack = struct.Struct(self._layout.order + "8xI4x").unpack_from
        starts: list[int] = []
        append = starts.append
        try:
            for _ in range(most_records):
                (captured,) = unpack(window, position)
                append(position)
                position += captured + header
        except struct.error:
            # An absurd length also leads out of the window; _scan checks it.
            pass
        return starts, position

    def _guess(self, window: memoryview, known: int) -> parallel_scan.Guess:
        """Returns a function that finds records with a time near that of the one at `known`.

        The upper half of their seconds is the same.
        """
        layout = self._layout
        upper = slice(known + 2, known + 4) if layout.order == "<" else slice(known, known + 2)
        pattern, ahead = bytes(window[upper]), upper.start - known
        unpack = struct.Struct(layout.order + "4xIII").unpack_from

        def find_next(position: int) -> int:
            """Returns where the next record would begin; 0 if none begins here."""
            ticks, captured, original = unpack(window, position)
            good = ticks < layout.ticks and captured <= original <= self._usual
            return position + captured + layout.record if good else 0

        def guess(start: int, stop: int) -> int:
            text = bytes(window[start:stop])
            at = text.find(pattern, ahead)
            while at >= 0:
                position = start + at - ahead
                following = find_next(position) if position + 16 <= len(window) else 0
                if following and following + 16 <= len(window) and find_next(following):
                    return position
                at = text.find(pattern, at + 1)
            return -1

        return guess

    def _read_columns(self, window: memoryview, starts: NDArray[np.int64]) -> RecordBlock:
        headers = gather_rows(window, starts, 16).view(self._dtype)[:, 0]
        seconds, ticks = headers["seconds"].astype(np.int64), headers["ticks"].astype(np.int64)
        return RecordBlock(
            time=seconds * 1_000_000_000 + ticks * (1_000_000_000 // self._layout.ticks),
            at=starts + (self.base + self.position + self._layout.record),
            captured=headers["captured"].astype(np.int64),
            original=headers["original"].astype(np.int64),
            link=np.full(len(starts), self._link, np.int32),
        )
