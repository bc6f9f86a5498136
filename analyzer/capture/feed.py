"""How bytes come into a source: not at all, by growing, through a pipe, out of a compressed file.

Theory. A hopper reads what is there; when no whole record is left, its feed is asked for more. A feed waits until
something has come, never until a certain amount has: ten packets in a pipe that pauses are ten packets to be seen.
While a pipe delivers without pause, a twentieth of a second is collected, so that blocks do not become tiny.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import stat
import threading
import time
from typing import TYPE_CHECKING, Protocol

from analyzer.capture.compress import LONGEST_MAGIC
from analyzer.capture.records import CaptureInfo
from analyzer.capture.sources import Pread, Spool
from dissectors.finding import Finding, Severity

if TYPE_CHECKING:
    from analyzer.capture.unpack import Unpacker

READ = 1 << 20
COLLECT = 0.05
"""Seconds."""
LARGEST_FILL = 64 << 20
SPOOL_LIMIT = 64 << 30


class Feed(Protocol):
    """Where more bytes come from."""

    final: bool
    """Whether the end is the capture's own; a file that is followed goes on without us, a broken one had more."""

    def fill(self) -> bool:
        """Waits until more bytes have come into the source; False: none will come."""


class Still:
    """All bytes are there."""

    final = True

    def fill(self) -> bool:
        """See Feed.fill."""
        return False


class Growth:
    """A file that somebody else writes; ends when `stop` is set."""

    final = False

    def __init__(self, source: Pread, stop: threading.Event, pause: float = COLLECT) -> None:
        self._source = source
        self._stop = stop
        self._pause = pause
        self._size = 0

    def fill(self) -> bool:
        """See Feed.fill; looks once more after `stop`, so that nothing written before it is lost."""
        while True:
            stopped = self._stop.is_set()
            size = self._source.size()
            if size > self._size:
                self._size = size
                return True
            if stopped:
                return False
            self._stop.wait(self._pause)


class Inflow:
    """Spools a descriptor that it takes over: a pipe, a device, a compressed file. `stop` ends waiting for a pipe."""

    final = True

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
        self._ahead = b""
        if not self._still and hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ)

    def peek(self) -> bytes:
        """The first bytes, enough to tell a compression; fewer when there are no more. Waits for them."""
        while len(self._ahead) < LONGEST_MAGIC and (data := self._read()):
            self._ahead += data
        return self._ahead

    def unpack(self, compression: str) -> None:
        """From now on what comes in is unpacked."""
        from analyzer.capture.unpack import Unpacker  # four codecs, which a plain capture does not need

        self._info.compression = compression
        self._unpacker = Unpacker(compression)

    def fill(self) -> bool:
        """See Feed.fill."""
        before = self.spool.size()
        until: float | None = None
        while self._descriptor >= 0 and self.spool.size() - before < self._amount:
            if until is not None and not self._ready(until - time.monotonic()):
                break
            self._take()
            if until is None and self.spool.size() > before:
                until = time.monotonic() + COLLECT
        self._amount = min(self._amount * 2, LARGEST_FILL)
        return self.spool.size() > before

    def _ready(self, seconds: float) -> bool:
        """Whether more is at hand within that time; a file always has more at hand."""
        return self._still or (seconds > 0 and bool(select.select([self._descriptor], [], [], seconds)[0]))

    def _read(self) -> bytes:
        """Waits for some bytes; none at the end, or when `stop` was set while nothing came."""
        while not self._ready(COLLECT):
            if self._stop.is_set():
                self.final = False
                return b""
        return os.read(self._descriptor, READ)

    def _take(self) -> None:
        data = self._ahead or self._read()
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
        if self.spool.size() > self._limit:
            self._break(f"it comes to more than {self._limit:,} bytes")

    def _end(self) -> None:
        if self.final and self._unpacker is not None and not self._unpacker.whole:
            self._break(f"its {self._info.compression} data ends too early")
        self.close()

    def _break(self, what: str) -> None:
        """Ends the inflow; only a compressed one has a place to name that differs from the hopper's."""
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
