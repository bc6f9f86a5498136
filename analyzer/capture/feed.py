"""Brings the bytes of a capture into a source: from a growing file, a pipe or a compressed file.

Theory. A scanner reads what is there. When no whole record is left, it asks its feeder for more. A feeder waits until
something has come, not until a certain amount has, so ten packets in a pipe that pauses are visible at once. While
packets flow, a feeder collects them for a moment, because a block of a hundred packets costs nearly as much as one of a
thousand. The moment is shorter for few bytes. After a silence a feeder collects nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import stat
import threading
import time
from typing import TYPE_CHECKING, Protocol

from analyzer.capture.growing import GrowingFile
from analyzer.capture.records import CaptureInfo
from analyzer.capture.sources import Spool
from dissectors.finding import Finding, Severity

if TYPE_CHECKING:
    from analyzer.capture.unpack import Unpacker


READ = 1 << 20
COLLECT, LITTLE_COLLECT = 0.15, 0.06
"""Seconds in which bytes are collected; the second value holds for fewer bytes than LITTLE."""
LITTLE = 1 << 16
"""Bytes below which the shorter moment is enough."""
ENOUGH = 4 << 20
"""Bytes of a file that are a block by themselves, so that nothing more is collected."""
MUCH = 1 << 16
"""Bytes read at once from a pipe after which more are collected: a full pipe holds no more."""
LOOK, IDLE_LOOK = 0.01, 0.025
"""Seconds between two looks at a growing file; the second value holds after IDLE seconds of silence."""
IDLE = 1.0
LARGEST_FILL = 64 << 20
SPOOL_LIMIT = 64 << 30


class ByteFeeder(Protocol):
    """Brings more bytes into a source."""

    final: bool
    """Whether the end is that of the capture; a followed file goes on, and a damaged one had more."""
    is_idle: bool
    """Whether the last call of fill() has returned because nothing came for IDLE seconds."""

    def fill(self) -> bool:
        """Waits until more bytes have come into the source; returns False if none will come."""


class CompleteFeeder:
    """Stands for a source that has all its bytes."""

    final = True
    is_idle = False

    def fill(self) -> bool:
        """Returns False: no more bytes will come."""
        return False


class GrowthFeeder:
    """Feeds from a file that another program writes.

    It ends when `stop` is set, or when `whole` is set, which says that the file is complete. With `whole` it says when
    nothing comes (`is_idle`), so that the reader of a live capture can finish what it has put off.
    """

    is_idle = False

    def __init__(self, source: GrowingFile, stop: threading.Event, whole: threading.Event | None = None) -> None:
        self.final = False
        self._source = source
        self._stop = stop
        self._whole = threading.Event() if whole is None else whole
        self._longest = math.inf if whole is None else IDLE
        self._last_block_time = -math.inf

    def fill(self) -> bool:
        """Waits until the file has grown.

        It looks once more after the end, so that no bytes written before it are lost.
        """
        began, self.is_idle = time.monotonic(), False
        while True:
            whole, stopped = self._whole.is_set(), self._stop.is_set()
            waiting, now = self._source.count_waiting(), time.monotonic()
            quiet, collect = now - self._last_block_time, LITTLE_COLLECT if waiting < LITTLE else COLLECT
            if waiting > 0 and (whole or stopped or waiting >= ENOUGH or quiet >= collect):
                self._last_block_time = now
                self._source.grow()
                return True
            if whole or stopped:
                self.final = whole
                if whole:
                    self._source.settle()
                return False
            if now - began >= self._longest:
                self.is_idle = True
                return True
            time.sleep(max(collect - quiet, LOOK) if waiting > 0 else LOOK if quiet < IDLE else IDLE_LOOK)


class SpoolFeeder:
    """Spools a descriptor that it owns: a pipe, a device or a compressed file. `stop` ends waiting for a pipe."""

    final = True
    is_idle = False

    def __init__(
        self,
        descriptor: int,
        info: CaptureInfo,
        findings: list[Finding],
        stop: threading.Event,
        limit: int = SPOOL_LIMIT,
    ) -> None:
        self.spool = Spool()
        self._stop = stop
        self._descriptor = descriptor
        self._still = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._info = info
        self._findings = findings
        self._limit = limit
        self._unpacker: Unpacker | None = None
        self._amount = READ
        self._last_block_time = -math.inf
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._ahead = b""
        if not self._still and hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ)

    def peek(self) -> bytes:
        """Waits for the first bytes and returns enough to recognise a compression, or fewer if there are no more."""
        while len(self._ahead) < LONGEST_MAGIC and (data := self._read_some()):
            self._ahead += data
        return self._ahead

    def unpack(self, compression: str) -> None:
        """Decompresses all bytes from now on."""
        from analyzer.capture.unpack import Unpacker  # lazy: it imports four codecs, which few captures need

        self._info.compression = compression
        self._unpacker = Unpacker(compression)

    def fill(self) -> bool:
        """Waits until more bytes are in the spool."""
        before = self.spool.size()
        until: float | None = None
        while self._descriptor >= 0 and self.spool.size() - before < self._amount:
            if until is not None and not self._ready(until - time.monotonic()):
                break
            self._take_some()
            if until is None and self.spool.size() > before:
                # A writer of many bytes mostly has more; compressed bytes may stand for many.
                much = self.spool.size() - before >= MUCH or self._unpacker is not None
                until = (time.monotonic() if much else self._last_block_time) + LITTLE_COLLECT
        self._amount = min(self._amount * 2, LARGEST_FILL)
        self._last_block_time = time.monotonic()
        return self.spool.size() > before

    def _ready(self, seconds: float) -> bool:
        """Returns whether bytes can be read within some seconds; always true for a file."""
        return self._still or bool(self._poll.poll(max(seconds, 0) * 1000))

    def _read_some(self) -> bytes:
        """Waits for some bytes; returns none at the end, or when `stop` was set while none came."""
        while not self._ready(LITTLE_COLLECT):
            if self._stop.is_set():
                self.final = False
                return b""
        return os.read(self._descriptor, READ)

    def _take_some(self) -> None:
        data = self._ahead or self._read_some()
        self._ahead = b""
        if not data:
            self._end()
        elif self._unpacker is None:
            self.spool.append(data)
            self._bound()
        else:
            self._unpack(self._unpacker, data)

    def _unpack(self, unpacker: Unpacker, data: bytes) -> None:
        from analyzer.capture.unpack import ERRORS

        try:
            for piece in unpacker.feed(data):
                self.spool.append(piece)
                self._bound()
                if self._descriptor < 0:
                    return
        except ERRORS as error:
            self._break(f"its {self._info.compression} data breaks off ({error})")

    def _bound(self) -> None:
        if self.spool.size() - self.spool.released > self._limit:
            self._break(f"it comes to more than {self._limit:,} bytes")

    def _end(self) -> None:
        if self.final and self._unpacker is not None and not self._unpacker.whole:
            self._break(f"its {self._info.compression} data ends too early")
        self.close()

    def _break(self, what: str) -> None:
        """Ends the feeding with a finding. Only compressed input has an offset that differs from the scanner's."""
        offset = self._unpacker.eaten if self._unpacker is not None else self.spool.size()
        text = f"{self._info.path} is damaged at byte {offset}: {what}; the packets before it are read"
        self._findings.append(Finding(Severity.ERROR, "damaged-capture", text, offset=offset))
        self.final = False
        self.close()

    def close(self) -> None:
        """Closes the descriptor; the spool stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}
LONGEST_MAGIC = max(map(len, MAGICS))


def recognise_compression(prefix: bytes) -> str | None:
    """Returns the compression whose magic `prefix` begins with, or None.

    zstd data may begin with skippable frames, as pzstd writes them.
    """
    if len(prefix) >= 4 and prefix[0] & 0xF0 == 0x50 and prefix[1:4] == b"\x2a\x4d\x18":
        return "zstd"
    return next((name for magic, name in MAGICS.items() if prefix.startswith(magic)), None)


FOREIGN_HEAD = 512
"""Bytes at the front of a file that show its kind."""

_UNPACK = "Unpack it and give the capture in it."
_CONVERT = "Convert it with Wireshark's editcap -F pcapng."
_KINDS = (
    (0, b"PK\x03\x04", f"a zip archive. {_UNPACK}"),
    (257, b"ustar", f"a tar archive. {_UNPACK}"),
    (0, b"7z\xbc\xaf\x27\x1c", f"a 7z archive. {_UNPACK}"),
    (0, b"BZh", "compressed with bzip2. Decompress it with bunzip2."),
    (0, b"snoop\0\0\0", f"a capture of snoop. {_CONVERT}"),
    (0, b"GMBU", f"a capture of Network Monitor. {_CONVERT}"),
    (0, b"RTSS", f"a capture of Network Monitor. {_CONVERT}"),
    (0, b"PAR1", "a Parquet table."),
)
_TEXT = bytes(range(0x20, 0x7F)) + b"\t\r\n\f"


def explain_foreign_file(head: bytes) -> str:
    """Returns the end of the sentence `FILE is not a capture`; head: the first FOREIGN_HEAD bytes, decompressed."""
    known = ", ".join(MAGICS.values())
    wanted = f". Give a pcap or pcapng file, plain or compressed ({known})."
    kind = next((what for at, magic, what in _KINDS if head[at:].startswith(magic)), None)
    if kind is not None:
        return f" but {kind}"
    return f" but text{wanted} wireanalyze decode reads hex." if not head.translate(None, _TEXT) else wanted
