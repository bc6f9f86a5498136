"""What the capturing process takes packets from: the kernel's ring, scapy's sockets, another program.

Theory. A tap makes whole pcapng packet blocks, and the process that owns it only has to write them: so the form in
which packets travel is that of the file, and nobody looks into them on the way. What a tap gives may lie in memory
that is not ours (the ring's), which is why it holds only until the tap is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.pcapng_writer import InterfaceDescription
from analyzer.live.pieces import MemoryPieces, write_all


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
