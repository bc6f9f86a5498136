"""Writes the files of a capture: one, or a ring of them.

Theory. Each file is complete: a header with all interfaces, packets, and at the end the counters of the interfaces.
Packets are written in whole blocks, so the file can be read at any time. A ring begins another file when the next
packet would exceed the bounds of the current one. It also does so when the first packet of the file is too old, even if
no other packet comes. A file without packets is never replaced because of its age, so a quiet night does not remove a
day's traffic from the ring. A surplus file is kept a second longer, so that a follower has time to open it.

Packets of two processors may swap by microseconds. A packet that is older than the last one by so little belongs to the
file before. So if files are sorted by time, their packets are, too. A file that cannot be written any further is
truncated after its last whole block.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_statistics
from analyzer.errors import CaptureError
from analyzer.live.capture_request import CaptureBounds
from analyzer.live.channel import ChannelMessage, FileBegunMessage, FileRemovedMessage
from analyzer.live.taps import PacketBatch, write_all

STATISTICS = 10.0
"""Seconds after which changed counters are also written within a file."""

GRACE = 1.0
"""Seconds that a surplus file is kept after its end."""

SWAPPED = 1_000_000
"""Nanoseconds by which a packet may be older than an earlier one; by more, the clock was set back."""

Counters = Callable[[], Sequence[tuple[int, int]]]


class FileRotation:
    """Writes to `path`, or to the files of a ring, named as dumpcap does: trace_00001_20261122124225.pcapng.

    interfaces: in order of their numbers. ring, until: see CaptureRequest; packets, size and files of `until` are used.
    tell: is called for each file. counters: returns (received, dropped) of each interface. packets, size: written so
    far (bytes of packets and headers). over: a bound of `until` is reached. Methods raise CaptureError when a file
    cannot be written.
    """

    def __init__(
        self,
        path: str,
        interfaces: Sequence[InterfaceDescription],
        ring: CaptureBounds,
        until: CaptureBounds,
        tell: Callable[[ChannelMessage], None],
        counters: Counters,
    ) -> None:
        self._path, self._ring, self._until = path, ring, until
        self._head = encode_header(interfaces)
        self._tell, self._counters = tell, counters
        self._since = time.time_ns()
        self._files: deque[str] = deque()
        self._surplus: deque[tuple[float, str]] = deque()
        self._latest = 0
        self._begun = self.packets = self.size = self._dropped = 0
        self._old = self._count_again = 0.0
        self._out = -1
        self.over = False
        self._next()

    def write(self, taken: PacketBatch) -> None:
        """Writes as many of the packets as the bounds allow."""
        ends = np.asarray(taken.ends, np.int64)
        begin = 0
        while begin < taken.packets and not self.over:
            before = int(ends[begin - 1]) if begin else 0
            some = taken.packets - begin
            if self._until.packets:
                some = min(some, self._until.packets - self.packets)
            if self._until.size:
                some = min(some, _fitting(ends, begin, self._until.size - self.size + before))
            if not some:
                self.over = True
                return
            fits = min(some, max(self._ring.packets - self._packets, 0)) if self._ring.packets else some
            if self._ring.size:
                fits = min(fits, _fitting(ends, begin, self._ring.size - self._size + before))
            if not fits and self._packets and not (fits := self._count_late(taken.slice(begin, begin + some))):
                self._rotate()
                continue
            some = max(fits, 1)
            self._append(taken.slice(begin, begin + some))
            begin += some
        self.over |= bool(self._until.packets) and self.packets >= self._until.packets

    @property
    def deadline(self) -> float | None:
        """Time (time.monotonic()) when tick() has something to do, or None."""
        found = [self._old] if self._ring.seconds and self._packets else []
        return min((*found, *(moment for moment, _ in self._surplus)), default=None)

    def tick(self, now: float) -> None:
        """Does the work due at a time.monotonic(): another file, counters, removal of files."""
        self._drop_surplus(now)
        if self._ring.seconds and self._packets and now >= self._old:
            self._rotate()
        elif now >= self._count_again:
            self._count_again = now + STATISTICS
            self._write_statistics(changed=True)

    def finish(self) -> None:
        """Completes and closes the last file, and removes surplus files, at once or in a moment."""
        self._end_file()
        while self._surplus:
            time.sleep(max(self._surplus[-1][0] - time.monotonic(), 0))
            self._drop_surplus(time.monotonic())

    def _end_file(self) -> None:
        if self._out < 0:
            return
        try:
            self._write_statistics()
        finally:
            self._close()

    def _rotate(self) -> None:
        self._end_file()
        if self._until.files and self._begun >= self._until.files:
            self.over = True
            return
        self._next()

    def _next(self) -> None:
        """Begins a file."""
        self._begun += 1
        path = make_ring_name(self._path, self._begun, time.time()) if self._ring else self._path
        try:
            self._out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CaptureError(f"Cannot write {path}: {error.strerror}.{self._describe_remaining()}") from None
        self._files.append(path)
        self._size = self._packets = self._latest = 0
        self._count_again = time.monotonic() + STATISTICS
        self._add(self._head)
        self._tell(FileBegunMessage(path))
        if self._ring.files and len(self._files) > self._ring.files:
            self._surplus.append((time.monotonic() + GRACE, self._files.popleft()))
        self._drop_surplus(time.monotonic())

    def _drop_surplus(self, now: float) -> None:
        """Removes surplus files that are past their time."""
        while self._surplus and self._surplus[0][0] <= now:
            _, oldest = self._surplus.popleft()
            with suppress(OSError):
                os.unlink(oldest)
            self._tell(FileRemovedMessage(oldest))

    def _count_late(self, following: PacketBatch) -> int:
        """Returns how many of the next packets belong to this file because of their time."""
        if (times := following.times) is None:
            return 0
        late = np.flatnonzero((times < self._latest) & (times > self._latest - SWAPPED))
        return int(late[-1]) + 1 if len(late) else 0

    def _append(self, taken: PacketBatch) -> None:
        if not self._packets:
            self._old = time.monotonic() + self._ring.seconds
        try:
            taken.write(self._out)
        except OSError as error:
            self._cut_back(np.asarray(taken.ends, np.int64), error)
        self._count(taken.packets, taken.size)
        newest = taken.last if taken.times is None else int(taken.times.max())
        self._latest = max(self._latest, newest)

    def _count(self, packets: int, size: int) -> None:
        self._packets += packets
        self.packets += packets
        self._size += size
        self.size += size

    def _write_statistics(self, changed: bool = False) -> None:
        found = self._counters()
        dropped = sum(lost for _, lost in found)
        if changed and dropped == self._dropped:
            return
        self._dropped = dropped
        now = time.time_ns()
        self._add(b"".join(encode_statistics(number, now, *each, self._since) for number, each in enumerate(found)))

    def _add(self, data: bytes) -> None:
        try:
            write_all(self._out, data)
        except OSError as error:
            self._cut_back(np.zeros(0, np.int64), error)
        self._count(0, len(data))

    def _cut_back(self, ends: NDArray[np.int64], error: OSError) -> None:
        """Keeps the whole blocks that were written, which end at `ends`; raises CaptureError."""
        with suppress(OSError):  # a pipe or a device cannot be truncated
            whole = _fitting(ends, 0, os.lseek(self._out, 0, os.SEEK_CUR) - self._size)
            self._count(whole, int(ends[whole - 1]) if whole else 0)
            os.ftruncate(self._out, self._size)
        self._close()
        raise CaptureError(f"Cannot write {self._files[-1]}: {error.strerror}.{self._describe_remaining()}") from None

    def _describe_remaining(self) -> str:
        return f" The {self.packets:,} packets before are kept." if self.packets else ""

    def _close(self) -> None:
        if self._out >= 0:
            os.close(self._out)
        self._out = -1


def make_ring_name(path: str, number: int, moment: float) -> str:
    """Returns the name of a ring's file that began at a moment (seconds since 1970)."""
    name, begun = Path(path), time.strftime("%Y%m%d%H%M%S", time.localtime(moment))
    return str(name.with_name(f"{name.stem}_{number:05}_{begun}{name.suffix}"))


def _fitting(ends: NDArray[np.int64], begin: int, limit: int) -> int:
    """Returns how many packets, counted from `begin`, end within `limit` bytes."""
    return int(np.searchsorted(ends[begin:], limit, side="right"))
