"""One run of the capturing process: from a Start to its Stopped, taps to files, with the bounds and the clock of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from analyzer.capture.errors import CaptureError
from analyzer.live.asked import CaptureBounds, CaptureRequest
from analyzer.live.channel import ChannelMessage, CountMessage, FileBegunMessage, RunEndMessage
from analyzer.live.merging import BatchMerger
from analyzer.live.rotation import FileRotation
from analyzer.live.taps import PacketBatch, Tap

OFTEN = 0.2
"""Seconds between two Counted, at least."""

AGAIN = 0.02
"""Seconds after which is asked again what is kept back to be merged."""

SPOOL_FILE = 64 << 20
"""Bytes of a file that nobody keeps: the disk gets them back when it has been read."""


class CaptureRun:
    """Begins at once; paths of files are added to `spool`, if there is one.

    taps: those that may still give something; problem: why others do not. over: a bound is reached.
    Methods raise CaptureError when a file cannot be written.
    """

    def __init__(
        self,
        path: str,
        taps: Sequence[Tap],
        asked: CaptureRequest,
        tell: Callable[[ChannelMessage], None],
        spool: list[str] | None,
    ) -> None:
        self._all, self._until, self._tell, self._spool = taps, asked.until, tell, spool
        self.taps = list(taps)
        self._lost: list[str] = []
        self._merging = BatchMerger(len(taps)) if len(taps) > 1 else None
        self._dropped = 0
        self._told = 0.0
        self._last_told = (0, 0)
        ring = asked.ring if spool is None else CaptureBounds(size=SPOOL_FILE)
        try:
            for tap in taps:  # before the file: once it has begun, whoever waits for that may send
                tap.begin()
            self._files = FileRotation(
                path, [tap.description for tap in taps], ring, asked.until, self._tell_of_file, self._counters
            )
        except CaptureError:
            self.halt()
            raise
        self._end = time.monotonic() + asked.until.seconds if asked.until.seconds else None

    @property
    def is_over(self) -> bool:
        """See the class."""
        return self._files.over or (self._end is not None and time.monotonic() >= self._end)

    @property
    def problem(self) -> str | None:
        """See the class."""
        if not self._lost:
            return None
        return ", ".join(self._lost) + ("; the other interfaces went on" if self.taps else "")

    @property
    def deadline(self) -> float | None:
        """When something has to be done without a packet, by time.monotonic()."""
        found = [self._end, self._files.deadline]
        if self._last_told != (self._files.packets, self._dropped):
            found.append(self._told + OFTEN)
        if self._merging:
            found.append(time.monotonic() + AGAIN)
        return min((each for each in found if each is not None), default=None)

    def take(self, tap: Tap) -> bool:
        """Takes what a tap has at hand and writes it; whether there was anything."""
        taken = tap.take()
        if taken is None:
            return False
        if self._merging is None:
            self._files.write(taken)
        else:
            self._merging.add(self._all.index(tap), taken)
        return True

    def drop_tap(self, tap: Tap) -> None:
        """A tap will give nothing any more."""
        self.taps.remove(tap)
        self._lost.append(str(tap.problem))

    def tick(self, now: float) -> None:
        """What time brings; now: time.monotonic()."""
        if self._merging:
            self._write(self._merging.take_due(time.time_ns()))
        if not self._files.over:
            self._files.tick(now)
        if self._last_told[0] != self._files.packets and now >= self._told + OFTEN:
            self._count()

    def halt(self) -> None:
        """Takes no more than there is."""
        for tap in self.taps:
            tap.halt()

    def take_rest(self) -> bool:
        """After halt(): takes what taps have; whether there may be more, in a moment."""
        if self._files.over:
            return False
        for tap in self.taps:
            while self.take(tap):
                pass
        return any(tap.has_more for tap in self.taps)

    def finish(self) -> None:
        """Makes the files whole."""
        if self._merging:
            self._write(self._merging.take_rest())
        self._files.finish()

    def make_end_message(self, problem: str | None) -> RunEndMessage:
        """How it went."""
        self._counters()
        return RunEndMessage(self._files.packets, self._dropped, self._files.size, problem)

    def _write(self, taken: PacketBatch | None) -> None:
        if taken is not None:
            self._files.write(taken)

    def _count(self) -> None:
        self._counters()
        self._told = time.monotonic()
        self._last_told = (self._files.packets, self._dropped)
        self._tell(CountMessage(self._files.packets, self._dropped, self._files.size))

    def _counters(self) -> list[tuple[int, int]]:
        found = [tap.counters() for tap in self._all]
        self._dropped = sum(dropped for _, dropped in found)
        return found

    def _tell_of_file(self, line: ChannelMessage) -> None:
        if self._spool is not None and isinstance(line, FileBegunMessage):
            self._spool.append(os.path.abspath(line.path))
        self._tell(line)
