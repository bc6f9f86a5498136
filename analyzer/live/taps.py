"""What the capturing process takes packets from: the kernel's ring, scapy's sockets, another program.

Theory. A tap makes whole pcapng packet blocks, and the process that owns it only has to write them: so the form in
which packets travel is that of the file, and nobody looks into them on the way. What a tap gives may lie in memory
that is not ours (the ring's), which is why it holds only until the tap is asked again.
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
    """Some packets, in the order in which they came; good until the tap is asked for the next.

    size: bytes of all blocks. last: time of the last packet, ns since 1970. blocks: pcapng packet blocks, in one buffer
    or in many pieces. ends: for each packet, bytes of the blocks up to its end. times: of each packet, ns: who
    merges taps, or divides packets among files, goes by them.
    """

    packets: int
    size: int
    last: int
    blocks: bytes | memoryview | MemoryPieces
    ends: Sequence[int] | NDArray[np.int64]
    times: NDArray[np.int64] | None = None

    def slice(self, begin: int, end: int) -> PacketBatch:
        """The packets from `begin` (counted from 0) up to, and without, `end`, of which there is at least one."""
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
        """Writes all blocks to a descriptor. Raises OSError, when some of the bytes may have been written."""
        if isinstance(self.blocks, MemoryPieces):
            self.blocks.write(out)
        else:
            write_all(out, self.blocks)


class Tap(Protocol):
    """A source of packets. It keeps none back until begin(); its blocks name the interface by the numbers it was given.

    problem: a sentence that says why no more will come, once take() has given all that came before; else None.
    left: after halt(), whether take() may still give what came before it; it is asked when take() gave None.
    """

    @property
    def description(self) -> InterfaceDescription:
        """What the file says of it."""

    @property
    def problem(self) -> str | None:
        """See the class."""

    @property
    def has_more(self) -> bool:
        """See the class."""

    def fileno(self) -> int:
        """A descriptor to poll for reading."""

    def take(self) -> PacketBatch | None:
        """What is at hand, at most about a MiB; never waits."""

    def counters(self) -> tuple[int, int]:
        """Packets that came and passed the filter, and those of them that the kernel could not keep; since begin()."""

    def begin(self) -> None:
        """Takes packets from now on; what came before is thrown away, and counters are zero."""

    def halt(self) -> None:
        """Takes no more packets until begin()."""

    def close(self) -> None:
        """For good."""


MOST = os.sysconf("SC_IOV_MAX")
"""Pieces that one call takes."""

_writev = ctypes.CDLL(None, use_errno=True).writev
_writev.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_writev.restype = ctypes.c_ssize_t


@dataclass(frozen=True, slots=True)
class MemoryPieces:
    """rows: n x 2 of uintp, address and length of each. owner: keeps the memory that they lie in."""

    rows: NDArray[np.uintp]
    owner: object

    def slice(self, begin: int, end: int) -> MemoryPieces:
        """Some of them, in order."""
        return MemoryPieces(self.rows[begin:end], self.owner)

    def write(self, out: int) -> None:
        """All of them, whole. Raises OSError; some of the bytes may have been written then."""
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
    """All of it; a full disk is an OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]
