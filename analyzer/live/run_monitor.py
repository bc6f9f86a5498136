"""One run of a live capture, seen from the analyzer: its files, its counts, and how far who reads them is behind."""

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
MOST_TOLD = 4096
"""Counts that are remembered to know how far behind who reads is; then every second one goes."""


class FileFollower(Protocol):
    """What is told of files; a Succession."""

    def add_file(self, path: str) -> bool:
        """A file has been begun, and the one before is whole. Whether it is open now: only then its name may go."""

    def remove_file(self, path: str) -> None:
        """A file has been taken away."""

    def finish(self) -> None:
        """No further file comes; the last one is whole."""


@dataclass(frozen=True, slots=True)
class RunHealth:
    """How a run fares: packets written, packets that the kernel dropped, bytes written; packets that are written and
    not read, seconds that the analyzer is behind by that (0.0: by nothing), and files that were begun."""

    captured: int = 0
    dropped: int = 0
    size: int = 0
    backlog: int = 0
    lag: float = 0.0
    files: int = 0


class RunMonitor:
    """What is known of one run. `spool` is the folder of files that nobody keeps."""

    def __init__(self, path: str | None, succession: FileFollower) -> None:
        self.spool = _folder() if path is None else None
        self.path = path if path is not None else os.path.join(self.spool or "", SPOOL)
        self.succession = succession
        self.health, self.gone, self._last = RunHealth(), 0, ""
        self._told: deque[tuple[int, float]] = deque()

    def announce_file(self, line: FileBegunMessage | FileRemovedMessage) -> None:
        """Tells who follows; once they have a file that nobody keeps, its name goes."""
        if isinstance(line, FileRemovedMessage):
            self.succession.remove_file(line.path)
            return
        if self.succession.add_file(line.path) and self.spool is not None:
            with suppress(OSError):
                os.unlink(line.path)

    def count_file(self, path: str) -> None:
        """Counts a file."""
        self._last = path
        self.health = replace(self.health, files=self.health.files + 1)

    def count(self, said: CountMessage | RunEndMessage, now: float) -> None:
        """Remembers when packets were told of for the first time."""
        if said.packets > self.health.captured:
            self._told.append((said.packets, now))
            if len(self._told) > MOST_TOLD:
                self._told = deque(list(self._told)[1::2])
        self.health = replace(self.health, captured=said.packets, dropped=said.dropped, size=said.size)

    def health_at(self, read: int) -> RunHealth:
        """See LiveCapture.health. Behind is the analyzer since it was told of the first packet that it has not read."""
        while self._told and self._told[0][0] <= read:
            self._told.popleft()
        lag = time.monotonic() - self._told[0][1] if self._told else 0.0
        return replace(self.health, backlog=max(self.health.captured - read, 0), lag=lag)

    def summary(self, read: int) -> str:
        """See LiveCapture.summary."""
        health = self.health_at(read)
        text = f"{health.captured:,} packets captured{self._describe_files()}"
        if health.dropped:
            text += f", {health.dropped:,} more were dropped by the kernel"
        return text + (f", {health.backlog:,} of them were not read" if health.backlog else "")

    def _describe_files(self) -> str:
        if self.spool is not None or not self.health.files:
            return ""
        kept = self.health.files - self.gone
        if self.health.files == 1:
            return f" to {self._last}"
        of = f" {kept:,} files" if kept == self.health.files else f" {self.health.files:,} files, {kept:,} of them kept"
        return f" to{of}, the last of them {self._last}"

    def explain_problem(self, problem: str | None) -> str | None:
        """A problem for the user, who has never heard of the names of files that nobody keeps."""
        if problem is None or self.spool is None or self.spool not in problem:
            return problem
        return (
            f"no more packets could be written to {tempfile.gettempdir()}: say -w FILE, or set TMPDIR to another folder"
        )

    def remove_spool(self) -> None:
        """Takes away what is left of files that nobody keeps."""
        if self.spool is not None:
            shutil.rmtree(self.spool, ignore_errors=True)


def _folder() -> str:
    """For files that nobody keeps. Raises CaptureError."""
    try:
        return tempfile.mkdtemp(prefix=PREFIX)
    except OSError as error:
        raise CaptureError(
            f"there is no place for what is captured ({error.strerror}): say -w FILE, or set TMPDIR to another folder"
        ) from None
