"""Scans the pcapng format (draft-ietf-opsawg-pcapng): blocks with their length in front and behind.

Theory. Packet blocks are nearly all of a file, so the scan collects their positions and reads their heads at once. Only
sections, interfaces, names, statistics and secrets end such a run; unknown and custom blocks are skipped by their
length. A simple packet has no time, and takes that of the packet before it. Two lengths that differ, or a block that
runs past the end, are damage.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import parallel_scan
from analyzer.capture.pcapng_blocks import PacketHeads, PcapngSection, count_sound, find_comments, read_heads
from analyzer.capture.pcapng_format import (
    BYTE_ORDERS,
    ENHANCED,
    INTERFACE,
    NAMES,
    OBSOLETE,
    SECRETS,
    SECTION,
    SIMPLE,
    STATISTICS,
    TLS_KEY_LOG,
)
from analyzer.capture.records import (
    LARGEST_RECORD,
    MOST_COMMENTS,
    USUAL_SNAPLEN,
    WINDOW,
    CaptureInfo,
    DescriptionBlock,
    RecordBlock,
    RecordScanner,
    ScanState,
    make_empty_block,
)
from analyzer.capture.sources import ByteSource, gather_rows
from dissectors.finding import Finding, Severity

SHORTEST = {SECTION: 28, INTERFACE: 20, OBSOLETE: 32, SIMPLE: 16, ENHANCED: 32}
SHORT_WINDOW = 1 << 16
WORTH_A_LOOK = 4096
"""Packets that make up for the cost of any window."""
PACKETS = {OBSOLETE, SIMPLE, ENHANCED}
DESCRIPTIONS = {SECTION, INTERFACE, NAMES, STATISTICS, SECRETS}
SHORTEST_STATISTICS = 24
MOST_SECRETS = 4096
"""Blocks of secrets of one file that are read."""


class PcapngScanner(RecordScanner):
    """Scans the packets of a pcapng file, whose first section header must be there."""

    def __init__(self, source: ByteSource, file: int, info: CaptureInfo, findings: list[Finding], block: int) -> None:
        super().__init__(source, file, info, findings, block)
        info.format = "pcapng"
        self._section = PcapngSection(BYTE_ORDERS[bytes(source.window(8, 4))], info)
        self._packets = 0
        self._time = 0
        self._undefined = False
        self._look = SHORT_WINDOW

    def _export_state(self) -> Sequence[int | str]:
        return (self._time, int(self._undefined), self.info.snaplen, *self._section.export_state())

    def _import_state(self, state: ScanState) -> None:
        time, undefined, snaplen, order, *rest = state.reader_state
        self._packets = state.records
        self._time, self._undefined, self.info.snaplen = int(time), bool(undefined), int(snaplen)
        self._section = PcapngSection(str(order), self.info)
        self._section.restore_state([int(each) for each in rest])

    def _scan(self, most_records: int) -> RecordBlock | None:
        window = self._read_window()
        if window is None:
            return None
        starts, position = self._scan_run(window, most_records)
        # A short run wasted most of its window: with a section for each packet, that would take quadratic time.
        worth = position * 2 > len(window) or len(starts) >= WORTH_A_LOOK
        self._look = min(self._look * 2, WINDOW) if worth else SHORT_WINDOW
        if len(starts):
            return self._read_columns(window, starts, position)
        if position < len(window):
            position += self._read_description(window[position:], self.position + position)
        self.position += position
        return make_empty_block()

    def _read_window(self) -> memoryview | None:
        """Returns bytes that begin with at least one whole block, or None if it is incomplete or damaged."""
        window = self.source.window(self.position, self._look)
        if len(window) < 12:
            return None
        order: str | None = self._section.order
        (kind,) = struct.unpack_from(f"{order}I", window)
        if kind == SECTION:
            order = BYTE_ORDERS.get(bytes(window[8:12]))
        if order is None:
            self.damage(self.position, "a section header has no byte order mark")
            return None
        (length,) = struct.unpack_from(order + "I", window, 4)
        if length & 3 or not SHORTEST.get(kind, 12) <= length <= LARGEST_RECORD:
            self.damage(self.position, f"a block of type {kind:#x} claims {length:,} bytes")
            return None
        if length <= len(window):
            return window
        if self.position + length <= self.source.size():
            return self.source.window(self.position, length)
        if kind in (ENHANCED, OBSOLETE) and length > max(USUAL_SNAPLEN, self.info.snaplen) * 2:
            self.damage(self.position, f"a packet block claims {length:,} bytes, which are not there")
        return None

    def _scan_run(self, window: memoryview, most_records: int) -> tuple[NDArray[np.int64], int]:
        """Returns the positions of packet blocks in `window`, up to the first other block that matters.

        Packet blocks may be inconsistent. Blocks behind an inconsistent one mean nothing, and are dropped with it.
        """
        starts, position = self._scan_one_by_one(
            window[: parallel_scan.PROBE * parallel_scan.LONGEST], 0, min(most_records, parallel_scan.PROBE)
        )
        if len(starts) == parallel_scan.PROBE < most_records:
            usual = (self.position + position) // (self._packets + len(starts))
            # By the average length, the scan stops where the room ends.
            fast = self._scan_parallel(window[: position + most_records * usual], position, usual)[
                : most_records - len(starts) + 1
            ]
            if len(fast) > 1:
                return np.concatenate((starts, fast[:-1])), int(fast[-1])
        rest, position = self._scan_one_by_one(window, position, most_records - len(starts))
        return np.array(starts + rest, np.int64), position

    def _scan_parallel(self, window: memoryview, position: int, usual: int) -> NDArray[np.int64]:
        """Returns positions of enhanced packet blocks from `position` on, by parallel_scan.scan_records."""
        order = self._section.order
        kind = struct.pack(order + "I", ENHANCED)
        lengths = np.ndarray((max(len(window) - 7, 0),), order + "u4", window, 4, (1,))

        def guess(start: int, stop: int) -> int:
            text = bytes(window[start:stop])
            at = text.find(kind)
            while at >= 0:
                begin = start + at
                length = bytes(window[begin + 4 : begin + 8])
                end = begin + int.from_bytes(length, "little" if order == "<" else "big")
                if not begin & 3 and length == bytes(window[end - 4 : end]) and kind == bytes(window[end : end + 4]):
                    return begin
                at = text.find(kind, at + 1)
            return -1

        found = parallel_scan.scan_records(lengths, 12, 0, position, usual, guess)
        # The scalar loop checks each block; blocks without packets or with odd lengths are left to it.
        heads = gather_rows(window, found, 8).view(order + "u4")
        plain = (heads[:, 0] == ENHANCED) & (heads[:, 1] & 3 == 0) & (heads[:, 1] >= SHORTEST[ENHANCED])
        return found if bool(plain.all()) else found[: int(np.argmin(plain)) + 1]

    def _scan_one_by_one(self, window: memoryview, position: int, most_records: int) -> tuple[list[int], int]:
        """Returns what _scan_run gives from `position` on, block by block."""
        # Blocks are aligned to four bytes: an index into words is much faster than struct's unpack_from.
        words = np.frombuffer(window[: len(window) & ~3], self._section.order + "u4").astype(np.uint32, copy=False).data
        starts: list[int] = []
        append, end, word = starts.append, len(words), position // 4
        try:
            # The bound also ends a loop over blocks of length 0.
            for _ in range(most_records):
                kind, length = words[word], words[word + 1]
                if kind == ENHANCED or kind in PACKETS:
                    append(word * 4)
                elif kind in DESCRIPTIONS or length & 3 or not 12 <= length <= (end - word) * 4:
                    break
                word += length >> 2
        except IndexError:
            pass
        if starts and word > end:
            return starts[:-1], starts[-1]
        return starts, word * 4

    def _read_description(self, block: memoryview, position: int) -> int:
        """Reads the block at the front of `block` and returns its length; 0 if it is of another kind, cut or odd."""
        if len(block) < 12:
            return 0
        length: int
        order = self._section.order
        (kind,) = struct.unpack_from(order + "I", block)
        if kind == SECTION:
            order = BYTE_ORDERS.get(bytes(block[8:12]), order)
        (length,) = struct.unpack_from(order + "I", block, 4)
        if kind not in DESCRIPTIONS or length & 3 or not SHORTEST.get(kind, 12) <= length <= len(block):
            return 0
        if kind == STATISTICS:  # nothing depends on it, so a broken block is skipped
            if length >= SHORTEST_STATISTICS:
                self._section.read_statistics(bytes(block[: length - 4]))
            return length
        if kind == SECRETS:  # nor on this one
            self._note_secrets(block[: length - 4], position)
            return length
        if bytes(block[4:8]) != bytes(block[length - 4 : length]):
            self.damage(position, "the two lengths of a block do not agree")
            return 0
        self.info.described.append(DescriptionBlock(kind, position, order))
        data = bytes(block[: length - 4])
        if kind == SECTION:
            self._section = PcapngSection(order, self.info)
            self._section.read_header(data)
        elif kind == INTERFACE:
            self._section.read_interface(data)
        else:
            self._section.read_names(data)
        return length

    def _note_secrets(self, block: memoryview, position: int) -> None:
        """Notes where a key log lies; its text stays in the capture."""
        if len(block) >= 16 and len(self.info.secrets) < MOST_SECRETS:
            kind, length = struct.unpack_from(self._section.order + "II", block, 8)
            if kind == TLS_KEY_LOG:
                self.info.secrets.append((self.base + position + 16, min(length, len(block) - 16)))

    def _read_columns(self, window: memoryview, starts: NDArray[np.int64], position: int) -> RecordBlock:
        """Reads the packets at `starts`, up to the first inconsistent one, and moves on behind them."""
        section = self._section
        heads = read_heads(window, starts, section.order, section.snaplen)
        good = count_sound(window, heads, section.order)
        if good < len(heads):
            position = int(starts[good])
            heads = heads[:good]
        if not good:
            # The first block of a run has passed _read_window(), so findings do not depend on the division into blocks.
            self.damage(self.position + position, "the lengths of a packet block contradict each other")
        known = heads.interface < len(section)
        if not bool(known.all()):
            self._say_undefined(int(starts[int(np.argmin(known))]))
            heads = heads[known]
        self._keep_comments(find_comments(window, heads, section.order), heads)
        time, link = section.times_and_links(heads.interface, heads.ticks)
        if bool(heads.simple.any()):
            latest = np.maximum.accumulate(np.where(heads.simple, -1, np.arange(len(heads))))
            time = np.where(latest < 0, np.int64(self._time), time[latest])
        if len(time):
            self._time = int(time[-1])
        at = heads.data + (self.base + self.position)
        block = RecordBlock(time, at, heads.captured, heads.original, link)
        self._packets += len(heads)
        self.position += position
        return block

    def _keep_comments(self, found: NDArray[np.int64], heads: PacketHeads) -> None:
        """Notes where comments lie; `found` has rows of `heads`, and positions in the present window."""
        most_records = MOST_COMMENTS - len(self.info.comments)
        row, at, length = found[:, :most_records]
        self.info.left_out += found.shape[1] - len(row)
        if len(row):
            here = self.base + self.position
            values = {"record": heads.data[row] + here, "at": at + here, "length": length}
            self.info.comments.append(len(row), values)

    def _say_undefined(self, position: int) -> None:
        if not self._undefined:
            self._undefined = True
            where = f"{self.info.path}, byte {self.position + position}"
            text = f"{where}: a packet names an interface that the file does not describe; such packets are left out"
            self._findings.append(Finding(Severity.WARNING, "damaged-capture", text, offset=self.position + position))
