"""Reads captures into blocks of TCP packets.

Theory. The analyzer needs little of a packet: its number and time, its connection and direction, what TCP says, and
where its payload lies. That is a row of 50 bytes. The payload stays where it is until somebody reads it from the store.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from os import PathLike
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.feed import SPOOL_LIMIT
from analyzer.capture.flows import FlowTable
from analyzer.capture.inputs import CaptureInput
from analyzer.capture.packet_comments import PacketComments
from analyzer.capture.packet_decoder import FoundFragment, PacketCounts, PacketDecoder
from analyzer.capture.records import BlockSize, CaptureInfo, RecordBlock, ScanState
from analyzer.capture.sources import SelfClosing
from analyzer.capture.store import Store
from analyzer.capture.succession import FileSuccession, SuccessionFile
from analyzer.capture.timeline import merge_captures
from analyzer.columns.arrays import ArrayRows
from analyzer.errors import CaptureError
from analyzer.processes import libc
from dissectors.finding import Finding, Severity
from dissectors.slotted import make_slotted

__all__ = ["CaptureInfo", "FlowTable", "PacketBlock", "PacketCounts", "PacketReader", "PacketSource", "ReaderName"]

ReaderName = Literal["native", "scapy"]

RETAINED_BYTES = 64 << 20
"""Approximate bytes that the arrays of one block take."""

MERGED = 1 << 13
"""Records of a block of several captures: each block costs as much as some thousand records."""

MARKED, MOST_MARKS = 1 << 14, 1 << 12
"""Packets between two places up to which a spool can be released; of too many places every second one is dropped."""


@make_slotted(frozen=False)
class PacketBlock(ArrayRows):
    """Holds TCP packets in order of the timeline, as equally long columns.

    number: from 1, over all packets of the timeline, TCP or not. time: ns since 1970. flow: see FlowTable; direction: 0
    if the flow's side 0 sent it, else 1. seq, ack, flags: as in the TCP header. at: location of the first payload byte
    in the store. length: payload bytes on the wire, by the IP header. captured: payload bytes that the capture has.
    window: as in the TCP header; tcp_segments.UNKNOWN_WINDOW where the capture does not have it.
    """

    number: NDArray[np.int64]
    time: NDArray[np.int64]
    flow: NDArray[np.int32]
    direction: NDArray[np.int8]
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    at: NDArray[np.int64]
    length: NDArray[np.int32]
    captured: NDArray[np.int32]
    window: NDArray[np.uint16]


class PacketSource(Protocol):
    """Yields packets: a PacketReader, or another holder of packet locations such as a Spark partition."""

    @property
    def store(self) -> Store:
        """The store in which the packets' locations lie."""

    @property
    def flows(self) -> FlowTable:
        """The connections of the packets."""

    @property
    def findings(self) -> list[Finding]:
        """Findings about damage, as far as blocks() has been read."""

    @property
    def removed_before(self) -> int:
        """Number of the first packet that lies in no removed file of a ring; 1 if none was removed."""

    def blocks(self) -> Iterator[PacketBlock]:
        """Yields the packets once; packet numbers rise, and those of one connection are in order of time."""

    def release(self, packet: int) -> None:
        """Notes that packets before a number will not be read again; called by the reading thread between blocks."""

    def close(self) -> None:
        """Closes the sources; locations are no longer readable."""


@make_slotted
class _Mark:
    """Notes the number of a packet, and the size of the annex and the state of a pipe's scanner before it."""

    packet: int
    appended: int
    scan_state: ScanState | None


class PacketReader(SelfClosing):
    """Reads TCP packets of several captures as one timeline, or of a succession of files.

    It is a context manager. `store` has their bytes, `flows` their connections, `findings` the damage, `counts` the
    packets by kind, `files` a description of each capture, `comments` the comments on packets; all of them grow while
    blocks() is read. `learn` is called with each key log that a capture holds, before the packets behind it; `watch`
    with each block of records before it is decoded (both by the native reader); `began` is the time of the first
    record. Raises CaptureError for a file that is no capture; in a succession that is a finding.
    """

    def __init__(
        self,
        inputs: Sequence[str | PathLike[str]] | FileSuccession,
        *,
        reader: ReaderName = "native",
        follow: bool = False,
        block: int = 32_768,
        spool_limit: int = SPOOL_LIMIT,
        watch: Callable[[RecordBlock], None] | None = None,
        learn: Callable[[bytes], None] | None = None,
    ) -> None:
        self.succession = inputs if isinstance(inputs, FileSuccession) else None
        if reader == "scapy" and (follow or self.succession is not None):
            raise ValueError("scapy's reader cannot follow a growing file")
        self.store = Store()
        self.flows = FlowTable()
        self.findings: list[Finding] = []
        self.began: int | None = None
        self._decoder = PacketDecoder(self.store, self.flows, self.findings)
        self.reader = reader
        self._follow = follow
        self._watch, self._learn = watch, learn
        self._stop = threading.Event()
        self._block, self._spool_limit = block, spool_limit
        self._block_size = BlockSize()
        self._inputs: list[CaptureInput] = []
        self.files: list[CaptureInfo] = []
        """Descriptions of the captures, in their order; the list stays the same object."""
        self._marks = deque[_Mark]()
        self._position = self._reported_problems = 0
        self._reported_removed = 1
        try:
            for name in () if isinstance(inputs, FileSuccession) else inputs:
                self._open(name)
        except BaseException:
            self.close()
            raise
        self.comments = PacketComments(self.store, self.files)

    def _open(self, name: str | PathLike[str], part: SuccessionFile | None = None) -> CaptureInput:
        one = CaptureInput(
            name,
            self.store,
            self.findings,
            follow=self._follow,
            block=self._block,
            stop=self._stop,
            spool_limit=self._spool_limit,
            written=part,
            block_size=self._block_size,
        )
        self._inputs.append(one)
        self.files.append(one.info)
        return one

    @property
    def counts(self) -> PacketCounts:
        """Packets by kind, as far as they have been read."""
        return self._decoder.counts

    @property
    def position(self) -> int:
        """Bytes of the captures that have been read; with scapy's reader those of their packets alone."""
        if self.reader == "scapy":
            return self.counts.bytes
        return self._position

    @property
    def follows(self) -> bool:
        """Whether more packets may come at the end."""
        return self._follow or (self.succession is not None and not self.succession.is_finished)

    @property
    def size(self) -> int | None:
        """Bytes that there are to read; None for pipes, compressed captures and followed files."""
        if self._follow or self.succession is not None:
            return None
        if any(info.compression is not None or not os.path.isfile(info.path) for info in self.files):
            return None
        return sum(os.path.getsize(info.path) for info in self.files)

    def blocks(self) -> Iterator[PacketBlock]:
        """Yields blocks of TCP packets, once.

        With `follow` the blocks go on until stop(), those of a succession until it has ended. A block is empty only if
        files of a ring were removed, or if nothing comes to a succession. Raises CaptureError if a pipe holds no
        capture, or if there is no space for a spool.
        """
        if self.reader == "scapy":
            from analyzer.capture.scapy_reader import read_blocks

            yield from read_blocks(self._inputs, self.store, self.flows, self.counts)
            self._place_comments()
            return
        libc.keep_free(RETAINED_BYTES)
        before = 0
        for records in self._merge_inputs() if self.succession is None else self._of_parts():
            if self._watch is not None:
                self._watch(records)
            self.comments.number_comments(records, before)
            if self.began is None and len(records):
                self.began = int(records.time[0])
            block = make_packet_block(self._decoder, self.flows, records, before)
            before += len(records)
            removed, self._reported_removed = self._reported_removed, self.removed_before
            self._block_size.adapt(int(np.count_nonzero(np.bincount(block.flow))) if len(block) else 0)
            if len(block) or not len(records) or removed < self._reported_removed:
                yield block
            del records, block
            self._mark(before)
        libc.give_back()

    def _merge_inputs(self) -> Iterator[RecordBlock]:
        """Yields the records of all captures; in small blocks only if more packets may have to be waited for."""
        waits = self._follow or not all(os.path.isfile(info.path) for info in self.files)
        return merge_captures(list(map(self._read_input, self._inputs)), 1 if waits else MERGED)

    def _read_input(self, one: CaptureInput) -> Iterator[RecordBlock]:
        """Yields the records of one capture, and hands on the key logs that lie before them."""
        before = 0
        for records in one.blocks():
            self._position += one.position - before
            before = one.position
            while self._learn is not None and one.info.secrets:
                self._learn(self.store.read_bytes(*one.info.secrets.pop(0)))
            yield records
        self._position += one.position - before

    def _of_parts(self) -> Iterator[RecordBlock]:
        """Yields the records of a succession, file by file."""
        assert self.succession is not None
        for part in self.succession.iterate_files(self._stop):
            self._tell_problems()
            one = self._open(part.path, part)
            self.comments.restrict_to(one.info)
            part.input = one
            try:
                yield from self._read_input(one)
            except CaptureError as error:
                self._tell(str(error))
            part.source.settle()
            if self.succession.release_empty(part):
                self._forget([part])
        self._tell_problems()

    def _tell_problems(self) -> None:
        assert self.succession is not None
        for problem in self.succession.problems[self._reported_problems :]:
            self._reported_problems += 1
            self._tell(problem)

    def _tell(self, problem: str) -> None:
        self.findings.append(Finding(Severity.ERROR, "damaged-capture", problem))

    def _place_comments(self) -> None:
        """Numbers the packets that have comments, when scapy's reader has numbered the packets."""
        for before, records in self.reread_numbered():
            self.comments.number_comments(records, before)

    def reread_records(self) -> Iterator[RecordBlock]:
        """Yields the records of the timeline from `first` on again, as far as blocks() was read.

        That holds for the native reader; several captures are read to their end.
        """
        if self.succession is None:
            return merge_captures([one.reread() for one in self._inputs], MERGED)
        return chain.from_iterable(one.reread() for one in tuple(self._inputs))

    def reread_numbered(self) -> Iterator[tuple[int, RecordBlock]]:
        """Yields the blocks of reread_records(), each with the number of packets before it."""
        before = self.first - 1
        for records in self.reread_records():
            yield before, records
            before += len(records)

    def reread_blocks(self, trace: list[FoundFragment]) -> Iterator[PacketBlock]:
        """Yields the packets again, with new flow numbers; `trace` gets the fragments of each block first."""
        flows = FlowTable()
        decoder = PacketDecoder(self.store, flows, [], trace)
        decoder.counts.packets = self.first - 1
        for before, records in self.reread_numbered():
            yield make_packet_block(decoder, flows, records, before)

    @property
    def first(self) -> int:
        """Number of the first packet whose bytes are there: 1, unless release() took some."""
        if self.succession is not None:
            return self.succession.first
        return 1 + (self._inputs[0].released if len(self._inputs) == 1 else 0)

    @property
    def removed_before(self) -> int:
        """Number of the first packet that lies in no removed file of a ring; 1 if none was removed."""
        return 1 if self.succession is None else self.succession.removed_before

    def release(self, packet: int) -> None:
        """Notes that packets before a number will not be read again.

        Files that lie before it are closed, and space of a pipe's spool is given back; their bytes then read as 0.
        Called by the reading thread, between two blocks.
        """
        mark: _Mark | None = None
        while self._marks and self._marks[0].packet <= packet:
            mark = self._marks.popleft()
        if mark is not None:
            self.store.release(mark.appended)
            if mark.scan_state is not None:
                self._inputs[0].release(mark.scan_state)
        if self.succession is not None:
            self._forget(self.succession.release(packet))

    def _mark(self, before: int) -> None:
        """Notes, now and then, what release() needs."""
        alone = len(self._inputs) == 1 and self._inputs[0].releases
        last = self._marks[-1].packet if self._marks else 0
        if (alone or (self.succession is not None and self.store.appended)) and before - last >= MARKED:
            if len(self._marks) == MOST_MARKS:
                self._marks = deque(islice(self._marks, 1, None, 2))
            scan_state = self._inputs[0].scanner.save_state() if alone else None
            self._marks.append(_Mark(before + 1, self.store.appended, scan_state))

    def _forget(self, parts: Sequence[SuccessionFile]) -> None:
        """Closes files of a succession that will not be read again."""
        for part in parts:
            if (one := part.input) is not None:
                self._inputs.remove(one)
                self.files.remove(one.info)
                self.store.remove(one.info.file)

    def stop(self) -> None:
        """Ends blocks() after the packets that a growing file or a pipe has now. May be called from any thread."""
        self._stop.set()

    def close(self) -> None:
        """Closes the captures; locations are no longer readable."""
        self._stop.set()
        if self.succession is not None:
            self.succession.close()
        for one in self._inputs:
            one.close()
        self.store.close()


def make_packet_block(decoder: PacketDecoder, flows: FlowTable, records: RecordBlock, before: int) -> PacketBlock:
    """Returns the TCP packets among records of a timeline that follow `before` others."""
    segments = decoder.decode_segments(records)
    flow, direction = flows.number_flows(segments.source, segments.destination)
    return PacketBlock(
        number=segments.row + (before + 1),
        time=records.time[segments.row],
        flow=flow,
        direction=direction,
        seq=segments.seq,
        ack=segments.ack,
        flags=segments.flags,
        at=segments.at,
        length=segments.length,
        captured=segments.captured,
        window=segments.window,
    )
