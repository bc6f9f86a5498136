"""What every reader of a capture format gives: columns of records, and what is known of the capture itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.sources import ByteSource
from analyzer.capture.store import SHIFT
from analyzer.columns.tables import ColumnTable
from dissectors.finding import Finding, Severity
from dissectors.slotted import field, slotted

LARGEST_BLOCK = 1 << 17
"""Records in a block at most: what lies in memory of a capture at one time."""

LARGEST_RECORD = 256 << 20
"""A record that claims more bytes is damage, whatever the file says."""

USUAL_SNAPLEN = 262_144
"""Capturing programs keep to this bound; a record far beyond it is judged by whether its bytes are there."""

WINDOW = 16 << 20
"""Bytes looked at in one go where looking is a read."""

MAPPED_WINDOW = 64 << 20
"""The same where it is none: more records are hopped over together, and all of a block mostly."""

LOWEST = np.iinfo(np.int64).min
"""Earlier than any packet."""

MOST_COMMENTS = 1 << 21
"""Comments on packets of one capture whose places are kept."""


@slotted(frozen=False)
class RecordBlock:
    """Consecutive packets of one capture, or of several merged into one timeline; equally long columns.

    `at`: location of the first captured byte; `captured` and `original`: bytes kept and bytes on the wire; `link`:
    the LINKTYPE. Times are nanoseconds since 1970.
    """

    time: NDArray[np.int64]
    at: NDArray[np.int64]
    captured: NDArray[np.int64]
    original: NDArray[np.int64]
    link: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time)

    def take(self, rows: NDArray[np.int64] | slice) -> RecordBlock:
        """The rows that an index array or a slice picks."""
        return RecordBlock(*(getattr(self, name)[rows] for name in RecordBlock.__annotations__))


def make_empty_block() -> RecordBlock:
    """A block of nothing."""
    nothing = np.zeros(0, np.int64)
    return RecordBlock(nothing, nothing, nothing, nothing, np.zeros(0, np.int32))


def concatenate_blocks(blocks: Sequence[RecordBlock]) -> RecordBlock:
    """One block of several, in their order; at least one."""
    if len(blocks) == 1:
        return blocks[0]
    names = RecordBlock.__annotations__
    return RecordBlock(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))


@slotted
class CaptureInterface:
    """Where packets were captured: LINKTYPE, snap length (0: none), ticks of the clock per second."""

    name: str
    link: int
    snaplen: int
    tsresol: int
    comment: str | None = None


@slotted
class InterfaceStatistics:
    """What an interface's counters said last: packets that came, and of these how many could not be kept."""

    received: int
    dropped: int


class RecordComments(ColumnTable):
    """Comments on packets of one capture, in its order, several of one packet in theirs.

    `record`: location of the packet's first captured byte; `at` and `length`: where the text lies, and its bytes.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"record": np.int64, "at": np.int64, "length": np.int32}


class DescriptionBlock(NamedTuple):
    """A block of a pcapng file that says how packets are read: its type, where it begins, struct's byte order."""

    kind: int
    position: int
    order: str


class ScanState(NamedTuple):
    """A place between two records of a capture, and what must be known to read on from there.

    position: in bytes. records, place: how many come before it, and the highest of their times (ns). told: what the
    format's hopper has learned on the way, as numbers and texts, so that it can be written as JSON.
    """

    position: int
    records: int
    place: int
    learned: Sequence[int | str] = ()


class CaptureRange(NamedTuple):
    """A part of a capture: from where (None: its beginning), and up to which byte (None: its end)."""

    begin: ScanState | None = None
    end: int | None = None


@slotted(frozen=False)
class CaptureInfo:
    """What is known of one capture, as far as it has been read.

    `comments`: on packets; `remarks`: on the capture itself, the first ones. `names`: what the capture calls an
    address, what it said last at the end; `told`: how often it said something. `left_out`: how many comments and names
    were too many to be kept. `first` and `last`: the lowest and the highest packet time.
    `described`: a pcapng file's sections, interfaces and names, as they stand in it. `statistics`: of interfaces, by
    their place in `interfaces`. `file`: its source in the store.
    """

    path: str
    file: int = 0
    format: str = ""
    byte_order: str = ""
    compression: str | None = None
    snaplen: int = 0
    interfaces: list[CaptureInterface] = field(default_factory=list)
    comments: RecordComments = field(default_factory=RecordComments)
    remarks: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    told: int = 0
    left_out: int = 0
    described: list[DescriptionBlock] = field(default_factory=list)
    statistics: dict[int, InterfaceStatistics] = field(default_factory=dict)
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
        return self.remarks[0] if self.remarks else None

    def count(self, block: RecordBlock) -> None:
        """Adds a block that was read."""
        self.packets += len(block)
        self.captured += int(block.captured.sum())
        self.original += int(block.original.sum())
        first, last = int(block.time.min()), int(block.time.max())
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)


class RecordScanner(ABC):
    """Hops over the record headers of one capture and never looks at a packet.

    It stops at a record whose bytes are not all there, and goes on from it when asked again. `position` is the first
    byte not yet understood.
    """

    def __init__(self, source: ByteSource, file: int, info: CaptureInfo, findings: list[Finding], block: int) -> None:
        self.source = source
        self.base = file << SHIFT
        self.info = info
        self.position = 0
        self.is_damaged = False
        self._findings = findings
        self._limit = block

    def read_block(self) -> RecordBlock | None:
        """The next packets as far as their bytes are there; None when there is none (now, or for good)."""
        parts: list[RecordBlock] = []
        room = self._limit
        while room > 0 and not self.is_damaged:
            part = self._scan(room)
            if part is None:
                break
            if len(part):
                parts.append(part)
                room -= len(part)
        if not parts:
            return None
        self._limit = min(self._limit * 2, max(LARGEST_BLOCK, self._limit))
        block = concatenate_blocks(parts)
        self.info.count(block)
        return block

    def blocks_for(self, size: int) -> Iterator[RecordBlock]:
        """The next packets, about `size` bytes of them and at least one; fewer if they are not all there."""
        end = self.position + size
        # Going for the last byte of it would take many small steps, and each looks at a whole window.
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
        """Where it is, having begun at the beginning."""
        latest = LOWEST if self.info.last is None else self.info.last
        return ScanState(self.position, self.info.packets, latest, self._export_learned())

    def restore_state(self, standing: ScanState) -> None:
        """Reads on from where another hopper of the same capture was."""
        self.position = standing.position
        self._import_learned(standing)

    def _export_learned(self) -> Sequence[int | str]:
        """What `_import_learned` needs besides the place itself."""
        return ()

    @abstractmethod
    def _import_learned(self, standing: ScanState) -> None:
        """Takes what another hopper was told on its way."""

    @abstractmethod
    def _scan(self, room: int) -> RecordBlock | None:
        """At most `room` records from `position` on (none: only `position` moved); None: no whole record is there."""

    def finish(self) -> None:
        """Says that no more bytes will come: what is left over is damage."""
        left = self.source.size() - self.position
        if left > 0 and not self.is_damaged:
            self.damage(self.position, f"it ends in the middle of a record, of which {left} bytes are there")

    def damage(self, position: int, what: str) -> None:
        """Ends the reading of this capture with its one Finding."""
        self.is_damaged = True
        text = f"{self.info.path} is damaged at byte {position}: {what}; the packets before it are read"
        self._findings.append(Finding(Severity.ERROR, "damaged-capture", text, offset=position))
