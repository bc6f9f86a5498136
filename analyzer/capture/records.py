"""Records of capture files as columns, what is known of a capture, and the base of all scanners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.sources import ByteSource
from analyzer.capture.store import SHIFT
from analyzer.columns.arrays import ArrayRows
from analyzer.columns.tables import ColumnTable
from dissectors.finding import Finding, Severity
from dissectors.slotted import field, make_slotted

USUAL_BLOCK, LARGEST_BLOCK = 1 << 15, 1 << 17
"""Records in a block of a capture with few connections, and in one with many. Both bound what lies in memory of it."""

RECORDS_OF_CONNECTION = 32
"""Records that a block should have for each connection in it: each connection of a block has a cost of its own."""

LARGEST_RECORD = 256 << 20
"""Bytes of the largest record; a larger claim is damage."""

USUAL_SNAPLEN = 262_144
"""Bytes that capturing programs stay within; a larger record must have all its bytes in the file."""

WINDOW = 16 << 20
"""Bytes that are scanned at once if they must be read."""

MAPPED_WINDOW = 64 << 20
"""Bytes that are scanned at once in a mapped file."""

LOWEST = np.iinfo(np.int64).min
"""A time before any packet."""

MOST_COMMENTS = 1 << 21
"""Comments on packets of one capture whose places are kept."""


@make_slotted(frozen=False)
class RecordBlock(ArrayRows):
    """Holds consecutive packets of one capture, or of a timeline, as equally long columns.

    `at`: location of the first captured byte; `captured` and `original`: bytes kept and bytes on the wire; `link`: the
    LINKTYPE. Times are ns since 1970.
    """

    time: NDArray[np.int64]
    at: NDArray[np.int64]
    captured: NDArray[np.int64]
    original: NDArray[np.int64]
    link: NDArray[np.int32]


def make_empty_block() -> RecordBlock:
    """Returns a block without records."""
    nothing = np.zeros(0, np.int64)
    return RecordBlock(nothing, nothing, nothing, nothing, np.zeros(0, np.int32))


@make_slotted
class CaptureInterface:
    """Describes an interface of a capture: LINKTYPE, snap length (0: none), clock ticks per second."""

    name: str
    link: int
    snaplen: int
    tsresol: int
    comment: str | None = None


@make_slotted
class InterfaceStatistics:
    """Holds the last counters of an interface: packets received, and those of them that were dropped."""

    received: int
    dropped: int


class RecordComments(ColumnTable):
    """Holds the comments on packets of one capture, in order of packets.

    `record`: location of the packet's first captured byte; `at` and `length`: location and bytes of the text.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"record": np.int64, "at": np.int64, "length": np.int32}


class DescriptionBlock(NamedTuple):
    """Locates a pcapng block that says how to read packets: type, position, struct's byte order."""

    kind: int
    position: int
    order: str


class ScanState(NamedTuple):
    """Describes a place between two records, and what a scanner must know to go on from there.

    position: in bytes. records, place: number of records before it, and the highest of their times (ns).
    reader_state: what the scanner of the format needs to go on, as numbers and texts that JSON can hold.
    """

    position: int
    records: int
    place: int
    reader_state: Sequence[int | str] = ()


class CaptureRange(NamedTuple):
    """Describes a part of a capture: its begin (None: of the capture), and the byte where it ends (None: the end)."""

    begin: ScanState | None = None
    end: int | None = None


@make_slotted(frozen=False)
class CaptureInfo:
    """Describes one capture, as far as it has been read.

    `comments`: on packets; `capture_comments`: the first comments on the capture itself. `names`: names of addresses,
    the latest one last; `name_count`: number of names read. `left_out`: comments and names that were too many to keep.
    `first` and `last`: the lowest and the highest packet time. `described`: sections, interfaces and names of a pcapng
    file, in order. `statistics`: of interfaces, by their index. `secrets`: location and length of key logs that are to
    be read. `file`: its source in the store.
    """

    path: str
    file: int = 0
    format: str = ""
    byte_order: str = ""
    compression: str | None = None
    snaplen: int = 0
    interfaces: list[CaptureInterface] = field(default_factory=list)
    comments: RecordComments = field(default_factory=RecordComments)
    capture_comments: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    name_count: int = 0
    left_out: int = 0
    described: list[DescriptionBlock] = field(default_factory=list)
    statistics: dict[int, InterfaceStatistics] = field(default_factory=dict)
    secrets: list[tuple[int, int]] = field(default_factory=list)
    application: str | None = None
    hardware: str | None = None
    os: str | None = None
    packets: int = 0
    captured: int = 0
    original: int = 0
    first: int | None = None
    last: int | None = None

    @property
    def comment(self) -> str | None:
        """The first comment on the capture."""
        return self.capture_comments[0] if self.capture_comments else None

    def count(self, block: RecordBlock) -> None:
        """Adds a block to the counts."""
        self.packets += len(block)
        self.captured += int(block.captured.sum())
        self.original += int(block.original.sum())
        first, last = int(block.time.min()), int(block.time.max())
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)


@make_slotted(frozen=False)
class BlockSize:
    """The number of records to which blocks may grow; scanners of one timeline share it."""

    most: int = USUAL_BLOCK

    def adapt(self, connections: int) -> None:
        """Sets it by the connections in the last block."""
        self.most = min(max(connections * RECORDS_OF_CONNECTION, USUAL_BLOCK), LARGEST_BLOCK)


class RecordScanner(ABC):
    """Scans the record headers of one capture, and never reads a packet.

    It stops at a record whose bytes are incomplete, and tries it again on the next call. `position` is the first byte
    that has not been understood.
    """

    def __init__(self, source: ByteSource, file: int, info: CaptureInfo, findings: list[Finding], block: int) -> None:
        self.source = source
        self.base = file << SHIFT
        self.info = info
        self.position = 0
        self.is_damaged = False
        self._findings = findings
        self._limit = block
        self.block_size = BlockSize()

    def read_block(self) -> RecordBlock | None:
        """Returns the next packets whose bytes are there; None if there is none (yet)."""
        parts: list[RecordBlock] = []
        remaining = self._limit
        while remaining > 0 and not self.is_damaged:
            part = self._scan(remaining)
            if part is None:
                break
            if len(part):
                parts.append(part)
                remaining -= len(part)
        if not parts:
            return None
        self._limit = max(min(self._limit * 2, self.block_size.most), self._limit)
        block = RecordBlock.concatenate(parts)
        self.info.count(block)
        return block

    def blocks_for(self, size: int) -> Iterator[RecordBlock]:
        """Yields the next packets, about `size` bytes and at least one, or fewer if not all of them are there."""
        end = self.position + size
        # Going on to the last byte would take many small steps, each over a whole window.
        enough = end - size // 32
        while self.position < enough and not self.is_damaged:
            usual = self.position // self.info.packets if self.info.packets else LARGEST_BLOCK
            block = self._scan(min(max((end - self.position) // usual, 1), LARGEST_BLOCK))
            if block is None:
                return
            if len(block):
                self.info.count(block)
                yield block

    def save_state(self) -> ScanState:
        """Returns the present state of a scanner that began at the beginning."""
        latest = LOWEST if self.info.last is None else self.info.last
        return ScanState(self.position, self.info.packets, latest, self._export_state())

    def restore_state(self, state: ScanState) -> None:
        """Goes on from the state of another scanner of the same capture."""
        self.position = state.position
        self._import_state(state)

    def _export_state(self) -> Sequence[int | str]:
        """Returns what `_import_state` needs besides the place itself."""
        return ()

    @abstractmethod
    def _import_state(self, state: ScanState) -> None:
        """Takes what another scanner has learned."""

    @abstractmethod
    def _scan(self, remaining: int) -> RecordBlock | None:
        """Returns at most `remaining` records from `position` on, or None if no whole record is there.

        An empty block means that only `position` has moved.
        """

    def finish(self) -> None:
        """Notes that no more bytes will come: left-over bytes are damage."""
        left = self.source.size() - self.position
        if left > 0 and not self.is_damaged:
            self.damage(self.position, f"it ends in the middle of a record, of which {left} bytes are there")

    def damage(self, position: int, what: str) -> None:
        """Ends the reading of this capture with a Finding."""
        self.is_damaged = True
        text = f"{self.info.path} is damaged at byte {position}: {what}; the packets before it are read"
        self._findings.append(Finding(Severity.ERROR, "damaged-capture", text, offset=position))
