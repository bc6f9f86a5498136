"""A capture that is replayed again and again, as one that never ends: the same addresses, later and later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from analyzer.capture.packets import FlowTable, PacketBlock, PacketReader
from analyzer.messages.decode_as import make_rules
from analyzer.session import Analysis
from analyzer.tcp.streams import SYN
from dissectors.finding import Finding

SECOND = 10**9


class Replay:
    """Blocks of `size` packets of a capture, `rounds` times, at `rate` packets a second.

    Connections that the capture has from their beginning begin anew in each round, at another sequence number; the
    others go on, so what they bring has come before. `released`: up to which packet nothing is needed any more.
    """

    def __init__(self, path: Path, rounds: int, size: int, rate: int = 5000) -> None:
        self._packets = PacketReader([path])
        self.store = self._packets.store
        self.flows: FlowTable = self._packets.flows
        self.findings: list[Finding] = []
        blocks = list(self._packets.blocks())
        self._columns = {
            name: np.concatenate([getattr(block, name) for block in blocks]) for name in PacketBlock.__slots__
        }
        self.packets = len(self._columns["number"])
        self._begun = np.isin(
            self._columns["flow"], np.unique(self._columns["flow"][self._columns["flags"] & SYN != 0])
        )
        self._rounds, self._size, self._rate = rounds, size, rate
        self.removed_before = self.released = 1

    def blocks(self) -> Iterator[PacketBlock]:
        """See Blocks."""
        pause = SECOND // self._rate
        start = int(self._columns["time"][0])
        for number in range(self._rounds):
            columns: dict[str, Any] = dict(self._columns)
            place = np.arange(self.packets) + number * self.packets
            columns["number"], columns["time"] = place + 1, start + place * pause
            shift = (self._begun * (number * 0x9E3779B1 & 0xFFFFFFFF)).astype(np.uint32)
            columns["seq"], columns["ack"] = columns["seq"] + shift, columns["ack"] + shift
            for first in range(0, self.packets, self._size):
                yield PacketBlock(**{name: column[first : first + self._size] for name, column in columns.items()})

    def release(self, packet: int) -> None:
        """See Blocks."""
        assert packet >= self.released
        self.released = packet

    def close(self) -> None:
        """See Blocks."""
        self._packets.close()


class Replayed(Analysis):
    """An analysis of a replay."""

    def __init__(self, path: Path, rounds: int, size: int = 1000, rate: int = 5000) -> None:
        self.replay = Replay(path, rounds, size, rate)
        super().__init__(self.replay, make_rules(None)[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
