"""Taps, from which the capturing process takes packets, and batches of packets.

Theory. A tap makes whole pcapng packet blocks. So the capturing process only has to write them, and packets are not
read on the way. A batch may lie in memory that belongs to the kernel, so it is valid only until the next call of the
tap.

`writev` takes a matrix of addresses and lengths, which NumPy makes for a thousand packets at once. os.writev needs a
Python object for each of them, which took longer than everything else.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.pcapng_format import InterfaceDescription


@dataclass(frozen=True, slots=True)
class PacketBatch:
    """Holds some packets, in order of arrival.

    size: bytes of all blocks. last: time of the last packet (ns since 1970). blocks: pcapng packet blocks, in one
    buffer or in many pieces. ends: for each packet, bytes of the blocks up to its end. times: of each packet (ns), for
    merging and for rotation.
    """

    packets: int
    size: int
    last: int
    blocks: bytes | memoryview | MemoryPieces
    ends: Sequence[int] | NDArray[np.int64]
    times: NDArray[np.int64] | None = None

    def slice(self, begin: int, end: int) -> PacketBatch:
        """Returns the packets from `begin` (counted from 0) to before `end`; at least one."""
        if (begin, end) == (0, self.packets):
            return self
        before = int(self.ends[begin - 1]) if begin else 0
        behind = int(self.ends[end - 1])
        blocks = (
            self.blocks.slice(begin, end)
            if isinstance(self.blocks, MemoryPieces)
            else memoryview(self.blocks)[before:behind]
        )
        times = None if self.times is None else self.times[begin:end]
        last = self.last if times is None else int(times[-1])
        return PacketBatch(end - begin, behind - before, last, blocks, np.asarray(self.ends[begin:end]) - before, times)

    def write(self, out: int) -> None:
        """Writes all blocks to a descriptor. Raises OSError; some of the bytes may have been written then."""
        if isinstance(self.blocks, MemoryPieces):
            self.blocks.write(out)
        else:
            write_all(out, self.blocks)


class Tap(Protocol):
    """Returns packets of one interface. It keeps none before begin().

    problem: why no more will come, once take() has returned all packets before; else None. has_more: after halt(),
    whether take() may still return earlier packets; valid after take() returned None.
    """

    @property
    def description(self) -> InterfaceDescription:
        """Description of the interface in the file."""

    @property
    def problem(self) -> str | None:
        """Why no more packets will come, as a sentence, else None."""

    @property
    def has_more(self) -> bool:
        """Whether take() may still give packets after halt()."""

    def fileno(self) -> int:
        """Returns a descriptor to poll for reading."""

    def take(self) -> PacketBatch | None:
        """Returns the packets at hand, about a MiB at most, or None; never waits."""

    def counters(self) -> tuple[int, int]:
        """Returns packets that passed the filter, and those of them that the kernel dropped, since begin()."""

    def begin(self) -> None:
        """Takes packets from now on; earlier ones are dropped, and counters begin at 0."""

    def halt(self) -> None:
        """Takes no more packets until begin()."""

    def close(self) -> None:
        """Closes the tap for good."""


MOST = os.sysconf("SC_IOV_MAX")
"""Maximum number of pieces in one call of writev."""

_writev = ctypes.CDLL(None, use_errno=True).writev
_writev.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_writev.restype = ctypes.c_ssize_t


@dataclass(frozen=True, slots=True)
class MemoryPieces:
    """Holds pieces of memory. rows: address and length of each (n, 2). owner: keeps the memory alive."""

    rows: NDArray[np.uintp]
    owner: object

    def slice(self, begin: int, end: int) -> MemoryPieces:
        """Returns the pieces from `begin` to before `end`."""
        return MemoryPieces(self.rows[begin:end], self.owner)

    def write(self, out: int) -> None:
        """Writes all pieces. Raises OSError; some of the bytes may have been written then."""
        rows = np.ascontiguousarray(self.rows)
        while len(rows):
            some = rows[:MOST]
            done = _writev(out, some.ctypes.data, len(some))
            if done < 0:
                code = ctypes.get_errno()
                if code == errno.EINTR:
                    continue
                raise OSError(code, os.strerror(code))
            ends = some[:, 1].cumsum()
            whole = int(np.searchsorted(ends, done, side="right"))
            rows = rows[whole:]
            begun = done - (int(ends[whole - 1]) if whole else 0)
            if begun:
                rows = rows.copy()
                rows[0] += np.array((begun, 0), np.uintp)
                rows[0, 1] -= np.uintp(begun)


def write_all(out: int, data: bytes | memoryview) -> None:
    """Writes all bytes. Raises OSError, for example if the disk is full."""
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]
