"""A file that another program is writing, as a source of bytes.

Theory. The file may be truncated at any time, so it is never mapped. Each of its bytes is read about ten times: by the
scanner, by each layer, by framing, by the output. So new bytes are read once, into memory of our own, and later reads
cost no system call. Between two calls of grow() the file keeps the size that the first call found, so a scanner never
sees it change.
"""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.sources import PositionedFile, gather_rows

AT_ONCE = 16 << 20
"""Bytes that are kept in memory. The number is doubled until a longer record fits."""


class GrowingFile(PositionedFile):
    """Reads a growing file through a descriptor that it owns. path: where the file can be opened again later."""

    def __init__(self, descriptor: int, path: str | None = None) -> None:
        super().__init__(descriptor)
        self._path = path
        self._resting: os.stat_result | None = None
        self._known = 0
        self._requested_end, self._begin, self._most = 0, -1, AT_ONCE
        self._read_ahead: tuple[int, bytes] = (0, b"")

    def size(self) -> int:
        """Returns the bytes that grow() has found."""
        return self._known

    def count_waiting(self) -> int:
        """Returns the bytes that the file has and grow() has not found yet."""
        return self._find_size() - self._known

    def grow(self) -> None:
        """Reads the next new bytes. Call it when the bytes that it found before have been scanned."""
        begin = self._requested_end
        self._most = AT_ONCE if begin > self._begin else self._most * 2
        data = self._read_available(begin, min(self._find_size() - begin, self._most))
        self._begin, self._read_ahead, self._known = begin, (begin, data), begin + len(data)

    def settle(self) -> None:
        """Notes that the file is complete and scanned: frees the memory and takes the file's present size."""
        self._read_ahead, self._known = (0, b""), self._find_size()

    def ensure_open(self) -> None:
        """Opens the file if it has no descriptor and was not released. Raises OSError."""
        with self._lock:
            if self._descriptor < 0 and self._resting is None and self._path is not None:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def count_unlinked(self) -> int:
        """Returns the bytes of the file if it has no name any more, else 0."""
        with self._lock:
            if self._descriptor < 0:
                return 0
            found = os.fstat(self._descriptor)
            return 0 if found.st_nlink else found.st_size

    def release_descriptor(self) -> None:
        """Closes the descriptor if the file's name still leads to it; later reads open the file again."""
        with self._lock, suppress(OSError):
            if self._path is not None and self._descriptor >= 0:
                mine = os.fstat(self._descriptor)
                if os.path.samestat(mine, os.stat(self._path)):
                    os.close(self._descriptor)
                    self._descriptor, self._resting = -1, mine

    def window(self, position: int, length: int) -> memoryview:
        """Returns the bytes from a position, fewer at the end; grow() goes on at the last position."""
        self._requested_end = max(self._requested_end, position)
        begin, data = self._read_ahead
        if position >= begin and begin + len(data) >= min(position + length, self._known):
            return memoryview(data)[position - begin : position - begin + length]
        return memoryview(self._read_available(position, min(length, self._known - position)))

    def gather(self, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns rows of `width` bytes at n positions, shape (n, width); bytes behind the end are 0."""
        begin, data = self._read_ahead
        if not data or not len(positions):
            return super().gather(positions, width)
        if int(positions.min()) >= begin:
            return gather_rows(data, positions - begin, width)
        rows = np.empty((len(positions), width), np.uint8)
        before = positions < begin
        rows[before] = super().gather(positions[before], width)
        rows[~before] = gather_rows(data, positions[~before] - begin, width)
        return rows

    def duplicate(self) -> int:
        """Returns a descriptor that the caller closes. Raises FileNotFoundError if the file was closed or is gone."""
        with self._lock:
            if self._resting is not None:
                return self._reopen()
            if self._descriptor < 0:
                raise FileNotFoundError(self._path)
            return super().duplicate()

    def close(self) -> None:
        """Closes the descriptor and frees the memory."""
        super().close()
        self._read_ahead, self._path, self._resting = (0, b""), None, None

    def _find_size(self) -> int:
        # No program writes to a released file.
        return super()._find_size() if self._resting is None else self._resting.st_size

    def _read_available(self, position: int, length: int) -> bytes:
        with self._lock:
            if self._resting is None:
                return super()._read_available(position, length)
            try:
                self._descriptor = self._reopen()
            except OSError:
                return b""
            try:
                return super()._read_available(position, length)
            finally:
                os.close(self._descriptor)
                self._descriptor = -1

    def _reopen(self) -> int:
        """Returns a new descriptor of a released file."""
        assert self._path is not None
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        if self._resting is not None and os.path.samestat(os.fstat(descriptor), self._resting):
            return descriptor
        os.close(descriptor)
        raise FileNotFoundError(self._path)
