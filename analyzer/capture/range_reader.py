"""A part of a capture, read as it would be when the whole capture was: for several readers of one file.

Theory. A hopper that stands where another one stood, and knows what that one was told, reads the same records; so
numbers, times and places in time depend on nothing but the capture. Only datagrams whose pieces lie on both sides of a
cut need more: with the first piece of any datagram, which few captures have, what comes before the stretch is
looked at, too, and its unfinished datagrams are gone on with. What was whole there belongs to whoever reads it.

The look back ends after LOOK packets, and where they are 30 seconds older than the stretch: the same patience as
fragments.py has. Of several files it sees only what lies before the stretch's first packet in time, so it serves files
that follow one another, not those that were written side by side.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import libc
from analyzer.capture.flows import FlowTable
from analyzer.capture.fragments import PATIENCE, DatagramKey, DatagramReassembler
from analyzer.capture.inputs import CaptureInput
from analyzer.capture.packet_decoder import PacketDecoder
from analyzer.capture.packets import KEPT, PacketBlock, make_packet_block
from analyzer.capture.records import LOWEST, CaptureInfo, CaptureRange, RecordBlock, RecordScanner, ScanState
from analyzer.capture.sources import SelfClosing
from analyzer.capture.store import Store
from analyzer.errors import CaptureError
from dissectors.finding import Finding

LOOK = 1 << 16
"""Packets before a stretch that are looked at for pieces of datagrams."""

BLOCK = 32_768
"""Packets of the first block."""


class EarlierRange(NamedTuple):
    """What may have the first pieces of datagrams: a stretch of a file, up to the stretch that is read or its end."""

    path: str
    stretch: CaptureRange


class RangeReader(SelfClosing):
    """The TCP packets of one stretch. A context manager.

    earlier: what comes before it in its timeline, the nearest first. called: its name, if not by its path. Raises
    CaptureError for what is no capture.
    """

    def __init__(
        self, path: str, stretch: CaptureRange, earlier: Sequence[EarlierRange] = (), called: str | None = None
    ) -> None:
        self.store, self.flows, self.findings = Store(), FlowTable(), list[Finding]()
        self._earlier = earlier
        self._begin = stretch.begin or ScanState(0, 0, LOWEST)
        self._first = LOWEST
        try:
            self._input = _open_range(path, self.store, self.findings, stretch, called)
        except BaseException:
            self.store.close()
            raise

    @property
    def info(self) -> CaptureInfo:
        """What is known of the stretch: its packets, their times; and of the capture's format."""
        return self._input.info

    @property
    def before(self) -> int:
        """Records of the file before the stretch."""
        return self._begin.records

    @property
    def scanner(self) -> RecordScanner:
        """What stands at the beginning of the stretch."""
        return self._input.scanner

    @property
    def scan_state(self) -> ScanState:
        """Where it has come to: whoever reads on from there has the same capture."""
        there, info = self.scanner.save_state(), self.info
        place = self._begin.place if info.last is None else max(self._begin.place, info.last)
        return there._replace(records=self.before + info.packets, place=place)

    @property
    def is_damaged(self) -> bool:
        """Whether its packets end before the stretch does."""
        return self._input.is_damaged

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], PacketBlock]]:
        """Blocks of at least one TCP packet, and the place in time of each: the highest time of its file so far."""
        libc.keep_free(KEPT)
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
        """Gives the pieces of datagrams that come before this stretch to a reassembler of its own flows."""
        found, room = list[_EarlierRecords](), LOOK
        try:
            for each in self._earlier:
                try:
                    found.append(_EarlierRecords(each, room, self._first))
                except CaptureError:
                    break
                room -= found[-1].packets
                if room <= 0 or not found[-1].whole:
                    break
            for one in reversed(found):
                decoder = PacketDecoder(one.store, self.flows, [], reassembler=reassembler)
                for records in one.records:
                    decoder.decode_segments(records)
        finally:
            for one in found:
                one.store.close()

    def close(self) -> None:
        """Closes the capture; what was given out stays."""
        self._input.close()
        self.store.close()


class _LookBackReassembler(DatagramReassembler):
    """Looks back before it takes its first piece."""

    def __init__(self, packets: RangeReader) -> None:
        super().__init__()
        self._packets: RangeReader | None = packets

    def add(self, time: int, key: DatagramKey, offset: int, more: bool, header: bytes, part: bytes) -> bytes | None:
        if self._packets is not None:
            packets, self._packets = self._packets, None
            packets.look_back(self)
        return super().add(time, key, offset, more, header, part)


class _EarlierRecords:
    """The last records of an earlier stretch, at most `most`, not behind a place in time nor long before it.

    `whole`: all that is not behind that place.
    """

    def __init__(self, earlier: EarlierRange, most: int, place: int) -> None:
        self.store, self.whole, self.packets = Store(), True, 0
        self.records = deque[RecordBlock]()
        try:
            one = _open_range(earlier.path, self.store, [], earlier.stretch)
            latest = LOWEST if earlier.stretch.begin is None else earlier.stretch.begin.place
            for records in one.blocks():
                places = np.maximum(np.maximum.accumulate(records.time), latest)
                latest = int(places[-1])
                first, last = np.searchsorted(places, (place - PATIENCE, place + 1)).tolist()
                self.whole &= not first
                self._add(records.take(slice(max(first, last - most), last)), most)
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
    path: str, store: Store, findings: list[Finding], stretch: CaptureRange, called: str | None = None
) -> CaptureInput:
    stop = threading.Event()
    return CaptureInput(path, store, findings, follow=False, block=BLOCK, stop=stop, stretch=stretch, called=called)
