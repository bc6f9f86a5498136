"""One run of the capturing process, from StartCommand to RunEndMessage: taps to files, with bounds and clock.

Theory. Packets of several taps are written in time order. Each tap returns its packets in order, but in blocks, and up
to HOLD after they arrived. So the packets of a tap are kept back until every other tap has returned later ones, or HOLD
has passed.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Container, Sequence

import numpy as np

from analyzer.errors import CaptureError
from analyzer.live.capture_request import CaptureBounds, CaptureRequest
from analyzer.live.channel import ChannelMessage, CountMessage, FileBegunMessage, RunEndMessage
from analyzer.live.rotation import FileRotation
from analyzer.live.taps import MemoryPieces, PacketBatch, Tap

OFTEN = 0.2
"""Minimum seconds between two CountMessages."""

AGAIN = 0.02
"""Seconds between two checks of the packets that are kept back for merging."""

SPOOL_FILE = 64 << 20
"""Bytes of a temporary file. Its disk space is free again once it has been read."""


class CaptureRun:
    """Takes packets from taps and writes them to files; begins at once, and adds temporary files to `spool`.

    taps: those that may still return packets. problem: why the others do not. is_over: a bound is reached. Methods
    raise CaptureError when a file cannot be written.
    """

    def __init__(
        self,
        path: str,
        taps: Sequence[Tap],
        request: CaptureRequest,
        tell: Callable[[ChannelMessage], None],
        spool: list[str] | None,
    ) -> None:
        self._all, self._until, self._tell, self._spool = taps, request.until, tell, spool
        self.taps = list(taps)
        self._lost: list[str] = []
        self._merging = BatchMerger(len(taps)) if len(taps) > 1 else None
        self._unfinished = set[int]()
        self._last_tick = time.time_ns()
        self._dropped = 0
        self._last_report_time = 0.0
        self._last_counts = (0, 0)
        ring = request.ring if spool is None else CaptureBounds(size=SPOOL_FILE)
        try:
            for tap in taps:  # before the file begins, because a sender may wait for that
                tap.begin()
            self._files = FileRotation(
                path, [tap.description for tap in taps], ring, request.until, self._tell_of_file, self._counters
            )
        except CaptureError:
            self.halt()
            raise
        self._end = time.monotonic() + request.until.seconds if request.until.seconds else None

    @property
    def is_over(self) -> bool:
        """Whether a bound is reached."""
        return self._files.over or (self._end is not None and time.monotonic() >= self._end)

    @property
    def problem(self) -> str | None:
        """Why some taps return no more packets, else None."""
        if not self._lost:
            return None
        return f"{'. '.join(self._lost)}.{' The capture continues on the other interfaces.' if self.taps else ''}"

    @property
    def deadline(self) -> float | None:
        """Time (time.monotonic()) when tick() must be called even without a packet, or None."""
        found = [self._end, self._files.deadline]
        if self._last_counts != (self._files.packets, self._dropped):
            found.append(self._last_report_time + OFTEN)
        if self._merging:
            found.append(time.monotonic() + AGAIN)
        return min((each for each in found if each is not None), default=None)

    def take(self, tap: Tap) -> bool:
        """Writes the packets that a tap has at hand; returns whether there were any."""
        taken = tap.take()
        if self._merging is None:
            if taken is not None:
                self._files.write(taken)
            return taken is not None
        number = self._all.index(tap)
        if taken is None:
            self._unfinished.discard(number)
        else:
            self._unfinished.add(number)
            self._merging.add(number, taken)
        return taken is not None

    def drop_tap(self, tap: Tap) -> None:
        """Removes a tap that will return no more packets."""
        self.taps.remove(tap)
        self._lost.append(str(tap.problem))

    def tick(self, now: float) -> None:
        """Does the work due at a time.monotonic(): merged packets, other files, counts."""
        if self._merging:
            # This process may have had to wait for the processor since it looked at the taps.
            self._write(self._merging.take_due(self._last_tick, self._unfinished))
            self._unfinished.clear()
        self._last_tick = time.time_ns()
        if not self._files.over:
            self._files.tick(now)
        if self._last_counts[0] != self._files.packets and now >= self._last_report_time + OFTEN:
            self._count()

    def halt(self) -> None:
        """Makes the taps of all interfaces stop capturing."""
        for tap in self.taps:
            tap.halt()

    def take_rest(self) -> bool:
        """Takes the packets left in the taps after halt(); returns whether more may follow in a moment."""
        if self._files.over:
            return False
        for tap in self.taps:
            while self.take(tap):
                pass
        return any(tap.has_more for tap in self.taps)

    def finish(self) -> None:
        """Writes the packets still kept back for merging, and completes the last file."""
        if self._merging:
            self._write(self._merging.take_rest())
        self._files.finish()

    def make_end_message(self, problem: str | None) -> RunEndMessage:
        """Returns the counts and the problem as a RunEndMessage."""
        self._counters()
        return RunEndMessage(self._files.packets, self._dropped, self._files.size, problem)

    def _write(self, taken: PacketBatch | None) -> None:
        if taken is not None:
            self._files.write(taken)

    def _count(self) -> None:
        self._counters()
        self._last_report_time = time.monotonic()
        self._last_counts = (self._files.packets, self._dropped)
        self._tell(CountMessage(self._files.packets, self._dropped, self._files.size))

    def _counters(self) -> list[tuple[int, int]]:
        found = [tap.counters() for tap in self._all]
        self._dropped = sum(dropped for _, dropped in found)
        return found

    def _tell_of_file(self, line: ChannelMessage) -> None:
        if self._spool is not None and isinstance(line, FileBegunMessage):
            self._spool.append(os.path.abspath(line.path))
        self._tell(line)


HOLD = 90_000_000
"""Nanoseconds that packets are kept back: three times the age at which the kernel hands over a block."""


class BatchMerger:
    """Keeps batches of several taps back until their packets can be merged by time."""

    def __init__(self, taps: int) -> None:
        self._latest = [0] * taps
        self._waiting: list[PacketBatch] = []

    def __bool__(self) -> bool:
        """Whether any packets are kept back."""
        return bool(self._waiting)

    def add(self, tap: int, taken: PacketBatch) -> None:
        """Keeps a copy of a batch, because the memory belongs to the tap."""
        self._latest[tap] = max(self._latest[tap], taken.last)
        self._waiting.append(_copy(taken))

    def take_due(self, moment: int, unfinished: Container[int] = ()) -> PacketBatch | None:
        """Removes and returns the packets that no tap can precede any more.

        moment: ns since 1970, a moment after which all taps were asked. unfinished: taps that may have more at hand.
        """
        moments = [late if tap in unfinished else max(late, moment - HOLD) for tap, late in enumerate(self._latest)]
        return self._up_to(min(moments))

    def take_rest(self) -> PacketBatch | None:
        """Removes and returns all packets."""
        return self._up_to(np.iinfo(np.int64).max)

    def _up_to(self, horizon: int) -> PacketBatch | None:
        due_batches: list[PacketBatch] = []
        waiting: list[PacketBatch] = []
        for each in self._waiting:
            assert each.times is not None
            due = int(np.searchsorted(each.times, horizon, side="right"))
            if due:
                due_batches.append(each.slice(0, due))
            if due < each.packets:
                waiting.append(each.slice(due, each.packets))
        self._waiting = waiting
        return _merge_batches(due_batches) if due_batches else None


def _copy(taken: PacketBatch) -> PacketBatch:
    """Returns a batch in memory of our own; its times never decrease, so a tap's packets keep their order."""
    if isinstance(taken.blocks, MemoryPieces):
        data = b"".join(map(ctypes.string_at, *taken.blocks.rows.T.tolist()))
    else:
        data = bytes(taken.blocks)
    ends = np.asarray(taken.ends, np.int64)
    times = np.full(taken.packets, taken.last) if taken.times is None else np.maximum.accumulate(taken.times)
    rows = np.empty((taken.packets, 2), np.uintp)
    rows[:, 1] = np.diff(ends, prepend=0)
    rows[:, 0] = np.frombuffer(data, np.uint8).ctypes.data + ends - rows[:, 1].astype(np.int64)
    return PacketBatch(taken.packets, taken.size, taken.last, MemoryPieces(rows, data), ends, times)


def _merge_batches(parts: list[PacketBatch]) -> PacketBatch:
    if len(parts) == 1:
        return parts[0]
    times = np.concatenate([each.times for each in parts if each.times is not None])
    pieces = [each.blocks for each in parts if isinstance(each.blocks, MemoryPieces)]
    order = np.argsort(times, kind="stable")
    rows = np.concatenate([each.rows for each in pieces])[order]
    ends = rows[:, 1].cumsum(dtype=np.int64)
    times = times[order]
    return PacketBatch(len(rows), int(ends[-1]), int(times[-1]), MemoryPieces(rows, pieces), ends, times)
