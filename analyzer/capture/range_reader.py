"""Reads a part of a capture as if all of it was read, so that several processes can share one file.

Theory. A scanner that begins in the state of another one reads the same records. So numbers, times and places in time
depend on the capture only. Datagrams whose fragments lie on both sides of a cut need more: when a reader meets its
first fragment, which few captures have, it also reads the records before its range and goes on with their unfinished
datagrams. Datagrams that are complete before the range belong to another reader.

The look back ends after LOOK packets, or 30 seconds before the range, which is the patience of fragments.py. Of several
files it sees only records before the first packet of the range in time, so it serves files that follow one another, not
files that were written side by side.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.flows import FlowTable
from analyzer.capture.fragments import PATIENCE, DatagramKey, DatagramReassembler
from analyzer.capture.inputs import CaptureInput
from analyzer.capture.packet_decoder import PacketDecoder
from analyzer.capture.packets import RETAINED_BYTES, PacketBlock, make_packet_block
from analyzer.capture.records import LOWEST, CaptureInfo, CaptureRange, RecordBlock, RecordScanner, ScanState
from analyzer.capture.sources import SelfClosing
from analyzer.capture.store import Store
from analyzer.errors import CaptureError
from analyzer.processes import libc
from dissectors.finding import Finding

LOOK = 1 << 16
"""Packets before a range that are read for fragments."""

BLOCK = 32_768
"""Packets of the first block."""


class EarlierRange(NamedTuple):
    """Describes a range before the one that is read, which may have the first fragments of datagrams."""

    path: str
    part: CaptureRange


class RangeReader(SelfClosing):
    """Reads the TCP packets of one range. A context manager.

    earlier: the ranges before it in its timeline, the nearest first. called: its name, if that is not its path. Raises
    CaptureError if the file is no capture.
    """

    def __init__(
        self, path: str, part: CaptureRange, earlier: Sequence[EarlierRange] = (), called: str | None = None
    ) -> None:
        self.store, self.flows, self.findings = Store(), FlowTable(), list[Finding]()
        self._earlier = earlier
        self._begin = part.begin or ScanState(0, 0, LOWEST)
        self._first = LOWEST
        try:
            self._input = _open_range(path, self.store, self.findings, part, called)
        except BaseException:
            self.store.close()
            raise

    @property
    def info(self) -> CaptureInfo:
        """Description of the range (packets, times) and of the capture's format."""
        return self._input.info

    @property
    def before(self) -> int:
        """Number of records of the file before the range."""
        return self._begin.records

    @property
    def scanner(self) -> RecordScanner:
        """The scanner, which begins at the range."""
        return self._input.scanner

    @property
    def scan_state(self) -> ScanState:
        """The present state, from which another reader can go on."""
        there, info = self.scanner.save_state(), self.info
        place = self._begin.place if info.last is None else max(self._begin.place, info.last)
        return there._replace(records=self.before + info.packets, place=place)

    @property
    def is_damaged(self) -> bool:
        """Whether the packets end before the range does."""
        return self._input.is_damaged

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], PacketBlock]]:
        """Yields blocks of at least one TCP packet, each with the places in time of its packets.

        A place in time is the highest time of the file so far.
        """
        libc.keep_free(RETAINED_BYTES)
        decoder = PacketDecoder(self.store, self.flows, self.findings, reassembler=_LookBackReassembler(self))
        before, latest = self._begin.records, self._begin.place
        for records in self._input.blocks():
            place = np.maximum(np.maximum.accumulate(records.time), latest)
            if self._first == LOWEST:
                self._first = int(place[0])
            block = make_packet_block(decoder, self.flows, records, before)
            if len(block):
                yield place[block.number - before - 1], block
            before, latest = before + len(records), int(place[-1])
        libc.give_back()

    def look_back(self, reassembler: DatagramReassembler) -> None:
        """Gives the fragments before this range to a reassembler, with this reader's flow numbers."""
        found, remaining = list[_EarlierRecords](), LOOK
        try:
            for each in self._earlier:
                try:
                    found.append(_EarlierRecords(each, remaining, self._first))
                except CaptureError:
                    break
                remaining -= found[-1].packets
                if remaining <= 0 or not found[-1].whole:
                    break
            for one in reversed(found):
                decoder = PacketDecoder(one.store, self.flows, [], reassembler=reassembler)
                for records in one.records:
                    decoder.decode_segments(records)
        finally:
            for one in found:
                one.store.close()

    def close(self) -> None:
        """Closes the capture file and the store of reassembled bytes."""
        self._input.close()
        self.store.close()


class _LookBackReassembler(DatagramReassembler):
    """Reads the fragments before the range when it gets its first fragment."""

    def __init__(self, packets: RangeReader) -> None:
        super().__init__()
        self._packets: RangeReader | None = packets

    def add(self, time: int, key: DatagramKey, offset: int, more: bool, header: bytes, part: bytes) -> bytes | None:
        if self._packets is not None:
            packets, self._packets = self._packets, None
            packets.look_back(self)
        return super().add(time, key, offset, more, header, part)


class _EarlierRecords:
    """Holds the last records of an earlier range: at most `most`, before a place in time and not long before it.

    `whole`: they are all records of the range before that place.
    """

    def __init__(self, earlier: EarlierRange, most: int, place: int) -> None:
        self.store, self.whole, self.packets = Store(), True, 0
        self.records = deque[RecordBlock]()
        try:
            one = _open_range(earlier.path, self.store, [], earlier.part)
            latest = LOWEST if earlier.part.begin is None else earlier.part.begin.place
            for records in one.blocks():
                places = np.maximum(np.maximum.accumulate(records.time), latest)
                latest = int(places[-1])
                first, last = np.searchsorted(places, (place - PATIENCE, place + 1)).tolist()
                self.whole &= not first
                self._add(records[slice(max(first, last - most), last)], most)
            one.close()
        except BaseException:
            self.store.close()
            raise

    def _add(self, records: RecordBlock, most: int) -> None:
        self.records.append(records)
        self.packets += len(records)
        while self.packets - len(self.records[0]) >= most:
            self.packets -= len(self.records.popleft())


def _open_range(
    path: str, store: Store, findings: list[Finding], part: CaptureRange, called: str | None = None
) -> CaptureInput:
    stop = threading.Event()
    return CaptureInput(path, store, findings, follow=False, block=BLOCK, stop=stop, part=part, called=called)
