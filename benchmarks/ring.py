"""A capture in many files, as `dumpcap -b` leaves it: a new one when one is full, connections going on in the next."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self


class Ring:
    """Files of at most `size` bytes in a new folder; written to in records, of which none is cut.

    The first write is the header with which each file begins.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._size = folder, size
        folder.mkdir(parents=True)
        self._head = b""
        self._file: BinaryIO | None = None
        self._count = self._left = 0

    def write(self, data: bytes) -> int:
        """The header, or a record."""
        if not self._head:
            self._head = data
        elif self._file is None or len(data) > self._left:
            self._next().write(data)
        else:
            self._file.write(data)
        self._left -= len(data)
        return len(data)

    def _next(self) -> BinaryIO:
        if self._file is not None:
            self._file.close()
        self._count += 1
        self._file = (self._folder / f"ring-{self._count:05}.pcap").open("wb", buffering=1 << 20)
        self._file.write(self._head)
        self._left = self._size - len(self._head)
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
