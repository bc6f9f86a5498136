"""The capturing process ends when it is told to, also under traffic that never does."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.capture.live.interfaces import Interface
from analyzer.capture.live.sniffer import BATCH, LAST_BATCHES, Bounds, Sniffer, Tap
from analyzer.capture.packets import Packets
from analyzer.capture.pcapng_writer import Description, header
from tests.analyzer.capture.writers import segment
from tests.effort import within

PATIENCE = 60.0
FRAME = segment(b"hello")
LO = Interface("lo", 1, True, True, ())


class Endless:
    """A socket of scapy's that always has another packet."""

    def __init__(self) -> None:
        self._zeros = os.open("/dev/zero", os.O_RDONLY)

    def fileno(self) -> int:
        return self._zeros

    def recv_raw(self, size: int) -> tuple[None, bytes, float]:
        return None, FRAME, 1_700_000_000.5


@pytest.fixture
def lifeline() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    os.close(ends[0])


def sniffer(path: Path, bounds: Bounds) -> Sniffer:
    out = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(out, header([Description("lo", 1)]))
    return Sniffer([Tap(LO, Endless())], out, 0, bounds)


def captured(path: Path) -> int:
    with Packets([path]) as packets:
        return sum(map(len, packets.blocks()))


def test_a_time_ends_it(tmp_path: Path, lifeline: tuple[int, int]) -> None:
    found = sniffer(tmp_path / "a", Bounds(0, 0.1))
    with within(PATIENCE):  # some 0.1 s, of a tap that never ends
        found.run(lifeline[0])
    assert found.count >= LAST_BATCHES * BATCH
    assert captured(tmp_path / "a") == found.count
    os.close(lifeline[1])


def test_the_end_of_its_lifeline_ends_it(tmp_path: Path, lifeline: tuple[int, int]) -> None:
    found = sniffer(tmp_path / "a", Bounds(0, 0))
    running = threading.Thread(target=found.run, args=(lifeline[0],), daemon=True)
    running.start()
    os.close(lifeline[1])
    running.join(PATIENCE)
    assert not running.is_alive()


def test_a_count_ends_it_exactly(tmp_path: Path, lifeline: tuple[int, int]) -> None:
    found = sniffer(tmp_path / "a", Bounds(BATCH + 7, 0))
    found.run(lifeline[0])
    assert found.count == captured(tmp_path / "a") == BATCH + 7
    os.close(lifeline[1])
