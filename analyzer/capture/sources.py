"""Sources of captured bytes: a mapped file, a file that is read anew each time, a spool of our own.

Theory. If somebody truncates a mapped file, access to a page behind its end kills the process with SIGBUS. So only two
kinds of files are mapped: files that are complete, and unlinked spools that no other process can reach. A growing file
(growing.py), or a file that a ring may truncate, is read with pread, and missing bytes become zeros.
"""

from __future__ import annotations

import mmap
import os
import threading
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from analyzer.errors import CaptureError

CHUNK = 4 << 20
"""Bytes that PositionedFile.gather reads at once, plus the width of the last row."""

FREED_BYTES = 1 << 20
"""Bytes of a spool that are given back at once."""


TAIL = 1 << 20
"""Bytes of an annex that are written at once."""

LARGE = 1 << 16
"""Bytes that an annex writes as they come, without a copy."""


class ByteSource(Protocol):
    """Holds bytes at positions from 0 to `size()`."""

    def size(self) -> int:
        """Returns the bytes that are there now."""

    def window(self, position: int, length: int) -> memoryview:
        """Returns at most `length` bytes from `position`, fewer at the end; a mapped file copies none."""

    def gather(self, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns rows of `width` bytes at n positions, shape (n, width), contiguous; bytes behind the end are 0."""

    def duplicate(self) -> int:
        """Returns a descriptor at position 0 that the caller closes."""

    def close(self) -> None:
        """Closes the descriptor of the source; its bytes cannot be read after that."""


def duplicate_descriptor(descriptor: int) -> int:
    """Returns a second descriptor of the same file, at its beginning."""
    again = os.dup(descriptor)
    os.lseek(again, 0, os.SEEK_SET)
    return again


class MappedFile:
    """Maps a file that does not change; owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._map: mmap.mmap | bytes = b""
        self._remap()

    def _remap(self) -> mmap.mmap | bytes:
        # Returns the map that was checked, because another thread may put a shorter one back.
        found = self._map
        if len(found) != self._size:
            # The old map is not closed, because views of it may exist. It goes with the last of them.
            found = self._map = mmap.mmap(self._descriptor, self._size, access=mmap.ACCESS_READ)
        return found

    def size(self) -> int:
        """Returns the bytes in the file."""
        return self._size

    def window(self, position: int, length: int) -> memoryview:
        """Returns a view of at most `length` bytes from `position`, without a copy."""
        return memoryview(self._remap())[position : position + length]

    def gather(self, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns rows of `width` bytes at n positions, shape (n, width); bytes behind the end are 0."""
        return gather_rows(self._remap(), positions, width)

    def duplicate(self) -> int:
        """Returns a descriptor at position 0 that the caller closes."""
        return duplicate_descriptor(self._descriptor)

    def close(self) -> None:
        """Closes the descriptor; existing views keep the map alive."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._map, self._size = -1, b"", 0


class Spool(MappedFile):
    """Is a temporary file without a name, which may be mapped while it grows because no other process can reach it."""

    def __init__(self) -> None:
        import tempfile  # lazy: it imports random, shutil and two codecs, and few captures are spooled

        with tempfile.TemporaryFile(prefix="wireanalyze-") as file:
            descriptor = os.dup(file.fileno())
        super().__init__(descriptor)
        self.released = 0
        """Bytes at the front that read as 0 and take no space."""

    def release(self, position: int) -> None:
        """Gives back the space before `position` where the system can do that; nobody will read it again.

        The first HOLE bytes stay, because they show the kind of capture.
        """
        begin, end = self.released + FREED_BYTES, position // FREED_BYTES * FREED_BYTES
        if end > begin and self._descriptor >= 0:
            from analyzer.processes.libc import punch_hole  # lazy: only endless pipes need it

            if punch_hole(self._descriptor, begin, end):
                self.released = end - FREED_BYTES

    def append(self, data: bytes | memoryview) -> int:
        """Adds `data` at the end and returns its position. Raises CaptureError if the disk is full."""
        position = self._size
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.pwrite(self._descriptor, rest, position + len(data) - len(rest)) :]
        except OSError as error:
            import tempfile

            raise CaptureError(
                f"Cannot copy the capture to {tempfile.gettempdir()}: {error.strerror}."
                " Free some space there, or set TMPDIR to another folder."
            ) from error
        self._size = position + len(data)
        return position


class Annex(Spool):
    """Is a spool of many small pieces, the last of which stay in memory until there are enough to be written at once.

    Several threads may read while one appends.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tail = bytearray()
        self._lock = threading.RLock()

    def size(self) -> int:
        """Returns the bytes that were appended."""
        with self._lock:
            return self._size + len(self._tail)

    def append(self, data: bytes | memoryview) -> int:
        """Adds `data` at the end and returns its position. Raises CaptureError if the disk is full."""
        with self._lock:
            position = self._size + len(self._tail)
            if len(data) >= LARGE:
                self._write()
                return super().append(data)
            self._tail += data
            if len(self._tail) >= TAIL:
                self._write()
        return position

    def _write(self) -> None:
        with self._lock:
            if self._tail:
                super().append(memoryview(bytes(self._tail)))
                self._tail = bytearray()

    def window(self, position: int, length: int) -> memoryview:
        """Returns a view of at most `length` bytes from `position`."""
        with self._lock:
            behind = position - self._size
            if behind >= 0:
                return memoryview(bytes(self._tail[behind : behind + length]))
            if behind + length > 0:
                self._write()
        return super().window(position, length)

    def gather(self, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns rows of `width` bytes at n positions, shape (n, width); bytes behind the end are 0."""
        self._write()
        return super().gather(positions, width)

    def duplicate(self) -> int:
        """Returns a descriptor at position 0 that the caller closes."""
        self._write()
        return super().duplicate()


class PositionedFile:
    """Reads a file with pread, because it may be truncated at any time; owns the descriptor.

    end: the file is read as if it ended there. Reading and closing it from several threads is safe: the number of a
    closed descriptor may soon belong to another file.
    """

    def __init__(self, descriptor: int, end: int | None = None) -> None:
        self._descriptor = descriptor
        self._end = end
        self._lock = threading.RLock()

    def size(self) -> int:
        """Returns the bytes in the file at this moment."""
        return self._find_size()

    def _find_size(self) -> int:
        with self._lock:
            size = os.fstat(self._descriptor).st_size if self._descriptor >= 0 else 0
        return size if self._end is None else min(size, self._end)

    def _read_available(self, position: int, length: int) -> bytes:
        """Returns `length` bytes or fewer; a hostile length is never allocated."""
        parts: list[bytes] = []
        with self._lock:
            length = min(length, self._find_size() - position)
            while length > 0:
                part = os.pread(self._descriptor, length, position)
                if not part:
                    break
                parts.append(part)
                position += len(part)
                length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def window(self, position: int, length: int) -> memoryview:
        """Returns a copy of at most `length` bytes from `position`."""
        return memoryview(self._read_available(position, length))

    def gather(self, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns rows of `width` bytes at n positions, shape (n, width); reads the needed range in bounded chunks."""
        rows = np.zeros((len(positions), width), np.uint8)
        if not len(positions):
            return rows
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        chunks = ordered // CHUNK
        starts = np.flatnonzero(np.diff(chunks, prepend=chunks[0] - 1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(ordered)], strict=True):
            first = int(ordered[start])
            data = self._read_available(first, int(ordered[stop - 1]) - first + width)
            rows[order[start:stop]] = gather_rows(data, ordered[start:stop] - first, width)
        return rows

    def duplicate(self) -> int:
        """Returns a descriptor at position 0 that the caller closes."""
        with self._lock:
            return duplicate_descriptor(self._descriptor)

    def close(self) -> None:
        """Closes the descriptor, once; its bytes cannot be read after that."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1


Buffer = bytes | memoryview | mmap.mmap


def gather_rows(data: Buffer, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Returns rows (n, width) of `data` at n positions (at least 0); bytes behind its end are 0.

    A void view with stride 1 lets one fancy index copy whole rows, at 25 ns each; take() would first lay out the view.
    """
    last = len(data) - width
    if last >= 0 and (not len(positions) or int(positions.max()) <= last):
        return _rows(data, positions, width)
    rows = np.zeros((len(positions), width), np.uint8)
    inside = np.flatnonzero(positions <= last)
    if len(inside):
        rows[inside] = _rows(data, positions[inside], width)
    edge = max(0, last + 1)
    cut = np.flatnonzero((positions >= edge) & (positions < len(data)))
    if len(cut):
        rows[cut] = _rows(bytes(data[edge:]) + bytes(width), positions[cut] - edge, width)
    return rows


def _rows(data: Buffer, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    view = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))
    return view[positions].view(np.uint8).reshape(len(positions), width)


class SelfClosing:
    """Makes a context manager of a class with close()."""

    def close(self) -> None:
        """Releases what the object holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
