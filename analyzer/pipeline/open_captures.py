"""Captures that a process has open, from one partition to the next."""

from __future__ import annotations

import os
import resource
import threading

from analyzer.capture.feed import SPOOL_LIMIT, SpoolFeeder, recognise_compression
from analyzer.capture.records import CaptureInfo
from analyzer.capture.sources import MappedFile, Spool
from analyzer.errors import CaptureError

MOST_FILES = 64
MOST_UNPACKED = 16 << 30
"""Files, and bytes in spools, that stay open from one partition to the next."""


class MissingFileError(CaptureError):
    """Raised if a file that existed cannot be opened any more."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"Cannot open {path} again: {reason}.")
        self.path = path


_Key = tuple[str, int, int, int]


class OpenCaptures:
    """Sources by path. What it gives stays open until trim()."""

    def __init__(self) -> None:
        self._open: dict[_Key, MappedFile] = {}
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def open_source(self, path: str) -> MappedFile:
        """Opens a capture, decompressed. Raises CaptureError if it is gone or the disk is full."""
        try:
            status = os.stat(path)
            key = (path, status.st_ino, status.st_size, status.st_mtime_ns)
            found = self._open.pop(key, None) or _open_source(path)
        except OSError as error:
            raise MissingFileError(path, error.strerror or str(error)) from error
        self._open[key] = found
        return found

    def trim(self) -> None:
        """Closes what was used longest ago and is too much; nobody may read what was given before."""
        while self._open and (len(self._open) > MOST_FILES or self._count_unpacked_bytes() > MOST_UNPACKED):
            self._open.pop(next(iter(self._open))).close()

    def _count_unpacked_bytes(self) -> int:
        return sum(source.size() for source in self._open.values() if isinstance(source, Spool))


def _open_source(path: str) -> MappedFile:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if not recognise_compression(os.pread(descriptor, 6, 0)):
        return MappedFile(descriptor)
    inflow = SpoolFeeder(descriptor, CaptureInfo(path), [], threading.Event(), SPOOL_LIMIT)
    compression = recognise_compression(inflow.peek())
    assert compression is not None
    inflow.unpack(compression)
    while inflow.fill():
        pass
    inflow.close()
    return inflow.spool


LIBRARY = OpenCaptures()
"""Those of this process."""
