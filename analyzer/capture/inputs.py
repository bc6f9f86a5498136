"""Opens one capture by its name, recognises its format, and yields its records."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from os import PathLike
from typing import Protocol

from analyzer.capture.feed import (
    FOREIGN_HEAD,
    SPOOL_LIMIT,
    ByteFeeder,
    CompleteFeeder,
    GrowthFeeder,
    SpoolFeeder,
    explain_foreign_file,
    recognise_compression,
)
from analyzer.capture.growing import GrowingFile
from analyzer.capture.pcap import HEADER, LAYOUTS, PcapScanner
from analyzer.capture.pcapng_format import BYTE_ORDERS, MAGIC, SHORTEST_SECTION
from analyzer.capture.records import (
    BlockSize,
    CaptureInfo,
    CaptureRange,
    RecordBlock,
    RecordScanner,
    ScanState,
    make_empty_block,
)
from analyzer.capture.sources import ByteSource, MappedFile, PositionedFile
from analyzer.capture.store import Store
from analyzer.errors import CaptureError
from dissectors.finding import Finding


class FollowedFile(Protocol):
    """Describes a file that another program writes."""

    source: GrowingFile
    whole: threading.Event
    """Set when no more will be written to the file."""


class CaptureInput:
    """Reads one capture file, pipe (`-` or a FIFO) or growing file.

    A file is recognised at once, and raises CaptureError here; a pipe or a growing file is recognised when it is read.
    `part`: reads only this part of a file (all of a compressed one), without mapping it. `called`: its name, if that
    is not its path. `written`: the file is being written, and is open already. `block_size`: that of the timeline.
    """

    def __init__(
        self,
        name: str | PathLike[str],
        store: Store,
        findings: list[Finding],
        *,
        follow: bool,
        block: int,
        stop: threading.Event,
        spool_limit: int = SPOOL_LIMIT,
        part: CaptureRange | None = None,
        called: str | None = None,
        written: FollowedFile | None = None,
        block_size: BlockSize | None = None,
    ) -> None:
        path = os.fspath(name)
        self.info = CaptureInfo(called or ("standard input" if path == "-" else path))
        self._findings = findings
        self._block, self._block_size = block, block_size or BlockSize()
        self._hopper: RecordScanner | None = None
        self.source: ByteSource
        self._feed: ByteFeeder
        self._inflow: SpoolFeeder | None = None
        self._begin: ScanState | None = None
        if written is not None:
            self.source, self._feed = written.source, GrowthFeeder(written.source, stop, written.whole)
            self.info.file = self._id = store.add(self.source)
            return
        descriptor = open_capture(path)
        mode = os.fstat(descriptor)
        regular = stat.S_ISREG(mode.st_mode)
        if regular and follow:
            self.source = growing = GrowingFile(descriptor)
            self._feed = GrowthFeeder(growing, stop)
        elif regular and not recognise_compression(os.pread(descriptor, 6, 0)):
            self.source = MappedFile(descriptor) if part is None else PositionedFile(descriptor, part.end)
            self._feed = CompleteFeeder()
        else:
            self._inflow = self._feed = SpoolFeeder(descriptor, self.info, findings, stop, spool_limit)
            self.source = self._inflow.spool
        self.info.file = self._id = store.add(self.source)
        if regular and not follow:
            scanner = self._recognise()
            if part is not None and part.begin is not None:
                scanner.restore_state(part.begin)

    @property
    def scanner(self) -> RecordScanner:
        """The scanner of its records. Raises CaptureError if a pipe holds no capture."""
        return self._recognise()

    @property
    def is_damaged(self) -> bool:
        """Whether the packets ended before the capture did."""
        return self._hopper is not None and (self._hopper.is_damaged or not self._feed.final)

    @property
    def position(self) -> int:
        """Bytes of the capture that have been read."""
        return 0 if self._hopper is None else self._hopper.position

    def blocks(self) -> Iterator[RecordBlock]:
        """Yields blocks of records as their bytes come, and an empty one where the feeder says that nothing comes.

        Raises CaptureError if a pipe holds no capture.
        """
        scanner = self._recognise()
        while True:
            block = scanner.read_block()
            if block is not None:
                yield block
            elif scanner.is_damaged or not self._feed.fill():
                break
            elif self._feed.is_idle:
                yield make_empty_block()
        if self._feed.final:
            scanner.finish()

    def reread(self) -> Iterator[RecordBlock]:
        """Yields the records of blocks() again, as far as they were read and not released."""
        if self._hopper is None:
            return
        info = CaptureInfo(self.info.path)
        if not (head := bytes(self.source.window(0, SHORTEST_SECTION))):
            return  # it was closed meanwhile
        scanner = self._make(head, info, [])
        # A pipe may have brought more bytes behind the damage that ended the reading.
        left = self.info.packets - self.released
        if self._begin is not None:
            scanner.restore_state(self._begin)
        while left > 0 and (block := scanner.read_block()) is not None:
            yield block[:left]
            left -= len(block)

    def _recognise(self) -> RecordScanner:
        if self._hopper is not None:
            return self._hopper
        if self._inflow is not None:
            compression = recognise_compression(self._inflow.peek())
            if compression is not None:
                self._inflow.unpack(compression)
        need = SHORTEST_SECTION
        while len(head := bytes(self.source.window(0, need))) < need and self._feed.fill():
            pass
        self._hopper = self._make(head, self.info, self._findings)
        self._hopper.block_size = self._block_size
        return self._hopper

    def _make(self, head: bytes, info: CaptureInfo, findings: list[Finding]) -> RecordScanner:
        path = info.path
        if not head and info.compression is not None:
            raise CaptureError(f"{path} has no {info.compression} data that can be decompressed. Copy it again.")
        if not head:
            raise CaptureError(f"{path} is empty. No packet was captured, or the file was not written completely.")
        if head[:4] in LAYOUTS:
            if len(head) < HEADER:
                raise CaptureError(f"{path} ends within its pcap header, at byte {len(head)}. Copy it again.")
            return PcapScanner(self.source, self._id, info, findings, self._block)
        if head[:4] == MAGIC and (head[8:12] in BYTE_ORDERS or len(head) < 12):
            if len(head) < SHORTEST_SECTION:
                raise CaptureError(f"{path} ends within its pcapng section header, at byte {len(head)}. Copy it again.")
            from analyzer.capture.pcapng import PcapngScanner  # lazy: a pcap file does not need it

            return PcapngScanner(self.source, self._id, info, findings, self._block)
        raise CaptureError(f"{path} is not a capture{explain_foreign_file(bytes(self.source.window(0, FOREIGN_HEAD)))}")

    @property
    def released(self) -> int:
        """Number of packets at the front that reread() does not yield any more."""
        return 0 if self._begin is None else self._begin.records

    @property
    def releases(self) -> bool:
        """Whether the bytes lie in a spool of our own, whose space can be given back."""
        return self._inflow is not None

    def release(self, state: ScanState) -> None:
        """Gives back the space of what comes before a state; it will not be read again."""
        if self._inflow is not None:
            self._begin = state
            self._inflow.spool.release(state.position)

    def close(self) -> None:
        """Closes the feeder; the store owns the source."""
        if self._inflow is not None:
            self._inflow.close()


def open_capture(path: str) -> int:
    """Returns a new descriptor of a file. Raises CaptureError."""
    try:
        if path == "-":
            return os.dup(0)
        if os.path.isdir(path):
            raise CaptureError(
                f"{path} is a directory. Give the capture files in it, such as {os.path.join(path, '*.pcap')}."
            )
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CaptureError(
            f"Cannot open {path}: {error.strerror or error}. Check the name and its permissions."
        ) from error
    except ValueError as error:
        raise CaptureError(f"Cannot open {path!r}: {error}. Check the name.") from error
