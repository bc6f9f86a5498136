"""Anonymous memory: of an index by the packet, and of printing one long message by its bytes.

    python -m benchmarks.memory FILE [FEW]      the first, as JSON

Theory. The index lives in memory, so it decides how large a capture may be. It is read in a process of its own, which
looks at its own RssAnon before and after; if it has read a capture of FEW packets first, all that it imports is there
before. tshark keeps what it knows of every packet until it ends; what a capture of few packets takes is its baseline.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from analyzer.session import Session
from benchmarks.measure import ROOT, anonymous, ours, watched
from benchmarks.works import BODIES, FIELDS, Work


class Index(NamedTuple):
    """Of a process that has read a capture: bytes before and after, and what it has read."""

    before: int
    after: int
    packets: int
    messages: int

    @property
    def per_packet(self) -> float:
        """Bytes a packet that the index added."""
        return (self.after - self.before) / self.packets


def index(capture: Path, few: Path) -> Index:
    """Reads a capture in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", str(capture), str(few)]
    return Index(**json.loads(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout))


def tshark_per_packet(capture: Path, few: Path, packets: int) -> float:
    """Bytes a packet of tshark, with the fields that `list -e` is compared with."""
    baseline, found = (watched((["tshark", "-r", str(path), *FIELDS],)) for path in (few, capture))
    return (found - baseline) / packets


def of_messages(captures: Sequence[Path], sizes: Sequence[int], few: Path) -> list[float]:
    """Printing one message of so many bytes with its fields: the most memory, in multiples of the message."""
    baseline, *most = (watched(ours(*BODIES, str(capture))) for capture in (few, *captures))
    return [(found - baseline) / size for found, size in zip(most, sizes, strict=True)]


def added(work: Work, capture: Path, small: Path) -> int:
    """The most memory of a work on a capture beyond what it takes on a small one of the same kind."""
    baseline, most = (watched(work.ours(each)) for each in (small, capture))
    return most - baseline


def _main(capture: str, *few: str) -> None:
    for each in few:
        with Session([each]) as session:
            session.load()
    with Session([capture]) as session:
        before = anonymous(os.getpid()) or 0
        session.load()
        after = anonymous(os.getpid()) or 0
        print(json.dumps(Index(before, after, session.packets.counts.packets, len(session.rows))._asdict()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
