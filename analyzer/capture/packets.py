"""The door of the capture room: captures in, blocks of TCP packets out.

Theory. Whoever comes next needs of a packet: its number and time, which connection and direction, what TCP says, and
where its payload lies. That is a row of 48 bytes; the payload stays where it is until somebody asks the store for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from types import TracebackType
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from analyzer import heap
from analyzer.capture.comments import PacketComments
from analyzer.capture.counts import Counts
from analyzer.capture.decode import Decoder, FoundPiece
from analyzer.capture.feed import SPOOL_LIMIT
from analyzer.capture.flows import FlowTable
from analyzer.capture.inputs import Input
from analyzer.capture.records import CaptureInfo, RecordBlock
from analyzer.capture.store import Store
from analyzer.capture.timeline import merge
from dissectors.finding import Finding
from dissectors.slotted import slotted

__all__ = ["CaptureInfo", "Counts", "FlowTable", "PacketBlock", "Packets", "Reader"]

Reader = Literal["native", "scapy"]

KEPT = 64 << 20
"""About what the arrays of one block take together."""


@slotted(frozen=False)
class PacketBlock:
    """TCP packets in the order of the timeline; equally long columns.

    number: from 1, over all packets of the timeline, TCP or not. time: nanoseconds since 1970. flow: see FlowTable;
    direction: 0 when the flow's side a sent it, else 1. seq, ack, flags: as in the TCP header. at: location of the
    first payload byte in the store. length: payload bytes on the wire, by the IP header. captured: those that the
    capture has.
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

    def __len__(self) -> int:
        return len(self.number)


class Packets:
    """TCP packets of several captures as one timeline. A context manager.

    `store` has their bytes, `flows` their connections, `findings` what was damaged, `counts` what was seen, `files`
    what is known of each capture, `comments` those on packets; all of them grow while blocks() is read. `watch` is
    called with the records of the timeline, block by block, before they are decoded (by the native reader); `began` is
    the time of its first one, when that reader has met it. Raises CaptureError for a file that is no capture.
    """

    def __init__(
        self,
        inputs: Sequence[str | PathLike[str]],
        *,
        reader: Reader = "native",
        follow: bool = False,
        block: int = 32_768,
        spool_limit: int = SPOOL_LIMIT,
        watch: Callable[[RecordBlock], None] | None = None,
    ) -> None:
        if reader == "scapy" and follow:
            raise ValueError("scapy's reader cannot follow a growing file")
        self.store = Store()
        self.flows = FlowTable()
        self.findings: list[Finding] = []
        self.began: int | None = None
        self._decoder = Decoder(self.store, self.flows, self.findings)
        self._reader = reader
        self._follow = follow
        self._watch = watch
        self._stop = threading.Event()
        self._inputs: list[Input] = []
        try:
            for name in inputs:
                one = Input(
                    name,
                    self.store,
                    self.findings,
                    follow=follow,
                    block=block,
                    stop=self._stop,
                    spool_limit=spool_limit,
                )
                self._inputs.append(one)
        except BaseException:
            self.close()
            raise
        self.comments = PacketComments(self.store, self.files)

    @property
    def counts(self) -> Counts:
        """Packets by what they are, as far as they have been read."""
        return self._decoder.counts

    @property
    def files(self) -> list[CaptureInfo]:
        """What is known of each capture, in the order given."""
        return [one.info for one in self._inputs]

    @property
    def position(self) -> int:
        """Bytes of the captures that have been read; with scapy's reader those of their packets alone."""
        return self.counts.bytes if self._reader == "scapy" else sum(one.position for one in self._inputs)

    @property
    def follows(self) -> bool:
        """Whether it goes on at the end, for more may come."""
        return self._follow

    @property
    def size(self) -> int | None:
        """Bytes that there are to read; None where nobody knows: pipes, what is compressed, what is followed."""
        if self._follow or any(info.compression is not None or not os.path.isfile(info.path) for info in self.files):
            return None
        return sum(os.path.getsize(info.path) for info in self.files)

    def blocks(self) -> Iterator[PacketBlock]:
        """Blocks of at least one TCP packet, to be read once; with `follow` they go on until stop().

        Raises CaptureError when a pipe holds no capture, or when there is no room for a spool.
        """
        if self._reader == "scapy":
            from analyzer.capture.scapy_reader import read_blocks

            yield from read_blocks(self._inputs, self.store, self.flows, self.counts)
            self._place_comments()
            return
        heap.keep_free(KEPT)
        before = 0
        for records in merge([one.blocks() for one in self._inputs]):
            if self._watch is not None:
                self._watch(records)
            self.comments.place(records, before)
            if self.began is None and len(records):
                self.began = int(records.time[0])
            block = tcp_block(self._decoder, self.flows, records, before)
            before += len(records)
            if len(block):
                yield block
            del records, block
        heap.give_back()

    def _place_comments(self) -> None:
        """Numbers the packets that have comments, when another reader has numbered the packets."""
        before = 0
        for records in self.again():
            self.comments.place(records, before)
            before += len(records)

    def again(self) -> Iterator[RecordBlock]:
        """The records of the timeline once more, when blocks() has been read to its end (by the native reader)."""
        return merge([one.again() for one in self._inputs])

    def blocks_again(self, trace: list[FoundPiece]) -> Iterator[PacketBlock]:
        """The same as blocks; flows are numbered anew. Pieces of datagrams are added to `trace` before their block."""
        flows, before = FlowTable(), 0
        decoder = Decoder(self.store, flows, [], trace)
        for records in self.again():
            yield tcp_block(decoder, flows, records, before)
            before += len(records)

    def stop(self) -> None:
        """From any thread: blocks() gives what a growing file or a pipe has until now, then ends."""
        self._stop.set()

    def close(self) -> None:
        """Closes the captures; locations are no longer readable."""
        self._stop.set()
        for one in self._inputs:
            one.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def tcp_block(decoder: Decoder, flows: FlowTable, records: RecordBlock, before: int) -> PacketBlock:
    """The TCP packets among records of a timeline, of which `before` others came before."""
    segments = decoder.segments(records)
    flow, direction = flows.number(segments.source, segments.destination)
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
    )
