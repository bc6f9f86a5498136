"""Files that are written one after the other, read as one capture: the output of a live capture.

Theory. The writer says when a file begins, when a ring has removed one, and when no more will come. A file is opened as
soon as it begins, so its packets stay readable when its name is gone. It is complete when the next file begins, or at
the end. It is kept until the reader needs nothing of it any more. The kept files can be saved as one file, because
pcapng sections may follow each other.

Descriptors are scarce. Of the files that have been read only the last ones keep a descriptor. The others are opened for
each access, if their names still lead to them.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from analyzer.capture.growing import GrowingFile
from analyzer.capture.inputs import CaptureInput, open_capture
from analyzer.capture.pcapng_format import BYTE_ORDERS, MAGIC, SHORTEST_SECTION
from analyzer.capture.records import LARGEST_BLOCK, CaptureInfo
from analyzer.capture.sources import PositionedFile
from analyzer.errors import CaptureError, UserError

AWAKE = 128
"""Number of files that have been read and keep their descriptors."""

MOST_FILES, MOST_BYTES = 8192, 64 << 30
"""Files that are kept, and bytes of kept files without a name. Beyond these the first files count as removed."""

MOST_PROBLEMS = 100

CLOSED = -1
"""Stands for no descriptor."""

WAIT = 0.1
"""Seconds between two checks of `stop`, while no file has begun."""


class SuccessionFile:
    """Describes one file.

    `source`: its bytes. `whole` is set when no more will be written; `deleted`: the ring has removed it. `input` reads
    it; its packets are numbered from `first` on, and when `is_read` is set there are no more of them. `only_ours`:
    bytes of a file that has been read and has no name.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.source = GrowingFile(descriptor, os.path.abspath(path))
        self.whole = threading.Event()
        self.deleted = False
        self.input: CaptureInput | None = None
        self.first = 0
        self.is_read = False
        self.only_ours = 0

    @property
    def end(self) -> int:
        """Number behind its last packet, as far as it has been read."""
        return self.first + (0 if self.input is None else self.input.info.packets)


class FileSuccession:
    """Holds the files of a live capture. All methods may be called from any thread.

    One PacketReader reads it, and closes the files that it has begun to read. problems: sentences about files that
    could not be opened.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._parts: list[SuccessionFile] = []
        self._taken_parts = 0
        self._before = 1
        self._only_ours = 0
        self._over = self._closed = False
        self.problems: list[str] = []

    def add_file(self, path: str) -> bool:
        """Notes that a file has begun, and that the one before is complete; returns whether it is open.

        Only then may its name be removed.
        """
        try:
            descriptor = CLOSED if self._closed else open_capture(path)
        except CaptureError:
            descriptor = CLOSED  # mostly too many files are open: it is tried again later
        with self._changed:
            self._finish_last()
            if not self._closed:
                self._parts.append(SuccessionFile(path, descriptor))
            elif descriptor != CLOSED:
                os.close(descriptor)
            self._changed.notify_all()
            return self._closed or descriptor != CLOSED

    def remove_file(self, path: str) -> None:
        """Notes that the ring has removed a file: its rows may be evicted once it has been read."""
        with self._changed:
            for part in self._parts:
                if part.path == path and not part.deleted:
                    part.deleted = True
                    break

    def finish(self) -> None:
        """Notes that no further file will begin, and that the last one is complete."""
        with self._changed:
            self._finish_last()
            self._over = True
            self._changed.notify_all()

    def _finish_last(self) -> None:
        for part in self._parts[-1:]:
            part.whole.set()

    @property
    def is_finished(self) -> bool:
        """Whether no further file will begin."""
        return self._over

    @property
    def parts(self) -> list[SuccessionFile]:
        """The kept files, in their order."""
        with self._changed:
            return list(self._parts)

    def iterate_files(self, stop: threading.Event) -> Iterator[SuccessionFile]:
        """Yields the files as they begin, until there are no more; when `stop` is set, until there are none for now."""
        number = 1
        while (part := self._next(stop)) is not None:
            part.first = number
            if self._is_open(part):
                yield part
            part.only_ours = part.source.count_unlinked()
            part.is_read = True
            number = part.end
            with self._changed:
                self._only_ours += part.only_ours
                early = self._taken_parts - 1 - AWAKE
                tired = self._parts[early] if early >= 0 else None
            if tired is not None:
                tired.source.release_descriptor()

    def _is_open(self, part: SuccessionFile) -> bool:
        """Opens the file if it is not open; returns whether that worked."""
        try:
            part.source.ensure_open()
        except OSError as error:
            if len(self.problems) < MOST_PROBLEMS:
                text = f"cannot open {part.path}: {error.strerror}; what was captured to it is not shown"
                self.problems.append(text)
            return False
        return True

    def _next(self, stop: threading.Event) -> SuccessionFile | None:
        with self._changed:
            while self._taken_parts >= len(self._parts):
                if self._over or stop.is_set():
                    return None
                self._changed.wait(WAIT)
            part = self._parts[self._taken_parts]
            self._taken_parts += 1
            return part

    @property
    def first(self) -> int:
        """Number of the first packet of the kept files."""
        with self._changed:
            return self._before

    @property
    def removed_before(self) -> int:
        """Number of the first packet that lies in no removed file; 1 if none was removed."""
        with self._changed:
            files, size, number = len(self._parts), self._only_ours, self._before
            for part in self._parts:
                if not part.is_read or not (part.deleted or files > MOST_FILES or size > MOST_BYTES):
                    break
                files, size, number = files - 1, size - part.only_ours, part.end
            return number

    def release(self, packet: int) -> list[SuccessionFile]:
        """Drops files that have been read and lie before a packet; the reader must close them."""
        with self._changed:
            count = 0
            for part in self._parts:
                if not part.is_read or part.end > packet:
                    break
                count, self._before = count + 1, part.end
            found = self._parts[:count]
            self._only_ours -= sum(part.only_ours for part in found)
            del self._parts[:count]
            self._taken_parts -= count
            return found

    def release_empty(self, part: SuccessionFile) -> bool:
        """Drops a file that has been read and had no packet, if it is not the last one; returns whether it did."""
        with self._changed:
            found = part.end == part.first and part in self._parts[:-1]
            if found:
                self._parts.remove(part)
                self._taken_parts -= 1
            return found

    def reopen(self) -> FileSuccession:
        """Returns the kept files, from their beginning, as a finished succession."""
        found = FileSuccession()
        for part in self.parts:
            with contextlib.suppress(OSError):
                found._parts.append(other := SuccessionFile(part.path, part.source.duplicate()))
                other.whole.set()
                other.source.release_descriptor()
        found.finish()
        return found

    def save(self, path: str, *, force: bool = False) -> int:
        """Writes all whole blocks of the kept files to one pcapng file; returns the number of packets.

        They are the packets from `first` on. force: replaces an existing file, but none of these. Raises UserError.
        """
        from analyzer.capture.output import create_file  # lazy: few captures are saved

        parts, packets = self.parts, 0
        if os.path.realpath(path) in {os.path.realpath(part.path) for part in parts}:
            raise UserError(f"The capture is being written to {path}. Give another file.")
        with create_file(path, force=force) as output:
            for part in parts:
                with contextlib.suppress(FileNotFoundError):  # it was released meanwhile
                    source = PositionedFile(descriptor := part.source.duplicate())
                    try:
                        count, size = _measure_whole_blocks(source)
                        output.copy(descriptor, size)
                    finally:
                        source.close()
                    packets += count
        return packets

    def close(self) -> None:
        """Closes the files that nobody has begun to read; no more will be read."""
        with self._changed:
            for part in self._parts[self._taken_parts :]:
                part.source.close()
            del self._parts[self._taken_parts :]
            self._over = self._closed = True


def _measure_whole_blocks(source: PositionedFile) -> tuple[int, int]:
    """Returns the packets in the whole blocks of a pcapng file, and the bytes of these blocks."""
    head = bytes(source.window(0, SHORTEST_SECTION))
    if len(head) < SHORTEST_SECTION or head[:4] != MAGIC or head[8:12] not in BYTE_ORDERS:
        return 0, 0
    from analyzer.capture.pcapng import PcapngScanner

    info = CaptureInfo("")
    scanner = PcapngScanner(source, 0, info, [], LARGEST_BLOCK)
    while scanner.read_block() is not None:
        pass
    return info.packets, scanner.position
