"""Watches one run of a live capture from the analyzer: its files, its counts, and how far the reader is behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from analyzer.errors import CaptureError
from analyzer.live.channel import CountMessage, FileBegunMessage, FileRemovedMessage, RunEndMessage

PREFIX = "wireanalyze-"
SPOOL = "spool.pcapng"
MOST_SAMPLES = 4096
"""Maximum number of counts kept to compute the lag; above it, every second one is dropped."""


class FileFollower(Protocol):
    """Interface of a follower of the files of a run; FileSuccession implements it."""

    def add_file(self, path: str) -> bool:
        """Adds a new file, and completes the previous one; returns whether the new one is open."""

    def remove_file(self, path: str) -> None:
        """Reports that a file was removed."""

    def finish(self) -> None:
        """Reports that no other file follows, and that the last one is complete."""


@dataclass(frozen=True, slots=True)
class RunHealth:
    """Describes the state of a run.

    captured: packets written; dropped: packets that the kernel dropped; size: bytes written; backlog: packets written
    and not read; lag: seconds that the reader is behind (0.0: not at all); files: files begun.
    """

    captured: int = 0
    dropped: int = 0
    size: int = 0
    backlog: int = 0
    lag: float = 0.0
    files: int = 0


class RunMonitor:
    """Holds the state of one run. `spool`: the folder of temporary files."""

    def __init__(self, path: str | None, succession: FileFollower) -> None:
        self.spool = _folder() if path is None else None
        self.path = path if path is not None else os.path.join(self.spool or "", SPOOL)
        self.succession = succession
        self.health, self.deleted, self._last = RunHealth(), 0, ""
        self._samples: deque[tuple[int, float]] = deque()

    def announce_file(self, line: FileBegunMessage | FileRemovedMessage) -> None:
        """Reports a file to the follower; once a temporary file is open, its name is removed."""
        if isinstance(line, FileRemovedMessage):
            self.succession.remove_file(line.path)
            return
        if self.succession.add_file(line.path) and self.spool is not None:
            with suppress(OSError):
                os.unlink(line.path)

    def count_file(self, path: str) -> None:
        """Counts a file that has begun."""
        self._last = path
        self.health = replace(self.health, files=self.health.files + 1)

    def count(self, message: CountMessage | RunEndMessage, now: float) -> None:
        """Records the counts, and when they first appeared."""
        if message.packets > self.health.captured:
            self._samples.append((message.packets, now))
            if len(self._samples) > MOST_SAMPLES:
                self._samples = deque(list(self._samples)[1::2])
        self.health = replace(self.health, captured=message.packets, dropped=message.dropped, size=message.size)

    def health_at(self, read: int) -> RunHealth:
        """Returns the health when `read` packets have been read.

        The lag is the time since the first unread packet was announced. A process that was killed has written packets
        that it did not announce; packets that were read count as captured.
        """
        while self._samples and self._samples[0][0] <= read:
            self._samples.popleft()
        lag = time.monotonic() - self._samples[0][1] if self._samples else 0.0
        captured = max(self.health.captured, read)
        return replace(self.health, captured=captured, backlog=captured - read, lag=lag)

    def summary(self, read: int) -> str:
        """Returns one sentence for the end of the run, of which `read` packets have been read."""
        health = self.health_at(read)
        text = f"{health.captured:,} packets captured{self._describe_files()}"
        if health.dropped:
            text += f", {health.dropped:,} more were dropped by the kernel"
        return text + (f", {health.backlog:,} of them were not read" if health.backlog else "")

    def _describe_files(self) -> str:
        if self.spool is not None or not self.health.files:
            return ""
        remaining = self.health.files - self.deleted
        if self.health.files == 1:
            return f" to {self._last}"
        of = (
            f" {remaining:,} files"
            if remaining == self.health.files
            else f" {self.health.files:,} files, {remaining:,} of them kept"
        )
        return f" to{of}, the last of them {self._last}"

    def explain_problem(self, problem: str | None) -> str | None:
        """Returns a problem as a sentence for the user, who does not know the names of temporary files."""
        if problem is None or self.spool is None or self.spool not in problem:
            return problem
        return f"Cannot write more packets to {tempfile.gettempdir()}. Give -w FILE, or set TMPDIR to another folder."

    def remove_spool(self) -> None:
        """Removes the rest of the temporary files."""
        if self.spool is not None:
            shutil.rmtree(self.spool, ignore_errors=True)


def _folder() -> str:
    """Creates a folder for temporary files. Raises CaptureError."""
    try:
        return tempfile.mkdtemp(prefix=PREFIX)
    except OSError as error:
        raise CaptureError(
            f"Cannot write temporary files: {error.strerror}. Give -w FILE, or set TMPDIR to another folder."
        ) from None
